"""False causality: the compiled pass against the definition, against both oracles, and on simulated talks."""

from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from antecede.core.errors import CallerError
from antecede.kernels import false_causality as semantics
from antecede.kernels.delivery_pass import SWEEPS, assign_acts_and_message_slots
from antecede.kernels.false_causality import Waits, find_needless_waits
from antecede.kernels.links import DELIVER, OTHER, SEND
from antecede.kernels.pair_counts import count_ordered_pairs_by_bits
from antecede.kernels.witness import CauseGraph, build_cause_graph
from antecede.simulate.network import Network
from antecede.simulate.oracle import Oracle, list_set_bits
from tests.kernels.traces import Event, build_trace_graph, events, flood, link_trace, pasts
from tests.semantic_oracle import SemanticOracle
from tests.simulate.traced import Traced, plan_of

SEEDS = st.integers(0, 2**32)


def draw_named_causes(random: Random, trace: list[Event]) -> list[list[int]]:
    """What each event says it depends on: some own events before it."""
    own: dict[int, list[int]] = {}
    found = []
    for position, (process, _, _) in enumerate(trace):
        before = own.setdefault(process, [])
        found.append(random.sample(before, min(len(before), random.choice([0, 0, 1, 1, 2]))))
        before.append(position)
    return found


def dependences(trace: list[Event], own: list[list[int]]) -> list[set[int]]:
    """The positions of what each event depends on, and its own."""
    sends = {m: p for p, (_, kind, m) in enumerate(trace) if kind == SEND}
    found: list[set[int]] = []
    for position, (_, kind, message) in enumerate(trace):
        causes = own[position] + ([sends[message]] if kind == DELIVER else [])
        found.append({position}.union(*(found[cause] for cause in causes)))
    return found


def by_definition(trace: list[Event], own: list[list[int]]) -> tuple[list[tuple[int, int, int]], int]:
    """(position, cause, process) of the needless pairs, and how many others there are."""
    past, meant = pasts(trace), dependences(trace, own)
    sends = {m: p for p, (_, kind, m) in enumerate(trace) if kind == SEND}
    landed = {(at, sends[m]): p for p, (at, kind, m) in enumerate(trace) if kind == DELIVER}
    pairs = [
        (position, cause, at)
        for (at, sent), position in landed.items()
        for (there, cause), end in landed.items()
        if at == there and end > position and cause in past[sent]
    ]
    needless = [pair for pair in pairs if pair[1] not in meant[sends[trace[pair[0]][2]]]]
    return sorted(needless), len(pairs) - len(needless)


def rows(own: list[list[int]], trace: list[Event]) -> CauseGraph:
    source = [cause for causes in own for cause in causes]
    target = [position for position, causes in enumerate(own) for _ in causes]
    return build_cause_graph([process for process, _, _ in trace], source, target)


def list_waits(found: Waits) -> list[tuple[int, int, int]]:
    return sorted(zip(*(column.tolist() for column in found[:3]), strict=True))


@given(SEEDS, st.integers(1, 5), st.integers(1, 60))
def test_needless_waits_are_the_definition(seed, n, size):
    random = Random(seed)
    trace = events(random, n, size)
    own = draw_named_causes(random, trace)
    found = find_needless_waits(link_trace(trace), build_trace_graph(link_trace(trace)), rows(own, trace))
    pairs, meant = by_definition(trace, own)
    assert (list_waits(found), found.meant.sum()) == (pairs, meant)
    assert found.needless.tolist() == [sum(pair[0] == event for pair in pairs) for event in range(size)]


def test_bits_are_swept_and_used_again():
    random = Random(1)
    trace = flood(random, 4, 1500, 40)
    events_of, own = link_trace(trace), draw_named_causes(random, trace)
    left = np.bincount(events_of.sent[events_of.sent >= 0], minlength=len(trace))
    set_rows = 0
    for graph in (build_trace_graph(events_of), rows(own, trace)):
        causes = semantics._add_causes_by_messages(events_of, graph)
        set_rows += semantics._assign_set_rows(events_of, events_of.sent, causes).set_row_count
    assert (assign_acts_and_message_slots(events_of.sent, left, set_rows)[0] & SWEEPS).any()
    found = find_needless_waits(events_of, build_trace_graph(events_of), rows(own, trace))
    pairs, meant = by_definition(trace, own)
    assert (list_waits(found), found.meant.sum()) == (pairs, meant)
    assert len(pairs) > 1000


