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
from antecede.kernels.vector_clocks import compute_clocks, count_pairs
from tests.formats.samples import DATA, needs_data, opened
from tests.kernels.clocked import columns, consistent, first_with, garbage, lines


def candidates(found):
    """For each event the new claims of other processes, that the log has."""
    claims: dict[int, dict[int, int]] = {}
    for line in lines(found).values():
        most: dict[int, int] = {}
        for i in line:
            grown = {q: c for q, c in found[i].clock.items() if q != found[i].process and c > most.get(q, 0)}
            most |= grown
            claims[i] = grown
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
    edges, claims = set(pairs_of(find_clock_edges(*columns(found)))), candidates(found)
    causes = {(first_with(found, q, c), i) for i, grown in claims.items() for q, c in grown.items()}
    known = {(a, b) for a, b in causes if a is not None}
    assert edges >= own_edges(found) and edges <= known | own_edges(found)
    for a, b in known - edges:
        others = [x for x, y in known if y == b and x != a]
        assert any(found[x].clock.get(found[a].process) == found[a].own for x in others)


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


def logged(log):
    """Processes, own entries and clocks of one execution of a log, by number."""
    settings = Settings(regex=log["regex"], delimiter=log["delimiter"] or None)
    parsed = read((DATA / log["file"]).read_bytes(), log["file"], "shiviz", settings)
    found = [row for row in opened(parsed) if row["execution"] == log["execution"]]
    ids = {name: i for i, name in enumerate(sorted({row["process"] for row in found}))}
    rows = Rows.of([(ids[name], count) for name, count in row["clock"].items()] for row in found)
    return np.array([ids[row["process"]] for row in found]), [r["clock"][r["process"]] for r in found], rows


@needs_data
@pytest.mark.parametrize("log", LOGS, ids=lambda log: f"{log['file']} {log['execution']}")
def test_real_logs_have_the_edges_and_pairs_that_others_counted(log):
    process, own, rows = logged(log)
    source, target = find_clock_edges(process, own, rows)
    across = process[source] != process[target]
    assert across.sum() == log["cross_host_edges"]
    assert len(np.unique(target[across])) == log["events_with_a_cross_host_parent"]
    assert (np.bincount(target[across]) > 1).sum() == log["events_with_2plus_cross_host_parents"]
    found = sort_topologically(len(process), source, target)
    assert len(found.stuck) == 0
    places, causes, effects = process[found.order], found.position[source], found.position[target]
    counts = count_pairs(places, causes, effects, log["hosts"])
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
    found = opened(read((DATA / file).read_bytes(), file))
    ids = {row["event"]: i for i, row in enumerate(found)}
    agents = sorted({row["process"] for row in found})
    pairs = [(ids[parent], i) for i, row in enumerate(found) for parent in row["parents"] or ()]
    source, target = np.array(pairs).T
    assert len(pairs) == want["edges"]
    line = sort_topologically(len(found), source, target)
    process = np.array([agents.index(row["process"]) for row in found])[line.order]
    counts = count_pairs(process, line.position[source], line.position[target], len(agents))
    assert counts == (want["ordered_pairs"], want["concurrent_pairs"])
