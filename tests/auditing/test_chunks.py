"""The tasks of the audit of a huge trace, called without Spark: together they give the whole verdict."""

from random import Random

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from antecede.auditing.chunked.chunks import PART, RAW, Cuts, Near
from antecede.auditing.chunked.linking import LINKED, SLIM, Actors, Link
from antecede.auditing.chunked.positions import MISTIMED, Straighten, Untangle, offsets
from antecede.auditing.chunked.stragglers import Replay, gathered, states, unpack
from antecede.kernels.hashed_linking import LOST, acts
from antecede.kernels.links import DELIVER, DUPLICATE, ORPHAN, OTHER, RESENT, SEND, UNSENT
from tests.kernels.traces import events, flood, judged

SEEDS = st.integers(0, 2**32)


def slim(trace, times, shuffle=None):
    """Slim rows of (process, kind, message) events, and the process and index of each."""
    count: dict[int, int] = {}
    rows, where = [], []
    for (process, kind, message), time in zip(trace, times, strict=True):
        index = count.get(process, 0)
        count[process] = index + 1
        where.append((process, index))
        code = 7 * message if kind != OTHER else -5
        fields = (process, index, kind, time, code, code + 1, None, None)
        rows.append(dict(zip(SLIM.names, fields, strict=True)))
    (shuffle or Random(1)).shuffle(rows)
    return pa.Table.from_pylist(rows, SLIM), where


def run(task, table, schema=RAW):
    return pa.Table.from_batches(task.run(iter(table.to_batches(7))), schema)


def link(table, n):
    """Messages in two parts, each linked by itself."""
    code = table["code"].to_numpy()
    actors = Actors([f"p{i}" for i in range(n)], [0] * n)
    return pa.concat_tables(
        run(Link(actors), table.filter(pa.array(code % 2 == k)), LINKED) for k in range(2)
    )


def kept(linked):
    return linked.filter(pa.array(linked["act"].to_numpy() < LOST))


def chunk(linked, cuts):
    """The rows that each chunk reads."""
    time = linked["time"].to_numpy()
    home, last = cuts.chunk(time), cuts.chunk(time + cuts.span)
    for k in range(len(cuts.bounds) + 1):
        mine = (home <= k) & (k <= last)
        rows = linked.filter(pa.array(mine))
        head = [pa.array(np.full(len(rows), k), pa.int32()), pa.array(home[mine], pa.int32())]
        yield pa.table([*head, *(rows[name] for name in PART.names[2:])], schema=PART)


def verdict(linked, n, cuts):
    """Late, FIFO, early deliveries and the number of pairs, over all chunks and stragglers."""
    parts = list(chunk(linked, cuts))
    near = [run(Near(n, cuts, True), part) for part in parts]
    rows = [row for table in near for row in table.to_pylist()]
    assert not any(row["kind"] == "crooked" for row in rows)
    copies = gathered([unpack(row["blob"]) for row in rows if row["kind"] == "far"])
    summaries = [unpack(row["blob"]) for row in rows if row["kind"] == "summary"]
    known = states(summaries, n, copies)
    rows += [row for part in parts for row in run(Replay(n, cuts, known), part).to_pylist()]
    found = [
        {(r["process"], r["index"]) for r in rows if r["kind"] in kinds}
        for kinds in (("late", "fifo"), ("fifo",), ("early",))
    ]
    return (*found, sum(r["count"] for r in rows if r["kind"] == "pairs")), rows, len(copies.code)


def wanted(trace, where):
    late, fifo, early, pairs = judged(trace)
    return (*({where[p] for p in part} for part in (late, fifo, early)), len(pairs))


@given(SEEDS, st.integers(1, 4), st.integers(1, 60), st.integers(0, 40), st.data())
def test_chunks_and_stragglers_are_the_whole(seed, n, size, span, data):
    trace = events(Random(seed), n, size)
    table, where = slim(trace, [float(i) for i in range(size)])
    bounds = sorted(data.draw(st.sets(st.integers(1, size), max_size=6)))
    found, _, _ = verdict(kept(link(table, n)), n, Cuts(np.array(bounds, dtype=float), float(span)))
    assert found == wanted(trace, where)


