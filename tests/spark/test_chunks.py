"""The tasks of the audit of a huge trace, called without Spark: together they give the whole verdict."""

from random import Random

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from antecede.causality.links import OTHER
from antecede.causality.pairing import LOST
from antecede.spark.chunks import PART, RAW, Cuts, Near
from antecede.spark.far import Replay, gathered, states, unpack
from antecede.spark.linking import LINKED, SLIM, Actors, Link
from tests.causality.traces import events, judged

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
