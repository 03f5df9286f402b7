"""`antecede protocols`: the protocols as a table, or all that is known of one."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import get_close_matches
from typing import Annotated, Any

import typer

from antecede.cli.errata import Erratum, list_errata
from antecede.cli.output import Json, print_json, print_lines
from antecede.core.errors import CallerError
from antecede.core.facts import Facts
from antecede.protocols.registry import list_protocols

Name = Annotated[str | None, typer.Argument(metavar="NAME", help="The protocol to tell all of.")]

GUARANTEES = {
    "none": "no order: messages are delivered as they arrive",
    "fifo": "messages of one process to another are delivered in the order in which they were sent",
    "causal": "causal order: no message is delivered before one that led to it",
    "causal at one process": "causal order at one process: no message is delivered there before one that led "
    "to it",
    "semantic": "causal order between messages that depend on each other, as the application says",
    "probably causal": "causal order most of the time; alarms tell of messages that came too late",
}
"""What each order means to a user."""
WIDE = 130
"""Columns of a terminal that has room for the sizes of stamps, which are long."""
EXAMPLE_GROUP = ("a", "b", "c")


def protocols_command(name: Name = None, json: Json = False) -> None:
    """List the protocols, or tell all of one: its guarantee, its costs, its errata, how to use it.

    Example: antecede protocols

    Example: antecede protocols optimal

    Exit code: 0, or 2 for a name that is none.
    """
    known = list_protocols()
    if name is not None and name not in known:
        near = get_close_matches(name, known, cutoff=0.5)
        hint = f"did you mean {' or '.join(near)}? " if near else ""
        raise CallerError(f"there is no protocol {name!r}: {hint}antecede protocols lists them all")
    if name is not None:
        facts = known[name]
        errata = list_errata(facts)
        if json:
            print_json(_build_protocol_json(facts) | {"errata": [erratum._asdict() for erratum in errata]})
        else:
            print_lines(_describe_protocol(facts, errata))
    elif json:
        print_json([_build_protocol_json(facts) for facts in known.values()])
    else:
        _print_protocol_table(list(known.values()))


def _build_protocol_json(facts: Facts) -> dict[str, Any]:
    """All that is known of a protocol, for programs."""
    import msgspec

    return {
        **msgspec.to_builtins(facts),
        "guarantee": describe_guarantee(facts),
        "use": format_example_call(facts),
    }


def _print_protocol_table(all_facts: list[Facts]) -> None:
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    console = Console()
    is_wide = console.width >= WIDE
    table = Table(box=None, padding=(0, 2, 0, 0))
    table.add_column("protocol", no_wrap=True)
    table.add_column("order")
    table.add_column("sends to", no_wrap=True)
    table.add_column("needless\ndelays")
    table.add_column("what it is")
    if is_wide:
        table.add_column("numbers in a stamp, for n processes")
    for facts in all_facts:
        delays = "no" if facts.delay_optimal else "yes" if facts.exact else "-"
        cells = [
            facts.name,
            facts.order,
            _describe_allowed_receiver_counts(facts),
            delays,
            escape(facts.title),
        ]
        table.add_row(*cells, *([escape(facts.stamp)] if is_wide else []))
    console.print(table)
    print_lines(["", "antecede protocols NAME tells all of one: costs, options, errata, how to use it"])


def _describe_allowed_receiver_counts(facts: Facts) -> str:
    words = {"one": facts.unicast, "some": facts.multicast, "all": facts.broadcast}
    return ", ".join(word for word, is_allowed in words.items() if is_allowed)


def _describe_protocol(facts: Facts, errata: list[Erratum]) -> Iterator[str]:
    """All that is known of a protocol, in rich's markup."""
    from rich.markup import escape

    yield f"[bold]{facts.name}[/]: {escape(facts.title)} ({escape(facts.paper)})"
    yield f"[bold]guarantee[/]: {describe_guarantee(facts)}"
    yield f"[bold]sends to[/]: {_describe_allowed_receiver_counts(facts)}"
    yield f"[bold]costs[/]: numbers in a stamp, for n processes: {escape(facts.stamp)}"
    for option, meaning in facts.options.items():
        yield f"[bold]option[/] {option}: {escape(meaning)}"
    if errata:
        yield f"[bold]errata[/]: {len(errata)} in the paper, each with a test (docs/errata.md)"
    for erratum in errata:
        yield escape(f"  - {erratum.what} {erratum.example}")
    yield f"[bold]use[/]: {escape(format_example_call(facts))}"
    yield f"[bold]try[/]: antecede simulate --protocol {facts.name}"


def describe_guarantee(facts: Facts) -> str:
    """What a protocol promises, in a sentence."""
    promise = GUARANTEES[facts.order]
    if facts.delay_optimal:
        return f"{promise}; each is delivered as soon as that order allows"
    if facts.exact:
        return f"{promise}; some are sent or delivered later than that order asks for"
    return promise


def choose_example_values_of_required_options(facts: Facts) -> dict[str, Any]:
    """The options that a protocol cannot do without, for a group of three."""
    if facts.monitor:
        return {next(iter(facts.options)): EXAMPLE_GROUP[0]}
    return {"k": len(EXAMPLE_GROUP)} if "k" in facts.options else {}


def format_example_call(facts: Facts) -> str:
    """A line of Python that makes an endpoint of this protocol."""
    group = ", ".join(f'"{name}"' for name in EXAMPLE_GROUP)
    options = ""
    for option, value in choose_example_values_of_required_options(facts).items():
        options += f', {option}="{value}"' if isinstance(value, str) else f", {option}={value}"
    return f'antecede.endpoint("{facts.name}", process="{EXAMPLE_GROUP[0]}", group=[{group}]{options})'
