"""How much of what was written to command a reader the scan of texts finds: `python -m tests.eval.injections [--missed]`.

The examples are ours (`tests/support/injections.py`), so the rate says how the rules do on what we thought of; that on the
held-out ones is nearer to the truth. False alarms on real texts: `python -m tests.eval.signals FOLDER ...`.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Sequence

from commonlore.domain.ledger.signals import RULES_VERSION, calls_for_quarantine, scan
from tests.support.injections import HELD_OUT, ORDINARY, Example, positives


def rate(examples: Sequence[Example]) -> tuple[int, int, int]:
    """How many there are, with a signal, and in quarantine."""
    found = [scan(example.text) for example in examples]
    return len(examples), sum(map(bool, found)), sum(map(calls_for_quarantine, found))


def main() -> None:
    groups: dict[str, list[Example]] = defaultdict(list)
    for example in positives():
        groups[f"disguise: {example.disguise}" if example.disguise != "none" else f"language: {example.language}"].append(example)
    for name, examples in groups.items():
        print("{:45} {:4} {:4} {:4}".format(name, *rate(examples)))
    held_out = [Example(language, "none", text) for language, text in HELD_OUT]
    for name, examples in (("all", positives()), ("held out", held_out), ("ordinary", [Example("", "", text) for text in ORDINARY])):
        total, noted, held = rate(examples)
        print(f"rules {RULES_VERSION}, {name}: {total} texts, {noted} with a signal, {held} in quarantine ({100 * held / total:.1f} %)")
    if "--missed" in sys.argv:
        for example in [*positives(), *held_out]:
            if not calls_for_quarantine(scan(example.text)):
                print(f"  {example.disguise} {example.language}: {example.text[:110]!r}")


if __name__ == "__main__":
    main()
