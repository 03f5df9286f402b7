"""Which protocols fit recorded communication, and what each would have cost there.

A cell is one execution under one protocol with its options. Cells know nothing of each other, so that any
engine may run them anywhere: `list_replay_cells` makes them of a graph, `replay_cell` runs one,
`gather_comparisons` puts the results together.
"""

from __future__ import annotations

import math
import multiprocessing
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from typing import Any, NamedTuple

import msgspec

from antecede.core.errors import CallerError, SetupError
from antecede.core.facts import Facts
from antecede.events.graph import EventGraph
from antecede.machine import count_cores, shield_children_from_interrupt
from antecede.protocols.registry import endpoint, list_protocols
from antecede.simulate.recording import Recording, unpack_recording
from antecede.simulate.replay import Replay, replay
from antecede.study.traffic import Traffic, find_traffic

ENTRIES = (16, 100)
"""Sizes of shared entries (R) that are tried."""
MOST_KEYS = 8
"""Keys of a process (K) that are tried at most."""
SMALL = 100_000
"""Copies of all cells together that one process replays sooner than others would be up."""


class Variant(msgspec.Struct, frozen=True):
    """A protocol with options. `orders_all`: whether its order reaches every process that receives."""

    protocol: str
    options: dict[str, Any] = {}
    orders_all: bool = True

    @property
    def name(self) -> str:
        """As it stands in tables: bounded k=8."""
        return " ".join([self.protocol, *(f"{key}={value}" for key, value in self.options.items())])


class ApplicableProtocols(NamedTuple):
    """The variants that fit, and of the other protocols why they do not."""

    variants: list[Variant]
    left_out: dict[str, str]


class ExecutionFacts(msgspec.Struct, frozen=True, kw_only=True):
    """What is compared: an execution without its messages."""

    execution: str
    processes: int = 0
    messages: int = 0
    copies: int = 0
    unit: str = "ms"
    travel: float = 0.0
    """How long a copy travels, in the mean."""
    declares: bool = False
    """Whether it is known what messages depend on; waits for anything else are needless then."""
    group: list[str] = []
    """The first processes."""
    notes: list[str] = []
    left_out: dict[str, str] = {}
    """Protocols that do not fit, and why."""


class ReplayCell(NamedTuple):
    """One execution under one variant, packed; without a variant there is nothing to replay."""

    facts: ExecutionFacts
    variant: Variant | None
    recording: bytes


class CellOutcome(msgspec.Struct, frozen=True):
    """What a cell came to."""

    facts: ExecutionFacts
    variant: Variant | None
    replay: Replay | None


class Comparison(NamedTuple):
    """All that was replayed of one execution."""

    facts: ExecutionFacts
    rows: list[tuple[Variant, Replay]]


def list_applicable_protocols(recording: Recording) -> ApplicableProtocols:
    """The protocols that can carry this communication, each with the options that make sense for it."""
    variants: list[Variant] = []
    left_out: dict[str, str] = {}
    for name, facts in list_protocols().items():
        reason = _explain_unfit_protocol(facts, recording)
        if reason is None:
            some = _choose_option_variants(facts, recording)
            reason = _explain_refused_options(name, some[0].options, recording)
            if reason is None:
                variants += some
        if reason is not None:
            left_out[name] = reason
    return ApplicableProtocols(variants, left_out)


def _explain_unfit_protocol(facts: Facts, recording: Recording) -> str | None:
    """Why a protocol cannot carry this communication; None if it can."""
    goes_to_all = facts.broadcast and recording.is_broadcast
    if recording.most_targets > 1 and not facts.multicast and not goes_to_all:
        if facts.unicast:
            return "it sends to one process at a time, and here some messages go to several"
        return "it sends to all, and here some messages go to some"
    if not facts.unicast and not goes_to_all:
        return "it sends to all, and here messages go to some"
    if facts.monitor and _find_hub_process(recording) is None:
        return "it orders at one process, and here no process is at one end of all messages"
    if facts.order == "semantic" and not recording.declares_dependence:
        return "the log does not say what messages depend on (parents of their sends)"
    return None


def _find_hub_process(recording: Recording) -> int | None:
    """The process at one end of every message, if there is one; rather the only one that receives."""
    if recording.only_receiver is not None:
        return recording.only_receiver
    for process in {int(recording.sender[0]), int(recording.target[0])}:
        lengths = recording.starts[1:] - recording.starts[:-1]
        sends = (recording.sender == process).repeat(lengths)
        if (sends | (recording.target == process)).all():
            return process
    return None


