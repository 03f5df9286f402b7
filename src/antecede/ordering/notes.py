"""What a user must know of an order: what its stamps cannot tell, and what they may be taken for in error."""

from antecede.ordering.forms import LEAVE_OUT_CAUSES
from antecede.ordering.projection import StampPlan
from antecede.protocols.registry import get_protocol_class

_BY_SENDER = "in the order of each sender alone"
_MOSTLY_CAUSAL = "in causal order most of the time, since senders share entries"
_ORDERS_OF_PROTOCOLS = {
    "none": "as they arrive",
    "fifo": _BY_SENDER,
    "probably causal": _MOSTLY_CAUSAL,
    "causal at one process": "in causal order at one process, and in any order elsewhere",
}
_ORDERS_OF_FORMS = {"sequence": _BY_SENDER, "shared": _MOSTLY_CAUSAL}
"""How rows come where stamps keep less than causal order."""


def describe_order_weaker_than_causal(stamps: StampPlan) -> list[str]:
    """A sentence if stamps keep less than causal order."""
    if stamps.protocol:
        kept = _ORDERS_OF_PROTOCOLS.get(get_protocol_class(stamps.protocol).facts.order)
        what = f"packets of {stamps.protocol!r}"
    else:
        kept = _ORDERS_OF_FORMS.get(stamps.form)
        what = f"stamps of form {stamps.form!r}"
    return [] if kept is None else [f"{what} do not keep causal order: rows come {kept}"]


def describe_left_out_causes(stamps: StampPlan) -> list[str]:
    """A sentence if stamps may leave out causes, and no column tells in which order rows arrived."""
    if not stamps.wants_past:
        return []
    if stamps.protocol:
        protocol = get_protocol_class(stamps.protocol)
        if protocol.names_all_causes or not protocol.facts.exact:
            return []
        what = f"packets of {stamps.protocol!r}"
    elif stamps.form in LEAVE_OUT_CAUSES:
        what = f"stamps of form {stamps.form!r}"
    else:
        return []
    return [
        f"{what} may leave out a cause that their sender knows the receiver to have, and no column tells "
        "when rows arrived: such a cause may come behind its effect; name a column as arrival or time"
    ]
