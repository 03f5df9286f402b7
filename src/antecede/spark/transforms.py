"""The order and the audit as steps of a chain: `messages.transform(with_order(group="room"))`."""

from collections.abc import Callable, Iterable

from pyspark.sql import DataFrame

from antecede.ordering.message_plan import MessageOptions, check_and_list_member_names
from antecede.spark.auditing.event_audit import audit
from antecede.spark.ordering.event_order import plan_event_order
from antecede.spark.ordering.message_order import plan_message_order

Transform = Callable[[DataFrame], DataFrame]


def with_order(
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
    members: Iterable[str | int] | None = None,
    partitions: int | None = None,
) -> Transform:
    """A step that adds to every message what `antecede.spark.order` finds out, with the same arguments.

    No row is left out. The columns are `position`, `arrival`, `missing` and `reason`, and of `position`,
    `missing` and `reason` exactly one is not null: the message is out, waits, or cannot be put in order.

        messages.transform(with_order(group="room")).where("position is not null")
    """
    options = MessageOptions(
        group,
        sender,
        stamp,
        form,
        receiver,
        number,
        keys,
        id,
        arrival,
        time,
        check_and_list_member_names(members),
    )
    return lambda messages: plan_message_order(messages, options, partitions).add_outcome_columns()


def with_event_order(partitions: int | None = None) -> Transform:
    """A step that adds to every event what `antecede.spark.order_events` finds out.

    No row is left out. The columns are `position`, `ghosts` and `reason`, and of `position` and `reason`
    exactly one is not null.

        logs.events.transform(with_event_order()).orderBy("execution", "position")
    """
    return lambda events: plan_event_order(events, partitions).add_outcome_columns()


def to_findings() -> Transform:
    """A step from events to the findings of `antecede.spark.audit`; nothing is kept on disk.

    logs.events.transform(to_findings()).groupBy("kind").count()
    """
    return _audit_to_findings


def _audit_to_findings(events: DataFrame) -> DataFrame:
    audited = audit(events)
    audited.done()
    return audited.findings
