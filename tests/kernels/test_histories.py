"""Direct causes, as clocks tell them: against ShiViz's rule, the transitive reduction, and real logs."""

import json
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from antecede.core.errors import CallerError
from antecede.formats import Settings, read
from antecede.kernels.clock_rules import find_clock_faults
from antecede.kernels.ragged import Rows
from antecede.kernels.topology import find_clock_edges, sort_topologically
from antecede.kernels.vector_clocks import compute_clocks, count_ordered_and_concurrent_pairs
from tests.formats.samples import DATA, events_as_rows, needs_data
from tests.kernels.clocked import columns, consistent, find_cause, garbage, lines


def list_claims(found):
    """(event, process, count, known) for each new claim of another process, and what was known before."""
    claims: list[tuple[int, int, int, int]] = []
    for line in lines(found).values():
        most: dict[int, int] = {}
        for i in line:
            for q, c in found[i].clock.items():
                if q != found[i].process and c > most.get(q, 0):
                    claims.append((i, q, c, most.get(q, 0)))
            most |= {q: max(c, most.get(q, 0)) for q, c in found[i].clock.items()}
    return claims


def pairs_of(edges):
    return sorted(zip(edges.source.tolist(), edges.target.tolist(), strict=True))


def own_edges(found):
    return {pair for line in lines(found).values() for pair in pairwise(line)}


@given(consistent(), st.randoms())
def test_causes_of_true_clocks_are_the_transitive_reduction(found, random):
    size = len(found)
    before = {
        (a, b)
        for a in range(size)
        for b in range(size)
        if a != b and found[b].clock.get(found[a].process, 0) >= found[a].own
    }
    direct = {
        (a, b) for a, b in before if not any((a, x) in before and (x, b) in before for x in range(size))
    }
    edges = find_clock_edges(*columns(found))
    assert pairs_of(edges) == sorted(direct | own_edges(found))
    shuffled = [e._replace(clock=dict(random.sample(list(e.clock.items()), len(e.clock)))) for e in found]
    assert pairs_of(find_clock_edges(*columns(shuffled))) == pairs_of(edges)


@given(garbage())
def test_of_any_clocks_a_new_claim_is_a_cause_or_implied_by_one(found):
    edges = set(pairs_of(find_clock_edges(*columns(found))))
    claimed = {}
    for i, q, count, known in list_claims(found):
        cause = find_cause(found, q, count)
        if cause is not None and found[cause].own > known:
            claimed[cause, i] = count
    assert edges >= own_edges(found) and edges <= claimed.keys() | own_edges(found)
    for a, b in claimed.keys() - edges:
        others = [x for x, y in claimed if y == b and x != a]
        process, own = found[a].process, found[a].own
        assert any(own <= found[x].clock.get(process, 0) <= claimed[a, b] for x in others)


@given(consistent(), st.data())
def test_where_events_are_missing_the_order_of_the_others_stays(found, data):
    """Even where a clock claims an event that is not there."""
    is_kept = data.draw(st.lists(st.booleans(), min_size=len(found), max_size=len(found)))
    some = [event for event, kept in zip(found, is_kept, strict=True) if kept]
    before = {
        (a, b)
        for a in range(len(some))
        for b in range(len(some))
        if a != b and some[b].clock.get(some[a].process, 0) >= some[a].own
    }
    reached = set(pairs_of(find_clock_edges(*columns(some))))
    for middle in range(len(some)):
        into = [a for a, b in reached if b == middle]
        out_of = [b for a, b in reached if a == middle]
        reached |= {(a, b) for a in into for b in out_of}
    assert reached == before


def test_an_index_overrules_own_entries_and_clocks_may_be_absent():
    rows = Rows.of([[(0, 1)], [(0, 2)], [(0, 1)], [], [(1, 1), (0, 2)]])
    edges = find_clock_edges([0, 0, 0, 0, 1], [1, 2, 1, 0, 1], rows, [0, 1, 2, 3, 0])
    assert pairs_of(edges) == [(0, 1), (1, 2), (1, 4), (2, 3)]


def test_two_entries_for_one_process_and_missing_rows_are_refused():
    with pytest.raises(CallerError, match="two entries for one process"):
        find_clock_edges([0], [1], Rows.of([[(1, 2), (0, 1), (1, 3)]]))
    with pytest.raises(CallerError, match="clocks has 1 rows and must have 2"):
        find_clock_edges([0, 0], [1, 2], Rows.of([[(0, 1)]]))


LOGS = json.loads((DATA / "expected.json").read_text())["vector_clock_logs"] if DATA.is_dir() else []


def read_clocks(log):
    """Processes, own entries and clocks of one execution of a log, by number."""
    settings = Settings(regex=log["regex"], delimiter=log["delimiter"] or None)
    parsed = read((DATA / log["file"]).read_bytes(), log["file"], "shiviz", settings)
    found = [row for row in events_as_rows(parsed) if row["execution"] == log["execution"]]
    ids = {name: i for i, name in enumerate(sorted({row["process"] for row in found}))}
    rows = Rows.of([(ids[name], count) for name, count in row["clock"].items()] for row in found)
    return np.array([ids[row["process"]] for row in found]), [r["clock"][r["process"]] for r in found], rows


@needs_data
@pytest.mark.parametrize("log", LOGS, ids=lambda log: f"{log['file']} {log['execution']}")
def test_real_logs_have_the_edges_and_pairs_that_others_counted(log):
    process, own, rows = read_clocks(log)
    source, target = find_clock_edges(process, own, rows)
    across = process[source] != process[target]
    assert across.sum() == log["cross_host_edges"]
    assert len(np.unique(target[across])) == log["events_with_a_cross_host_parent"]
    assert (np.bincount(target[across]) > 1).sum() == log["events_with_2plus_cross_host_parents"]
    found = sort_topologically(len(process), source, target)
    assert len(found.stuck) == 0
    places = process[found.order]
    causes = found.position[source]
    effects = found.position[target]
    counts = count_ordered_and_concurrent_pairs(places, causes, effects, log["hosts"])
    assert counts == (log["ordered_pairs"], log["concurrent_pairs"])
    again = compute_clocks(places, causes, effects, log["hosts"])
    entries = np.zeros_like(again)
    entries[np.repeat(found.position, np.diff(rows.starts)), rows.slots] = rows.counts
    assert (again == entries).all()
    assert len(find_clock_faults(process, own, rows).kind) == 0


@needs_data
def test_an_editing_trace_has_the_pairs_that_others_counted():
    file = "editing-traces/friendsforever.json.gz"
    want = json.loads((DATA / "expected.json").read_text())["graphs_and_messages"][file]
    found = events_as_rows(read((DATA / file).read_bytes(), file))
    ids = {row["event"]: i for i, row in enumerate(found)}
    agents = sorted({row["process"] for row in found})
    pairs = [(ids[parent], i) for i, row in enumerate(found) for parent in row["parents"] or ()]
    source, target = np.array(pairs).T
    assert len(pairs) == want["edges"]
    line = sort_topologically(len(found), source, target)
    process = np.array([agents.index(row["process"]) for row in found])[line.order]
    counts = count_ordered_and_concurrent_pairs(
        process, line.position[source], line.position[target], len(agents)
    )
    assert counts == (want["ordered_pairs"], want["concurrent_pairs"])
