"""The pipeline on Spark: the session, the tables in and out, order and audit at any size.

Owns: everything that imports pyspark. Must not know: the terminal, sockets, how pages look. Imported only
where Spark is wanted, since starting it takes seconds and a Java.

`order` and `order_events` are imported when they are asked for. Their modules have other names, since a
module that was imported would take the name of the function.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from antecede.spark.event_order import order_events
    from antecede.spark.ordering import order
    from antecede.spark.outcome import Outcome

__all__ = ["Outcome", "order", "order_events"]

_HOMES = {"Outcome": "outcome", "order": "ordering", "order_events": "event_order"}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
