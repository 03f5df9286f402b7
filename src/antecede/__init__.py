"""antecede puts the events of distributed systems back into causal order.

For logs and tables: `read_logs` reads files into an Arrow table of events and `audit` says what is wrong with
such a table; `order_events` puts one into causal order, and `order` a table of stamped messages; `compare`
says which protocol would have been best for the communication of a table of events.
`antecede.spark` has the same names for DataFrames of any size.

For applications: `endpoint` makes one process's end of a protocol; its `send` and `receive` return effects
(packets to transmit, deliveries in order); `list_protocols` tells what each protocol promises. `VectorClock`,
`LamportClock` and `PlausibleClock` stamp events for those who only want to write stamped logs. A `Site` is an
endpoint over a reliable `Link`, and comes back after a crash (`recover`). `live` runs an endpoint as a node
of a running system; `simulate` runs many of them over a simulated network.

What is listed here and in `antecede.spark`, `live`, `simulate` and `study` is for callers; all other modules
may change. A name is imported when it is first asked for: a script loads only what it uses.
"""

from typing import TYPE_CHECKING, Any

from antecede._lazy import make_lazy_importer

if TYPE_CHECKING:
    from antecede import live as live
    from antecede import simulate as simulate
    from antecede import spark as spark
    from antecede import study as study
    from antecede.auditing.summary import Summary
    from antecede.core.clocks import ClockStamp, LamportClock, PlausibleClock, VectorClock
    from antecede.core.endpoint import Endpoint
    from antecede.core.errors import AntecedeError, CallerError, DuplicateError, InputError, SetupError
    from antecede.core.facts import Facts
    from antecede.core.link import Frame, Link, decode_frame, make_link
    from antecede.core.packet import Delivery, Effects, Gap, Held, Missing, Packet, decode
    from antecede.core.site import Input, Output, Recovered, Site, recover
    from antecede.formats.logs import FileRead
    from antecede.formats.settings import Settings
    from antecede.local.audit import Audit, audit
    from antecede.local.compare import CostReport, compare
    from antecede.local.event_order import order_events
    from antecede.local.logs import Logs, read_logs
    from antecede.local.message_order import order
    from antecede.local.outcome import Outcome
    from antecede.protocols.registry import endpoint, list_protocols, restore
    from antecede.study.advice import Advice

    __version__: str

__all__ = [
    "Advice",
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
    "FileRead",
    "Frame",
    "Gap",
    "Held",
    "Input",
    "InputError",
    "LamportClock",
    "Link",
    "Logs",
    "Missing",
    "Outcome",
    "Output",
    "Packet",
    "PlausibleClock",
    "Recovered",
    "Settings",
    "SetupError",
    "Site",
    "Summary",
    "VectorClock",
    "__version__",
    "audit",
    "compare",
    "decode",
    "decode_frame",
    "endpoint",
    "list_protocols",
    "live",
    "make_link",
    "order",
    "order_events",
    "read_logs",
    "recover",
    "restore",
    "simulate",
    "spark",
    "study",
]

_HOMES = {
    "auditing.summary": ("Summary",),
    "core.clocks": ("ClockStamp", "LamportClock", "PlausibleClock", "VectorClock"),
    "core.endpoint": ("Endpoint",),
    "core.errors": ("AntecedeError", "CallerError", "DuplicateError", "InputError", "SetupError"),
    "core.facts": ("Facts",),
    "core.link": ("Frame", "Link", "decode_frame", "make_link"),
    "core.packet": ("Delivery", "Effects", "Gap", "Held", "Missing", "Packet", "decode"),
    "core.site": ("Input", "Output", "Recovered", "Site", "recover"),
    "formats.logs": ("FileRead",),
    "formats.settings": ("Settings",),
    "local.audit": ("Audit", "audit"),
    "local.compare": ("CostReport", "compare"),
    "local.event_order": ("order_events",),
    "local.logs": ("Logs", "read_logs"),
    "local.message_order": ("order",),
    "local.outcome": ("Outcome",),
    "protocols.registry": ("endpoint", "list_protocols", "restore"),
    "study.advice": ("Advice",),
}
_import_name = make_lazy_importer(__name__, _HOMES, ("live", "simulate", "spark", "study"))

if not TYPE_CHECKING:  # a checker knows all names, and would take any other for one

    def __getattr__(name: str) -> Any:
        return _read_installed_version() if name == "__version__" else _import_name(name)


def __dir__() -> list[str]:
    return __all__


def _read_installed_version() -> str:
    """The version that is installed."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(__name__)
    except PackageNotFoundError:  # sources that were put on the path, or shipped to a worker of Spark
        return "unknown"