@given(SEEDS, st.integers(2, 5), st.integers(1, 60))
def test_both_oracles_agree_at_every_arrival(seed, n, steps):
    """Messages arrive in any order and are delivered later; they are judged when they arrive."""
    random = Random(seed)
    causal = Oracle(range(n))
    meaning = SemanticOracle(range(n))
    trace: list[Event] = []
    own: list[list[int]] = []
    mine: list[list[int]] = [[-1] for _ in range(n)]
    asked, needless, meant = [], [], 0
    arrived: list[tuple[int, int]] = []
    sends: list[int] = []

    def step(process: int, kind: int, message: int, depends_on: int) -> None:
        own.append([p for p in mine[process][depends_on : depends_on + 1] if p >= 0])
        mine[process].append(len(trace))
        trace.append((process, kind, message))
        asked.append(-1)

    for _ in range(steps):
        waiting = [pair for pair in causal.list_undelivered_messages() if pair not in arrived]
        process = random.randrange(n)
        if arrived and random.random() < 0.4:
            process, message = arrived.pop(random.randrange(len(arrived)))
            causal.record_delivery_and_list_missing_causes(process, message)
            meaning.record_delivery_and_list_missing_causes(process, message, 0)
            step(process, DELIVER, message, 0)
        elif waiting and random.random() < 0.6:
            there, message = random.choice(waiting)
            assert isinstance(there, int)
            arrived.append((there, message))
            open_ = causal.message_past[message] & causal.addressed[there] & ~causal.delivered[there]
            depends = meaning.message_past[message]
            needless += [(len(trace), sends[m], there) for m in list_set_bits(open_ & ~depends)]
            meant += len(list_set_bits(open_ & depends))
            trace.append((there, OTHER, -1))
            own.append([])
            asked.append(sends[message])
        else:
            to = random.sample([p for p in range(n) if p != process], random.randint(1, n - 1))
            depends_on = random.randrange(len(mine[process]))
            message = causal.record_send(process, to)
            assert meaning.record_send(process, to, depends_on) == message
            sends.append(len(trace))
            step(process, SEND, message, depends_on)
    for there, message in causal.list_undelivered_messages():  # what is never delivered is due for ever
        assert isinstance(there, int)
        step(there, DELIVER, message, 0)
    found = find_needless_waits(
        link_trace(trace), build_trace_graph(link_trace(trace)), rows(own, trace), asked
    )
    assert (list_waits(found), found.meant.sum()) == (sorted(needless), meant)


@pytest.mark.parametrize("protocol", ["matrix", "unordered", "semantic"])
def test_simulated_conversations(protocol):
    """Semantic order delivers early what does not depend on what is missing; causal order makes it wait."""
    slow = Network(delay="exponential:50")
    run = Traced(plan_of(protocol, messages=300, workload="conversation", rate=30.0, network=slow))
    names = {name: i for i, name in enumerate(run.plan.names)}
    steps = [row for row in run.events if row["kind"] != "receive"]
    place = {row["event"]: i for i, row in enumerate(steps)}
    trace = [
        (names[r["process"]], SEND if r["kind"] == "send" else DELIVER, int(r["message"][1:])) for r in steps
    ]
    own = [[place[parent] for parent in row["parents"] or []] for row in steps]
    assert sum(map(len, own)) > 100
    found = find_needless_waits(link_trace(trace), build_trace_graph(link_trace(trace)), rows(own, trace))
    pairs, meant = by_definition(trace, own)
    assert (list_waits(found), found.meant.sum()) == (pairs, meant)
    assert bool(pairs) == (protocol != "matrix")


@given(SEEDS, st.integers(1, 4), st.integers(1, 60), st.sampled_from([1, 7, 64, 1024]))
def test_pairs_that_are_meant_are_counted(seed, n, size, block):
    random = Random(seed)
    trace = events(random, n, size)
    own, sends = draw_named_causes(random, trace), link_trace(trace).sent
    effect = np.flatnonzero(sends >= 0)
    all_of_them = [*own]
    for position in effect.tolist():
        all_of_them[position] = [*own[position], int(sends[position])]
    meant, past = rows(all_of_them, trace), build_trace_graph(link_trace(trace))
    count_meant = sum(map(len, dependences(trace, own))) - size
    assert count_ordered_pairs_by_bits(meant.starts, meant.causes, block) == count_meant
    count_past = sum(map(len, pasts(trace))) - size
    assert count_ordered_pairs_by_bits(past.starts, past.causes, block) == count_past


def test_beyond_the_cap_pairs_are_only_counted():
    trace = events(Random(3), 3, 200)
    found = link_trace(trace)
    nothing = rows([[] for _ in trace], trace)
    whole, capped = (
        find_needless_waits(found, build_trace_graph(found), nothing),
        find_needless_waits(found, build_trace_graph(found), nothing, cap=5),
    )
    assert whole.needless.sum() > 20 and len(capped.at) == 5
    assert capped.needless.tolist() == whole.needless.tolist()
    assert list_waits(capped) == sorted(zip(*(a[:5].tolist() for a in whole[:3]), strict=True))


def test_nothing_waits_in_an_empty_trace_and_other_graphs_are_refused():
    empty = link_trace([])
    found = find_needless_waits(empty, build_cause_graph([], [], []), build_cause_graph([], [], []))
    assert (len(found.needless), len(found.meant), len(found.at)) == (0, 0, 0)
    with pytest.raises(CallerError, match="graphs of the 0 events"):
        find_needless_waits(empty, build_cause_graph([0], [], []), build_cause_graph([], [], []))
    with pytest.raises(CallerError, match="judged has 1 entries"):
        find_needless_waits(empty, build_cause_graph([], [], []), build_cause_graph([], [], []), [0])