def _choose_option_variants(facts: Facts, recording: Recording) -> list[Variant]:
    """The options that make sense here, by the names that the facts of a protocol list."""
    name, n = facts.name, len(recording.names)
    if facts.monitor:
        place = _find_hub_process(recording)
        assert place is not None
        option = next(iter(facts.options))
        return [Variant(name, {option: recording.names[place]}, recording.only_receiver is not None)]
    if "k" in facts.options:
        return [Variant(name, {"k": k}) for k in (n, 2 * n, 4 * n)]
    if "K" in facts.options:
        return [Variant(name, {"R": R, "K": _choose_key_count(R, recording.mean_in_flight)}) for R in ENTRIES]
    if "R" in facts.options:
        return [Variant(name, {"R": max(2, n // 2)})]
    if "form" in facts.options:
        return [Variant(name), Variant(name, {"form": "site"})]
    if "multicast" in facts.options and recording.most_targets > 1:
        return [Variant(name), Variant(name, {"multicast": "hold"})]
    return [Variant(name)]


def _choose_key_count(R: int, in_flight: float) -> int:
    """The number of keys for which errors are rarest: R ln 2 / X for X concurrent messages (Mostefaoui,
    Weiss 2017, section 5)."""
    best = R * math.log(2) / max(in_flight, 1.0)
    return max(1, min(MOST_KEYS, round(best)))


def _explain_refused_options(name: str, options: dict[str, Any], recording: Recording) -> str | None:
    """What a protocol says against this group, if anything."""
    try:
        endpoint(name, process=recording.names[0], group=recording.names, **options)
    except CallerError as error:
        return str(error)
    return None


def list_replay_cells(graph: EventGraph) -> Iterator[ReplayCell]:
    """All that is to be replayed of all executions of a graph."""
    for traffic in find_traffic(graph):
        yield from _list_execution_cells(traffic)


def _list_execution_cells(traffic: Traffic) -> Iterator[ReplayCell]:
    recording = traffic.recording
    if recording is None:
        facts = ExecutionFacts(execution=traffic.execution, notes=traffic.notes)
        yield ReplayCell(facts, None, b"")
        return
    applicable = list_applicable_protocols(recording)
    facts = ExecutionFacts(
        execution=traffic.execution,
        processes=len(recording.names),
        messages=recording.messages,
        copies=recording.copies,
        unit=recording.unit,
        travel=float(recording.travel.mean()),
        declares=recording.declares_dependence,
        group=recording.names[:3],
        notes=traffic.notes,
        left_out=applicable.left_out,
    )
    packed = recording.pack()
    for variant in applicable.variants:
        yield ReplayCell(facts, variant, packed)


def replay_cell(cell: ReplayCell) -> CellOutcome:
    """Replay a cell."""
    if cell.variant is None:
        return CellOutcome(cell.facts, None, None)
    recording = unpack_recording(cell.recording)
    outcome = replay(recording, cell.variant.protocol, cell.variant.options)
    return CellOutcome(cell.facts, cell.variant, outcome)


def replay_cells(cells: Sequence[ReplayCell]) -> Iterator[CellOutcome]:
    """Replay cells on this machine: in this process, or where there is more to do, on all its cores."""
    workers = min(count_cores(), len(cells))
    if workers < 2 or sum(cell.facts.copies for cell in cells) <= SMALL:
        yield from map(replay_cell, cells)
        return
    pool = ProcessPoolExecutor(workers, multiprocessing.get_context("spawn"))
    with shield_children_from_interrupt():
        futures = [pool.submit(replay_cell, cell) for cell in cells]
    try:
        for future in as_completed(futures):
            yield future.result()
    except BrokenProcessPool:
        raise SetupError(
            "a process with replays was ended from outside, perhaps for lack of memory; "
            "use --engine spark, or give each execution by itself"
        ) from None
    except BaseException:
        for child in multiprocessing.active_children():  # nobody waits for what they replay any more
            child.terminate()
        raise
    finally:
        pool.shutdown(cancel_futures=True)


def gather_comparisons(outcomes: Iterable[CellOutcome]) -> list[Comparison]:
    """The executions by name, each with its rows in the order of the list of protocols."""
    comparisons: dict[str, Comparison] = {}
    for outcome in outcomes:
        comparison = comparisons.setdefault(outcome.facts.execution, Comparison(outcome.facts, []))
        if outcome.variant is not None and outcome.replay is not None:
            comparison.rows.append((outcome.variant, outcome.replay))
    places = {name: place for place, name in enumerate(list_protocols())}
    for comparison in comparisons.values():
        comparison.rows.sort(key=lambda row: _make_option_sort_key(row[0]))
        comparison.rows.sort(key=lambda row: places[row[0].protocol])
    return [comparisons[name] for name in sorted(comparisons)]


def _make_option_sort_key(variant: Variant) -> list[tuple[str, bool, Any]]:
    """By options: without any first, numbers by size."""
    return [(key, isinstance(value, str), value) for key, value in variant.options.items()]
