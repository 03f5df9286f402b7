"""Tables of messages in causal order: the compiled gate per group, whatever form the stamps have."""

from collections.abc import Sequence

from pyspark.sql import DataFrame

from antecede.spark.outcome import Outcome


def order(
    messages: DataFrame,
    *,
    group: str | None = None,
    sender: str = "sender",
    stamp: str = "stamp",
    form: str | None = None,
    receiver: str | None = None,
    number: str | None = None,
    keys: str | None = None,
    id: str | None = None,
    arrival: str | None = None,
    time: str | None = None,
    members: Sequence[str] | None = None,
    partitions: int | None = None,
) -> Outcome:
    """Each message as soon as everything that caused it is out, with its position."""
    raise NotImplementedError
