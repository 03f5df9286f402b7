"""Events with vector clocks, consistent or not, for the tests of what clocks say."""

from random import Random
from typing import Any, NamedTuple

from hypothesis import strategies as st

from antecede.kernels.links import DELIVER, SEND
from antecede.kernels.ragged import Rows
from tests.kernels.traces import events


class Clocked(NamedTuple):
    process: int
    own: int
    clock: dict[int, int]


def draw_clocked_events(seed: int, n: int, size: int) -> list[Clocked]:
    """The events of a random execution with their true clocks, listed in any order."""
    random = Random(seed)
    states: list[dict[int, int]] = [{} for _ in range(n)]
    sent: dict[int, dict[int, int]] = {}
    found = []
    for process, kind, message in events(random, n, size):
        heard = sent[message] if kind == DELIVER else {}
        mine = states[process]
        mine = {q: max(mine.get(q, 0), heard.get(q, 0)) for q in mine | heard}
        states[process] = mine = mine | {process: mine.get(process, 0) + 1}
        if kind == SEND:
            sent[message] = mine
        found.append(Clocked(process, mine[process], mine))
    return random.sample(found, len(found))


@st.composite
def consistent(draw: st.DrawFn) -> list[Clocked]:
    return draw_clocked_events(draw(st.integers(0, 2**32)), draw(st.integers(1, 4)), draw(st.integers(1, 40)))


@st.composite
def garbage(draw: st.DrawFn) -> list[Clocked]:
    """Anything that has the form of clocks."""
    count = st.integers(0, 4)
    clocks = st.dictionaries(st.integers(0, 3), count, max_size=4)
    event = st.builds(Clocked, st.integers(0, 2), count, clocks)
    return [
        Clocked(p, own, clock | {p: own} if own else {q: c for q, c in clock.items() if q != p})
        for p, own, clock in draw(st.lists(event, max_size=9))
    ]


def columns(found: list[Clocked]) -> tuple[Any, Any, Rows]:
    """Arguments for the kernels."""
    return [e.process for e in found], [e.own for e in found], Rows.of(e.clock.items() for e in found)


def first_with(found: list[Clocked], process: int, own: int) -> int | None:
    """The number of the event that a claim means."""
    return next((i for i, e in enumerate(found) if (e.process, e.own) == (process, own)), None)


def find_cause(found: list[Clocked], process: int, count: int) -> int | None:
    """The first event with this own entry, or else the last one of the largest entry below it."""
    exact = first_with(found, process, count)
    if exact is not None:
        return exact
    below = [i for i, e in enumerate(found) if e.process == process and 1 <= e.own < count]
    return max(below, key=lambda i: (found[i].own, i), default=None)


def lines(found: list[Clocked]) -> dict[int, list[int]]:
    """The events of each process, by own entry."""
    return {
        p: sorted((i for i, e in enumerate(found) if e.process == p), key=lambda i: found[i].own)
        for p in {e.process for e in found}
    }
