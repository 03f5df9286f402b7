"""Which protocols run as nodes, and why the others do not.

Connections keep order and lose nothing, and a node hands over by itself. That suits all protocols, but for a
send that ends only when the other application receives: two that send to each other would wait for ever.
"""

from antecede.core.endpoint import Endpoint
from antecede.core.errors import CallerError


def check_endpoint_for_node(endpoint: Endpoint) -> None:
    """Refuse an endpoint that cannot run as a node."""
    if endpoint.facts.name == "sync" and getattr(endpoint, "form", "") == "rendezvous":
        raise CallerError(
            "'sync' in the form 'rendezvous' cannot run as a node: a send would end only when the other "
            "application receives, and two that send to each other would wait for ever; use form='site'"
        )
