"""Event logs in causal order: all that tells of causes counts, and time only breaks ties.

The causes are those of `events.graph`: the order of each process, clocks, parents and messages.
"""

from pyspark.sql import DataFrame
from pyspark.sql import functions as sf

from antecede.ordering.events import order_event_partition
from antecede.spark.event_columns import event_columns
from antecede.spark.ordering.forms import named
from antecede.spark.ordering.outcome import ANSWER, Outcome, our_names
from antecede.spark.partition_kernel import beside

_TYPE = "position bigint, missing array<string>, reason string, ghosts array<string>"


def order_events(events: DataFrame, partitions: int | None = None) -> Outcome:
    """The events of each execution in one causal order, the same for the same set of events.

    - `ordered`: the events + `position`, from 0 in each execution, + `ghosts`: the parents of the event that
      are not in the log, null if none;
    - `quarantine`: the events that no order can keep, on a cycle or their own parent, + `reason`;
    - `held` has no rows here: an event whose parent is missing still comes out;
    - `gaps`: the ghosts of each execution, and how many events name each.
    """
    names = our_names(events, "position", "ghosts", "missing", "since", "reason")
    number = partitions or int(str(events.sparkSession.conf.get("spark.sql.shuffle.partitions")))
    columns = event_columns(events)
    rows = beside(
        events.repartition(number, columns["execution"]), columns, order_event_partition, _TYPE, ANSWER
    )
    answer, own = sf.col(ANSWER), [named(name) for name in events.columns]
    ordered = rows.where(answer["position"].isNotNull())
    gaps = ordered.select(
        columns["execution"].alias("execution"), sf.explode(answer["ghosts"]).alias("missing")
    )
    ordered = ordered.select(*own, *(answer[name].alias(names[name]) for name in ("position", "ghosts")))
    since = sf.lit(None).cast("bigint").alias(names["since"])
    held = rows.where(answer["missing"].isNotNull())
    held = held.select(*own, answer["missing"].alias(names["missing"]), since)
    quarantine = rows.where(answer["reason"].isNotNull())
    quarantine = quarantine.select(*own, answer["reason"].alias(names["reason"]))
    gaps = gaps.groupBy("execution", "missing").agg(sf.count("*").alias("waiting"))
    return Outcome(ordered, held, quarantine, gaps, rows, names)
