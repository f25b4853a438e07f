"""`commonlore`: finds the subcommand, and turns every stated failure into a message and an exit code.

0: done. 1: a stated failure, or a check that did not pass. 2: the command line itself is wrong. 130: interrupted.
A subcommand's module is imported when it runs, so that `--help` costs nothing.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module

import click

from commonlore.api.cli.output import Output, json_option
from commonlore.db.acting import UNNAMED, acting, operators_act
from commonlore.domain.errors import CommonloreError


@dataclass(frozen=True, slots=True)
class Lazy:
    """Where a subcommand is defined, and its line in the help text."""

    module: str
    attribute: str
    help: str


SUBCOMMANDS: Mapping[str, Lazy] = {
    "demo": Lazy("commonlore.api.cli.demo", "demo", "Show what it does, with a real conversation, in half a minute."),
    "up": Lazy("commonlore.api.cli.up", "up", "Run the service: database, API and worker."),
    "mcp": Lazy("commonlore.api.cli.mcp", "mcp", "Serve an agent that speaks MCP over standard input and output."),
    "import": Lazy("commonlore.api.cli.import_", "import_file", "Import conversations and documents from JSON Lines."),
    "evaluate": Lazy("commonlore.api.cli.evaluate", "evaluate", "Measure how good the answers are, on a set of texts and questions."),
    "retract": Lazy("commonlore.api.cli.evidence", "retract", "Take back texts that a member stored."),
    "quarantine": Lazy("commonlore.api.cli.evidence", "quarantine", "List, add and release texts that are kept out of recalls."),
    "erase": Lazy("commonlore.api.cli.erasure", "erase", "Erase for good: preview, confirm, follow; delete spaces and teams, and restore them."),
    "receipt": Lazy("commonlore.api.cli.receipt", "receipt", "Read and verify the signed receipt of an erasure."),
    "hold": Lazy("commonlore.api.cli.erasure", "hold", "Place, list and release legal holds."),
    "exports": Lazy("commonlore.api.cli.erasure", "exports", "List files that were made from the team's rows, and note destroyed ones."),
    "doctor": Lazy("commonlore.api.cli.doctor", "doctor", "Say what is wrong and what to do."),
    "migrate": Lazy("commonlore.api.cli.up", "migrate", "Prepare the database, or bring it to this program's revision."),
    "backup": Lazy("commonlore.api.cli.archive", "backup", "Write everything, or one team, into one file."),
    "restore": Lazy("commonlore.api.cli.archive", "restore_archive", "Put an archive into an empty database."),
    "verify": Lazy("commonlore.api.cli.archive", "verify", "Check an archive, alone or against the database."),
    "worker": Lazy("commonlore.api.cli.up", "worker", "Run a worker in the foreground."),
    "team": Lazy("commonlore.api.cli.tenancy", "team", "Create, list and retire teams."),
    "member": Lazy("commonlore.api.cli.tenancy", "member", "Add, list and retire the people and agents of a team."),
    "key": Lazy("commonlore.api.cli.tenancy", "key", "Create, list, rotate and revoke API keys."),
    "promotion": Lazy("commonlore.api.cli.promotion", "promotion", "Copy private texts into a shared space, and take them back."),
    "space": Lazy("commonlore.api.cli.space", "space", "List and name the spaces of a team, and say who may do what there."),
    "audit": Lazy("commonlore.api.cli.audit", "audit", "List, export and verify the log of who did what."),
    "retention": Lazy("commonlore.api.cli.retention", "retention", "Preview, set and run what is removed by its age."),
    "feedback": Lazy("commonlore.api.cli.feedback", "feedback", "Switch on that recalls are kept for feedback, and switch it off."),
    "report": Lazy("commonlore.api.cli.feedback", "report", "Show what callers say of recalls."),
    "limits": Lazy("commonlore.api.cli.limits", "limits", "Show and set what teams and keys may use."),
    "jobs": Lazy("commonlore.api.cli.jobs", "jobs", "List, watch, cancel and retry the work that waits or runs."),
    "community": Lazy("commonlore.api.cli.community", "community", "Switch communities on, ask for a run, and see how they stand."),
    "projection": Lazy(
        "commonlore.api.cli.projection", "projection", "Build relationship documents anew while the old ones serve, switch, and go back."
    ),
    "hypothesis": Lazy("commonlore.api.cli.hypothesis", "hypothesis", "List, show and decide hypotheses; switch them on, and set their rules."),
    "contract": Lazy("commonlore.api.cli.contract", "contract", "Change the embedding model while recalls go on, and change it back."),
    "conflict": Lazy("commonlore.api.cli.conflict", "conflict", "List, show and decide conflicts."),
    "brief": Lazy("commonlore.api.cli.brief", "brief", "List, take and answer questions that need judgement."),
    "delegate": Lazy("commonlore.api.cli.delegate", "delegate", "Let a language model answer briefs."),
    "entity": Lazy("commonlore.api.cli.curation", "entity", "Merge, split, rename and name entities of the shared space."),
    "predicate": Lazy("commonlore.api.cli.curation", "predicate", "List and define predicates of the shared space."),
    "correct": Lazy("commonlore.api.cli.correction", "correct", "Correct a relationship through a running service."),
    "verify-isolation": Lazy("commonlore.api.cli.isolation", "verify_isolation", "Prove that no team or space sees another."),
}


class LazyGroup(click.Group):
    """A group whose subcommands are imported when they are asked for, in the order of `SUBCOMMANDS`."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(SUBCOMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        entry = SUBCOMMANDS.get(cmd_name)
        if entry is None:
            return None
        command = getattr(import_module(entry.module), entry.attribute)
        assert isinstance(command, click.Command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, entry.help) for name, entry in SUBCOMMANDS.items()])


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="commonlore", prog_name="commonlore")
@json_option
def cli() -> None:
    """Shared memory for teams of people and their agents."""


def _command_of(words: Sequence[str]) -> str:
    """What the audit log calls a command line that writes by itself: the names of its commands, such as `key create`."""
    names: list[str] = []
    command: click.Command | None = cli
    for word in (word for word in words if not word.startswith("-")):
        command = command.get_command(click.Context(command), word) if isinstance(command, click.Group) else None
        if command is None:
            break
        names.append(word)
    return " ".join(names) or UNNAMED.name


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command line and return its exit code."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    output = Output()
    output.as_json = "--json" in words  # also where the line is wrong before the option is reached
    try:
        with acting(operators_act(_command_of(words))):
            result = cli.main(args=words, prog_name="commonlore", standalone_mode=False, obj=output)
    except CommonloreError as error:
        output.failure(error)
        return 1
    except click.ClickException as error:
        output.usage(error)
        return error.exit_code
    except (click.Abort, KeyboardInterrupt):
        click.echo("Interrupted.", err=True)
        return 130
    return result if isinstance(result, int) else 0