@given(SEEDS, st.integers(2, 5), st.integers(1, 60), st.integers(0, 4), st.integers(1, 9), st.data())
def test_many_events_at_one_moment(seed, n, size, span, each, data):
    trace = events(Random(seed), n, size)
    table, where = slim(trace, [float(i // each) for i in range(size)])
    bounds = sorted(data.draw(st.sets(st.integers(1, max(1, size // each)), max_size=4)))
    found, _, _ = verdict(kept(link(table, n)), n, Cuts(np.array(bounds, dtype=float), float(span)))
    assert found == wanted(trace, where)


def test_late_deliveries_are_all_told_where_pairs_are_too_many(monkeypatch):
    monkeypatch.setattr("antecede.auditing.chunked.chunks.PAIRS", 3)
    trace = flood(Random(4), 3, 60, 20)
    table, where = slim(trace, [float(i) for i in range(len(trace))])
    found, rows, _ = verdict(kept(link(table, 3)), 3, Cuts(np.empty(0), float(len(trace))))
    assert found == wanted(trace, where)
    bare = [row for row in rows if row["kind"] in ("late", "fifo") and len(row["refs"]) == 4]
    assert bare and all(row["refs"][2:] == [row["process"], row["index"]] for row in bare)


def test_stragglers_have_witnesses():
    trace = flood(Random(11), 5, 600, 300)
    table, where = slim(trace, [float(i) for i in range(len(trace))])
    cuts = Cuts(np.arange(100.0, len(trace), 100), 3.0)
    found, rows, strays = verdict(kept(link(table, 5)), 5, cuts)
    assert found == wanted(trace, where) and strays > 500
    pairs = {(where[early], where[cause]) for early, cause, _ in judged(trace)[3]}
    for row in rows:
        if row["kind"] in ("late", "fifo"):
            line = list(zip(row["refs"][::2], row["refs"][1::2], strict=True))
            assert line[-1] == (row["process"], row["index"]) and (line[-2], line[0]) in pairs
            assert trace[where.index(line[-2])][2] == trace[where.index(line[-3])][2]


@given(SEEDS, st.integers(2, 5), st.integers(1, 80))
def test_clocks_that_are_askew_are_set_right(seed, n, size):
    random = Random(seed)
    trace = events(random, n, size)
    skew = [random.uniform(-50, 50) for _ in range(n)]
    times = [i + skew[process] for i, (process, _, _) in enumerate(trace)]
    table, where = slim(trace, times)
    rows = kept(link(table, n))
    came = rows.filter(pa.array(rows["act"].to_numpy() == DELIVER))
    columns = (came[name].to_numpy() for name in ("sender", "process", "time", "far"))
    sender, receiver, time, far = columns
    moves = offsets(n, sender, receiver, time - far, 1e-9)
    assert moves is not None
    straight = kept(run(Straighten(moves), rows, LINKED))
    act, time, far = (straight[name].to_numpy() for name in ("act", "time", "far"))
    assert (time[act == DELIVER] >= far[act == DELIVER]).all()
    found, _, _ = verdict(straight, n, Cuts(np.array([size / 3, size / 2]), 5.0))
    assert found == wanted(trace, where)


def test_no_constants_set_right_what_no_clock_can_be():
    there_and_back = np.array([0, 1]), np.array([1, 0])
    assert offsets(2, *there_and_back, np.array([-3.0, 1.0]), 0.0) is None
    found = offsets(2, *there_and_back, np.array([-3.0, 4.0]), 0.0)
    assert found is not None and found.tolist() == [0.0, 3.0]


@given(SEEDS, st.integers(2, 5), st.integers(1, 60))
def test_any_times_or_none_are_untangled(seed, n, size):
    random = Random(seed)
    trace = events(random, n, size)
    times = [random.choice([None, random.uniform(0, 50)]) for _ in trace]
    table, where = slim(trace, times)
    rows = run(Untangle(n), kept(link(table, n)), LINKED)
    found, _, _ = verdict(kept(rows), n, Cuts(np.array([size / 2]), 3.0))
    assert found == wanted(trace, where)
    wrong = {(r["process"], r["other"], r["index"]) for r in rows.to_pylist() if r["act"] == MISTIMED}
    own = {where[i]: np.nan if time is None else time for i, time in enumerate(times)}
    steps = [(p, i, i + 1) for p, i in where if (p, i + 1) in own]
    assert wrong == {(p, a, b) for p, a, b in steps if own[p, b] < own[p, a]}


def test_a_delivery_that_leads_to_its_own_send_is_unsent():
    trace = [(0, DELIVER, 0), (0, SEND, 1), (1, DELIVER, 1), (1, SEND, 0), (0, SEND, 2), (1, DELIVER, 2)]
    table, _ = slim(trace, [float(i) for i in range(len(trace))])
    rows = run(Untangle(2), kept(link(table, 2)), LINKED).to_pylist()
    (found,) = [row for row in rows if row["act"] == acts(UNSENT)]
    assert (found["process"], found["index"], found["sender"], found["other"]) == (0, 0, 1, 1)


def test_events_out_of_their_process_order_are_crooked():
    table, _ = slim([(0, SEND, 1), (0, SEND, 2), (1, DELIVER, 1)], [2.0, 1.0, 3.0])
    (part,) = chunk(kept(link(table, 2)), Cuts(np.empty(0), 0.0))
    assert run(Near(2, Cuts(np.empty(0), 0.0), False), part)["kind"].to_pylist() == ["crooked"]


FAULTS = [
    ((0, SEND, 1, None, ["p1", "p2", "p0", "p7"]), None),
    ((1, DELIVER, 1, None, None), None),
    ((1, DELIVER, 1, None, None), (acts(DUPLICATE), 1, 0)),
    ((2, DELIVER, 9, None, None), (acts(ORPHAN), -1, -1)),
    ((2, SEND, 1, None, None), (acts(RESENT), 0, 0)),
    ((2, SEND, 3, None, None), None),
    ((0, SEND, 4, None, ["p0"]), None),
    ((0, SEND, 5, None, []), None),
    ((1, DELIVER, 5, None, None), None),
]
LOST_COPIES = {(0, 0, "p2"), (0, 0, "p7"), (2, 2, None), (0, 1, "p0")}


def test_faults_of_messages():
    count: dict[int, int] = {}
    rows = []
    for time, ((process, kind, message, sender, receivers), _) in enumerate(FAULTS):
        count[process] = count.get(process, -1) + 1
        fields = (process, count[process], kind, float(time), message, message, sender, receivers)
        rows.append(dict(zip(SLIM.names, fields, strict=True)))
    linked = link(pa.Table.from_pylist(rows, SLIM), 3).to_pylist()
    lost = {(row["process"], row["index"], row["receiver"]) for row in linked if row["act"] == LOST}
    assert lost == LOST_COPIES
    found = {
        row["time"]: (row["act"], row["sender"], row["other"]) for row in linked if OTHER < row["act"] < LOST
    }
    assert found == {float(i): fault for i, (_, fault) in enumerate(FAULTS) if fault}


def test_senders_that_count_for_themselves_and_hashes_that_meet():
    names = ("process", "index", "act", "time", "code", "check", "sender", "receivers")
    rows = [
        (0, 0, SEND, 0.0, 2, 5, None, None),
        (1, 0, SEND, 1.0, 2, 5, None, None),
        (2, 0, DELIVER, 2.0, 2, 5, 1, None),
        (2, 1, DELIVER, 3.0, 2, 5, 0, None),
        (0, 1, SEND, 4.0, 4, 6, None, None),
        (0, 2, SEND, 5.0, 4, 8, None, None),
        (1, 1, DELIVER, 6.0, 4, 8, None, None),
        (1, 2, DELIVER, 7.0, 4, 6, None, None),
    ]
    table = pa.Table.from_pylist([dict(zip(names, row, strict=True)) for row in rows], SLIM)
    linked = kept(link(table, 3)).to_pylist()
    sent = {row["time"]: row["far"] for row in linked if row["act"] == DELIVER}
    assert sent == {2.0: 1.0, 3.0: 0.0, 6.0: 5.0, 7.0: 4.0}


def test_receivers_without_names_are_nobody():
    rows = [dict(zip(SLIM.names, (0, 0, SEND, 0.0, 2, 5, None, [None, "p1"]), strict=True))]
    lost = [row for row in link(pa.Table.from_pylist(rows, SLIM), 2).to_pylist() if row["act"] == LOST]
    assert [row["receiver"] for row in lost] == ["p1"]
