"""The `antecede` command: lists the subcommands, loads the one that is asked for, and turns our errors into a
sentence and an exit code.

A subcommand is imported only when it runs: `antecede --help` must not wait for numpy, numba or Arrow.
"""

from __future__ import annotations

import os
import sys
from importlib import import_module
from typing import Annotated, Any, NoReturn

import typer

from antecede.cli.arrow import load_arrow_without_pandas
from antecede.cli.help import PlainCommand, PlainGroup, build_command_help
from antecede.core.errors import AntecedeError
from antecede.kernels import announcement

COMMANDS = {
    "audit": (
        "antecede.cli.audit:audit_command",
        "Say whether logs keep causal order: what is late, lost or twice, which clocks and times are wrong.",
    ),
    "order": (
        "antecede.cli.order:order_command",
        "Put the rows of logs, or of a table of messages, into causal order.",
    ),
    "status": (
        "antecede.cli.status:status_command",
        "Say what a stream has done and what it waits for; it may run or be stopped.",
    ),
    "compare": (
        "antecede.cli.compare:compare_command",
        "Replay the communication of logs through every protocol that fits, and say which is best there.",
    ),
    "protocols": (
        "antecede.cli.protocols:protocols_command",
        "List the protocols, or tell all of one: its guarantee, its costs, its errata, how to use it.",
    ),
    "simulate": (
        "antecede.cli.simulate:simulate_command",
        "Run a protocol's real endpoints over a simulated network: what it costs, what an oracle finds.",
    ),
    "explore": (
        "antecede.cli.explore:explore_command",
        "Find every execution of a small distributed program under a protocol.",
    ),
    "study": (
        "antecede.cli.study:study_command",
        "Run the experiments that answer what a paper left open, and write what they show.",
    ),
    "node": (
        "antecede.cli.node:node_command",
        "Run a node of a group that delivers in causal order, for programs in any language.",
    ),
    "demo": (
        "antecede.cli.demo:demo_command",
        "Show what antecede does, on a shop that is simulated; with --follow, live.",
    ),
    "doctor": (
        "antecede.cli.doctor:doctor_command",
        "Check Python, SQLite, Java, Spark, memory and space, and name the remedy for each thing missing.",
    ),
}
"""Where each subcommand is, and the first line of its help; what is asked for most comes first."""
ARROW_COMMANDS = ("simulate", "order", "status", "audit", "compare", "study", "demo")
"""Those that use Arrow tables."""
LONGEST_ERROR = 2_000
"""Characters shown of an error."""


class _LazyGroup(PlainGroup):
    """Lists subcommands by their first line, and imports one when it is to run."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        name, command, rest = super().resolve_command(ctx, args)
        if name in COMMANDS:
            command = _load_command(name)
        return name, command, rest


def _load_command(name: str) -> Any:
    if name in ARROW_COMMANDS:
        load_arrow_without_pandas()
    place, function = COMMANDS[name][0].split(":")
    module = import_module(place)
    command = getattr(module, function)
    subcommands = getattr(module, "SUBCOMMANDS", {})
    if not subcommands:
        app = _make_typer_app()
        app.command(name, cls=PlainCommand, help=build_command_help(command))(command)
        return typer.main.get_command(app)
    app = _make_typer_app(invoke_without_command=True, cls=PlainGroup)
    app.callback(help=build_command_help(command))(command)
    for subname, subcommand in subcommands.items():
        app.command(subname, cls=PlainCommand, help=build_command_help(subcommand))(subcommand)
    return typer.main.get_command(app)


def _make_typer_app(**options: Any) -> typer.Typer:
    return typer.Typer(
        add_completion=False, pretty_exceptions_enable=False, rich_markup_mode="rich", **options
    )


app = _make_typer_app(
    help="Puts the events of distributed systems back into causal order.",
    no_args_is_help=True,
    cls=_LazyGroup,
)


def _print_version_and_exit(is_wanted: bool) -> None:
    if is_wanted:
        from importlib.metadata import version

        typer.echo(f"antecede {version('antecede')}")
        raise typer.Exit


Version = Annotated[
    bool,
    typer.Option("--version", callback=_print_version_and_exit, is_eager=True, help="Print the version."),
]


@app.callback()
def declare_root_options(version: Version = False) -> None:
    """Puts the events of distributed systems back into causal order."""


def _placeholder_command() -> None:
    """Stands for a subcommand in the list; `_LazyGroup` runs the real one."""


for _name, (_, _help) in COMMANDS.items():
    app.command(_name, help=_help)(_placeholder_command)


def run_app_and_report_errors() -> None:
    """Run the command that the arguments name, and exit with its code; errors of ours become a sentence."""
    announcement.listener = lambda: _print_to_stderr("compiling for this machine: once, for about a minute")
    try:
        app()
    except AntecedeError as error:
        _exit_with_error(str(error))
    except MemoryError:
        _exit_with_error("the memory of this machine is used up: use --engine spark, or give less at a time")
    except OSError as error:
        _exit_with_os_error(error)


def _exit_with_error(sentence: str) -> NoReturn:
    from rich.markup import escape

    from antecede.report.text import format_visible_line

    _print_to_stderr(f"[red]error:[/] {escape(format_visible_line(sentence, LONGEST_ERROR))}")
    sys.exit(2)


def _exit_with_os_error(error: OSError) -> NoReturn:
    """Exit with what the system refused to do, and the next step."""
    from antecede.cli.folders import FULL, describe_write_error

    place = f"{error.filename}: " if error.filename else ""
    if error.errno in FULL:
        _discard_stdout()
        _exit_with_error(place + describe_write_error(error))
    _exit_with_error(f"{place}{error.strerror or error}; check the path and its permissions")


def _discard_stdout() -> None:
    """Drop what is still to be printed: it may be the output itself that is full, and fails again at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _print_to_stderr(line: str) -> None:
    """A line in rich's markup on the error output."""
    from rich.console import Console

    Console(stderr=True).print(line, soft_wrap=True, highlight=False)
