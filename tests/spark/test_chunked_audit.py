"""The audit of a huge trace on Spark against brute force, for chunks and spans of all sizes."""

from random import Random

import pyarrow as pa
import pytest

from antecede.kernels.links import DELIVER, SEND
from antecede.spark.auditing.chunked_audit import audit_messages
from antecede.tables import EVENTS
from tests.kernels.traces import flood, judged

pytestmark = pytest.mark.spark
KIND = {SEND: "send", DELIVER: "deliver"}


def table(trace, times, execution="x"):
    """EVENTS rows; the id of an event is its position in the trace."""
    count: dict[int, int] = {}
    rows = []
    for position, ((process, kind, message), time) in enumerate(zip(trace, times, strict=True)):
        count[process] = count.get(process, -1) + 1
        rows.append(
            {
                "execution": execution,
                "process": f"p{process}",
                "index": count[process],
                "event": str(position),
                "kind": KIND.get(kind, "local"),
                "message": f"m{message}" if kind in KIND else None,
                "time": time,
                "file": "a.log",
                "line": position + 1,
            }
        )
    return pa.Table.from_pylist(rows, EVENTS)


def framed(spark, data, parts, seed=3):
    """The rows in another order, in so many partitions."""
    rows = list(range(len(data)))
    Random(seed).shuffle(rows)
    return spark.createDataFrame(data.take(pa.array(rows))).repartition(parts)


def lates(found):
    """Of the findings, the positions of late deliveries, and of those that break FIFO order."""
    rows = [row.asDict() for row in found.findings.collect()]
    late, fifo = (
        sorted(int(row["events"][-1]) for row in rows if row["kind"] == kind) for kind in ("late", "fifo")
    )
    return late, fifo


@pytest.mark.parametrize(("chunk", "span", "parts"), [(10_000, None, 1), (60, 2.0, 3)])
def test_the_verdict_is_that_on_the_whole(spark, chunk, span, parts):
    trace = flood(Random(4), 5, 90, 25)
    data = table(trace, [float(i) for i in range(len(trace))])
    found = audit_messages(framed(spark, data, parts), span=span, chunk=chunk)
    late, fifo, early, pairs = judged(trace)
    assert lates(found) == (late, fifo) and len(late) > len(fifo) > 10
    (total,) = found.totals.collect()
    assert (total.late, total.fifo, total.early, total.pairs) == (
        len(late),
        len(fifo),
        len(early),
        len(pairs),
    )
    assert (total.events, total.processes, total.sends) == (len(trace), 5, 90)


def test_executions_are_apart_and_wrong_clocks_do_not_matter(spark):
    """One clock is askew, and one goes back in the midst of it; messages have the same ids in both."""
    traces = [flood(Random(seed), 3, 40, 9) for seed in (1, 2)]
    times = [
        [i + 30.0 * process for i, (process, _, _) in enumerate(traces[0])],
        [i - 40.0 * (i > 40 and process == 1) for i, (process, _, _) in enumerate(traces[1])],
    ]
    tables = [table(traces[i], times[i], name) for i, name in enumerate("ab")]
    found = audit_messages(framed(spark, pa.concat_tables(tables), 2), chunk=50)
    assert_verdicts(found, traces)
    wrong = {row.execution: row.timestamp for row in found.totals.collect()}
    assert wrong == {name: mistimed(traces[i], times[i]) for i, name in enumerate("ab")}
    one = audit_messages(framed(spark, tables[0], 2), chunk=50)
    assert_verdicts(one, traces[:1])


def assert_verdicts(found, traces):
    rows = found.findings.collect()
    for name, trace in zip("ab", traces, strict=False):
        late = [row for row in rows if row.execution == name and row.kind == "late"]
        told = {int(row.events[-1]) for row in late}
        assert told == set(judged(trace)[0]) and told


def mistimed(trace, times):
    """How many effects have less time than their causes."""
    sends = {m: p for p, (_, kind, m) in enumerate(trace) if kind == SEND}
    last: dict[int, int] = {}
    count = 0
    for at, (process, kind, message) in enumerate(trace):
        causes = [last[process]] if process in last else []
        causes += [sends[message]] if kind == DELIVER else []
        count += sum(times[cause] > times[at] for cause in causes)
        last[process] = at
    return count


def test_findings_tell_what_is_wrong_with_messages(spark):
    """m0 is lost at p2 and delivered twice at p1; m7 was never sent; m3 is sent twice; m4 comes before m5."""
    trace = [
        (0, SEND, 0), (1, DELIVER, 0), (1, DELIVER, 0), (2, DELIVER, 7), (2, SEND, 3), (2, SEND, 3),
        (0, DELIVER, 3), (0, SEND, 5), (0, SEND, 4), (1, DELIVER, 4), (1, DELIVER, 5),
    ]  # fmt: skip
    data = table(trace, [float(i) for i in range(len(trace))]).to_pylist()
    data[0]["receivers"] = ["p1", "p2"]
    found = audit_messages(framed(spark, pa.Table.from_pylist(data, EVENTS), 2))
    told = {row.kind: row for row in found.findings.collect()}
    assert {kind: row.events for kind, row in told.items()} == {
        "lost": ["0"], "duplicate": ["1", "2"], "orphan": ["3"], "resent": ["4", "5"],
        "fifo": ["7", "8", "9", "10"], "late": ["7", "8", "9", "10"],
    }  # fmt: skip
    late = told["late"]
    place = (late.execution, late.process, late.message, late.file, late.line)
    assert place == ("x", "p1", "m5", "a.log", 11)
    assert late.sentence.startswith("p1 delivered m4 before m5, though m5 came first: p0 sent m5 (a.log:8)")
    assert (
        told["fifo"].sentence == "p1 delivered m4 before m5, though p0 sent m5 (a.log:8) before m4 (a.log:9)"
    )
    assert told["lost"].sentence.endswith("never delivered at p2")
