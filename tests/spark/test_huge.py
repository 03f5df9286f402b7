"""The audit of a huge trace on Spark against brute force, for chunks and spans of all sizes."""

from random import Random

import pyarrow as pa
import pytest

from antecede.causality.links import DELIVER, SEND
from antecede.spark.huge import audit_messages
from antecede.tables import EVENTS
from tests.causality.traces import flood, judged

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
    late = sorted(int(row["events"][-1]) for row in rows if row["kind"] in ("late", "fifo"))
    return late, sorted(int(row["events"][-1]) for row in rows if row["kind"] == "fifo")


@pytest.mark.parametrize(
    ("chunk", "span", "parts"), [(10_000, None, 1), (40, 2.0, 3), (7, 0.0, 2), (60, 500.0, 4)]
)
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
