"""antecede puts the events of distributed systems back into causal order.

For logs and tables: `read_logs` reads files into an Arrow table of events and `audit` says what is wrong with
such a table; `order_events` puts one into causal order, and `order` a table of stamped messages; `compare`
says which protocol would have been best for the communication of a table of events.
`antecede.spark` has the same names for DataFrames of any size.

For applications: `endpoint` makes one process's end of a protocol; its `send` and `receive` return effects
(packets to transmit, deliveries in order); `list_protocols` tells what each protocol promises. `VectorClock`,
`LamportClock` and `PlausibleClock` stamp events for those who only want to write stamped logs. `live` runs an
endpoint as a node of a running system.

What is listed here is imported when it is first asked for: a script loads only what it uses.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from antecede import live as live
    from antecede.core.clocks import ClockStamp, LamportClock, PlausibleClock, VectorClock
    from antecede.core.endpoint import Endpoint
    from antecede.core.errors import AntecedeError, CallerError, DuplicateError, InputError, SetupError
    from antecede.core.facts import Facts
    from antecede.core.packet import Delivery, Effects, Gap, Held, Missing, Packet, decode
    from antecede.formats.settings import Settings
    from antecede.local.audit import Audit, audit
    from antecede.local.compare import CostReport, compare
    from antecede.local.event_order import order_events
    from antecede.local.logs import read_logs
    from antecede.local.message_order import order
    from antecede.local.outcome import Outcome
    from antecede.protocols.registry import endpoint, list_protocols, restore

__all__ = [
    "AntecedeError",
    "Audit",
    "CallerError",
    "ClockStamp",
    "CostReport",
    "Delivery",
    "DuplicateError",
    "Effects",
    "Endpoint",
    "Facts",
    "Gap",
    "Held",
    "InputError",
    "LamportClock",
    "Missing",
    "Outcome",
    "Packet",
    "PlausibleClock",
    "Settings",
    "SetupError",
    "VectorClock",
    "audit",
    "compare",
    "decode",
    "endpoint",
    "list_protocols",
    "live",
    "order",
    "order_events",
    "read_logs",
    "restore",
]

_MODULES = {
    "core.clocks": ("ClockStamp", "LamportClock", "PlausibleClock", "VectorClock"),
    "core.endpoint": ("Endpoint",),
    "core.errors": ("AntecedeError", "CallerError", "DuplicateError", "InputError", "SetupError"),
    "core.facts": ("Facts",),
    "core.packet": ("Delivery", "Effects", "Gap", "Held", "Missing", "Packet", "decode"),
    "formats.settings": ("Settings",),
    "local.audit": ("Audit", "audit"),
    "local.compare": ("CostReport", "compare"),
    "local.event_order": ("order_events",),
    "local.logs": ("read_logs",),
    "local.message_order": ("order",),
    "local.outcome": ("Outcome",),
    "protocols.registry": ("endpoint", "list_protocols", "restore"),
}
_MODULE_OF = {name: module for module, names in _MODULES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name == "live":
        return import_module(f"{__name__}.live")
    if name not in _MODULE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_MODULE_OF[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
