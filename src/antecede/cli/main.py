"""The `antecede` command: gathers the subcommands and turns our errors into a sentence and an exit code."""

import sys
from importlib.metadata import version
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape

from antecede.cli.audit import audit_command
from antecede.cli.doctor import doctor
from antecede.cli.explore import explore
from antecede.cli.order import order_command
from antecede.cli.simulate import simulate_command
from antecede.core.errors import AntecedeError

app = typer.Typer(
    help="Puts the events of distributed systems back into causal order.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"antecede {version('antecede')}")
        raise typer.Exit


Version = Annotated[
    bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
]


@app.callback()
def root(version: Version = False) -> None:
    """Puts the events of distributed systems back into causal order."""


app.command("simulate")(simulate_command)
app.command("order")(order_command)
app.command("audit")(audit_command)
app.command()(explore)
app.command()(doctor)


def main() -> None:
    """Run the command; exit codes: 0 clean, 1 findings, 2 wrong usage or environment."""
    try:
        app()
    except AntecedeError as error:
        Console(stderr=True).print(f"[red]error:[/] {escape(str(error))}", soft_wrap=True, highlight=False)
        sys.exit(2)
