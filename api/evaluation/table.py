"""A report as tables for people."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from commonlore.api.cli.output import Output
from commonlore.api.evaluation.lanes import LANES, MEASURES
from commonlore.api.evaluation.probes import SLICES

_MEASURES = ("ndcg@10", "mrr@10", "recall@1", "recall@5", "recall@10", "recall@20", "ec@5", "ec@10", "ec@20")


def show(output: Output, report: Mapping[str, Any]) -> None:
    """Everything of a report but its run files."""
    cut = f", {report['questions_cut']} of them cut to 512 characters" if report["questions_cut"] else ""
    click.echo(f"{report['title']}: {report['documents']} texts in {report['spaces']} spaces, {report['questions']} questions{cut}.")
    click.echo(", ".join(f"{name} {seconds:.1f} s" for name, seconds in report["seconds"].items()) + ".")
    for name, found in report["contracts"].items():
        click.echo(f"\n{name}")
        rows = [
            [part, row["n"], *(_number(row.get(measure)) for measure in _MEASURES), row.get("n_multi")] for part, row in found["measures"].items()
        ]
        output.table(["category", "n", *_MEASURES, "n with several"], rows, empty="No question has anything to find.")
        times = found["latency_ms"]
        click.echo("latency " + ", ".join(f"{share} {_number(value, 1)} ms" for share, value in times.items()) + f"; leaks {found['leaks']}")
        for code, count in found["degradations"].items():
            click.echo(f"degraded {count} times: {code}")
        for kind, pair in found.get("conflicts", {}).items():
            click.echo(f"conflicts, {kind}: {pair['n']} pairs, both in ten {pair['both_in_10']:.3f}, new above old {pair['new_above_old']:.3f}")
        _lane(found.get("relationship_lane"))
    if "relationships" in report:
        click.echo("\nrelationships " + ", ".join(f"{name} {count}" for name, count in report["relationships"].items()))
    _comparison(output, report.get("comparison"))
    if "lanes" in report:
        _lanes(output, report["lanes"])


def _lane(lane: Mapping[str, Any] | None) -> None:
    if lane is not None:
        click.echo(
            f"relationship lane: Recall@5 {_number(lane['recall@5'])} over {lane['questions']} questions, unique coverage {_number(lane['unique_coverage'])}, "
            f"grouping precision {_number(lane['grouping_precision'])} over {lane['grouped_pairs']} pairs, "
            f"cross-lane duplicates {lane['cross_lane_duplicates']} in {lane['groups']} groups"
        )


def _lanes(output: Output, lanes: Mapping[str, Any]) -> None:
    """Every lane and slice of every contract in one table, then what both lanes say together, then the paired differences."""
    rows = [
        [lane, part, name, row["n"], *(_number(row[measure]) for measure in MEASURES)]
        for lane in LANES
        for part in SLICES
        for name, found in lanes["contracts"].items()
        if (row := found[lane].get(part)) is not None
    ]
    click.echo("\nBoth lanes by slice")
    output.table(["lane", "slice", "contract", "n", *MEASURES], rows, empty="Nothing to find.")
    output.table(
        [
            "contract",
            "asked",
            "grouping precision",
            "pairs",
            "missed pairs",
            "by evidence",
            "only by relationships",
            "duplicates",
            "leaks",
            "outside the view",
        ],
        [
            [
                name,
                found["asked"],
                _number(found["grouping"]["precision"]),
                found["grouping"]["pairs"],
                found["grouping"]["missed_pairs"],
                _number(found["coverage"]["by_evidence"]),
                _number(found["coverage"]["by_relationships_only"]),
                found["duplicates"],
                found["leaks"],
                found["outside_view"],
            ]
            for name, found in lanes["contracts"].items()
        ],
        empty="",
    )
    for lane, differences in lanes.get("comparison", {"differences": {}})["differences"].items():
        click.echo(f"\n{lane} lane:", nl=False)
        _comparison(output, lanes["comparison"] | {"differences": differences})


def _comparison(output: Output, comparison: Mapping[str, Any] | None) -> None:
    if comparison is None:
        return
    click.echo(f"\n{comparison['against']} minus {comparison['base']}, paired by question (95 % bootstrap interval, sign test)")
    rows = [
        [
            measure,
            part,
            found["n"],
            f"{found['mean']:+.4f}",
            f"{found['low']:+.4f} to {found['high']:+.4f}",
            found["better"],
            found["worse"],
            f"{found['p']:.3g}",
        ]
        for measure, parts in comparison["differences"].items()
        for part, found in parts.items()
    ]
    output.table(["measure", "category", "n", "difference", "interval", "better", "worse", "p"], rows, empty="Nothing to compare.")


def _number(value: float | None, digits: int = 4) -> str:
    return "-" if value is None else f"{value:.{digits}f}"
