"""`antecede explore`: every execution of a small program under a protocol, for people or as JSON."""

from pathlib import Path
from typing import Annotated, Any

import msgspec
import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from antecede.cli.options import Options, parse_protocol_options
from antecede.cli.output import Json
from antecede.core.errors import CallerError
from antecede.simulate import explorer
from antecede.simulate.explorer import LIMIT, End, Exploration, format_by_process
from antecede.simulate.story import Story


def explore_command(
    program: Annotated[
        str, typer.Argument(metavar="PROGRAM", help="The program itself, or a file: its path, or @path.")
    ],
    protocol: Annotated[str, typer.Option(help="A protocol by name, such as buffered, matrix or sync.")],
    option: Options = None,
    outcome: Annotated[
        str, typer.Option(metavar="TEXT", help="Show a schedule that ends so: 'P3: x z' or '- | y | x z'.")
    ] = "",
    blocked: Annotated[bool, typer.Option("--blocked", help="Show a schedule that blocks.")] = False,
    fifo: Annotated[bool, typer.Option("--fifo", help="Channels do not reorder packets.")] = False,
    limit: Annotated[int, typer.Option(min=1, help="Give up after so many states.")] = LIMIT,
    as_json: Json = False,
) -> None:
    """Find every execution of a small distributed program under a protocol.

    A program has a statement for each process: its name, a colon, and what it does. 's x->3' sends x to P3,
    's x->2,3' to two processes, 'r' receives any message, 'r from 1' one of P1.

    Example: antecede explore "P1: s x->3; s y->2. P2: r; s z->3. P3: r; r"
    --protocol unordered --outcome "P3: z x"

    Exit code: 0 if every execution completes, 1 if some execution blocks, 2 for wrong usage.
    """
    if outcome and blocked:
        raise CallerError("--outcome and --blocked each ask for a schedule; give one of them")
    options = parse_protocol_options(option or [])
    exploration = explorer.explore(_read_program_text(program), protocol, limit=limit, fifo=fifo, **options)
    end = (
        exploration.find_end(outcome)
        if outcome
        else _find_shortest_blocked_end(exploration)
        if blocked
        else None
    )
    if as_json:
        facts = {"protocol": protocol, "options": options, **_build_exploration_json(exploration, end)}
        typer.echo(msgspec.json.format(msgspec.json.encode(facts)))
    else:
        _print_exploration(Console(), exploration, protocol, end)
        if blocked and end is None:
            typer.echo("No execution blocks.")
    raise typer.Exit(1 if exploration.blocked else 0)


def _read_program_text(program_or_path: str) -> str:
    """The program as text; what has no colon is the path of a file."""
    if not program_or_path.startswith("@") and ":" in program_or_path:
        return program_or_path
    path = Path(program_or_path.removeprefix("@"))
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise CallerError(
            f"cannot read {str(path)!r} ({error}); give a program such as 'P1: s x->2. P2: r'"
        ) from None


def _find_shortest_blocked_end(exploration: Exploration) -> End | None:
    """The blocked end that is reached soonest."""
    return min(exploration.blocked, key=lambda end: len(exploration.find_witness(end)), default=None)


def _build_exploration_json(
    exploration: Exploration,
    end: End | None,
) -> dict[str, Any]:
    """All that was found, as JSON has it."""
    return {
        "program": str(exploration.program),
        "verdict": exploration.verdict,
        "states": exploration.states,
        "configurations": exploration.configurations,
        "transitions": exploration.transitions,
        "outcomes": [_build_end_json(exploration, one) for one in exploration.outcomes],
        "blocked": [_build_end_json(exploration, one) for one in exploration.blocked],
        "witness": None if end is None else _build_schedule_json(exploration, end),
    }


def _build_end_json(exploration: Exploration, end: End) -> dict[str, Any]:
    names = exploration.program.processes
    story = Story(exploration, end)
    return {
        "text": str(end),
        "received": dict(zip(names, end.received, strict=True)),
        "arrived": dict(zip(names, end.arrived, strict=True)),
        "waits": {name: wait for name, wait in zip(names, end.waits, strict=True) if wait},
        "early": story.early,
        "steps": len(story.lines),
    }


def _build_schedule_json(exploration: Exploration, end: End) -> dict[str, Any]:
    lines = Story(exploration, end).lines
    steps = [{"process": one.step.process, "what": one.sentence, "note": one.note} for one in lines]
    return {"complete": end.complete, "text": str(end), "steps": steps}


def _print_exploration(
    console: Console,
    exploration: Exploration,
    protocol: str,
    end: End | None,
) -> None:
    """Everything for people."""
    console.print(
        f"{escape(str(exploration.program))}\nunder {protocol}: [bold]{exploration.verdict}[/]",
        highlight=False,
    )
    console.print(
        f"{exploration.states} states ({exploration.configurations} configurations), "
        f"{exploration.transitions} transitions",
        highlight=False,
    )
    for title, ends in (("outcomes", exploration.outcomes), ("blocked", exploration.blocked)):
        if ends:
            console.print(_make_table_of_ends(exploration, title, ends))
    if end is not None:
        _print_schedule(console, exploration, end)


def _make_table_of_ends(
    exploration: Exploration,
    title: str,
    ends: list[End],
) -> Table:
    table = Table(title=f"{title}: {len(ends)}", title_justify="left", title_style="bold")
    table.add_column(f"received ({' | '.join(exploration.program.processes)})", no_wrap=True)
    for name in ("arrived, not received", "who waits for what") if title == "blocked" else ():
        table.add_column(name)
    table.add_column("causal order")
    table.add_column("steps", justify="right")
    for end in ends:
        story = Story(exploration, end)
        order = f"[red]broken: {', '.join(story.early)} early[/]" if story.early else "kept"
        stuck = (
            ()
            if end.complete
            else (format_by_process(end.arrived), _describe_who_waits_for_what(exploration, end))
        )
        table.add_row(str(end), *stuck, order, str(len(story.lines)))
    return table


def _describe_who_waits_for_what(exploration: Exploration, end: End) -> str:
    waits = zip(exploration.program.processes, end.waits, strict=True)
    return "\n".join(f"{name}: {wait}" for name, wait in waits if wait)


def _print_schedule(console: Console, exploration: Exploration, end: End) -> None:
    """The schedule, and for whom it was not enough."""
    console.print(f"\n[bold]A shortest schedule that {'ends' if end.complete else 'blocks'} with {end}[/]")
    for number, line in enumerate(Story(exploration, end).lines, start=1):
        note = f"  [dim]({line.note})[/]" if line.note else ""
        console.print(f"{number:4}. {line.sentence}{note}", highlight=False, soft_wrap=True)
    for name, wait, words in zip(exploration.program.processes, end.waits, end.arrived, strict=True):
        if wait:
            has = f"; arrived: {' '.join(words)}" if words else ""
            console.print(f"      {name} waits for {wait}{has}", highlight=False, soft_wrap=True)
