"""What a user must know of an order: what its stamps cannot tell, and what they may be taken for in error."""

from antecede.ordering.forms import LEAVE_OUT_CAUSES
from antecede.ordering.projection import StampPlan
from antecede.protocols.registry import get_protocol


def describe_left_out_causes(stamps: StampPlan) -> list[str]:
    """A sentence if stamps may leave out causes, and no column tells in which order rows arrived."""
    if not stamps.wants_past:
        return []
    if stamps.protocol:
        protocol = get_protocol(stamps.protocol)
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
