"""The figures of a node for Prometheus, taken from its status whenever they are asked for."""

import asyncio
from collections.abc import Iterator
from concurrent.futures import TimeoutError as WaitedTooLong

from antecede.core.errors import CallerError, SetupError
from antecede.live.node import Node
from antecede.live.status import Status

try:
    from prometheus_client import CollectorRegistry, start_http_server
    from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
    from prometheus_client.registry import Collector
except ImportError:
    raise SetupError("metrics need prometheus-client; run: pip install 'antecede[live]'") from None

LONGEST_WAIT = 5.0
"""Seconds that a busy node has to tell its status."""

COUNTERS = {
    "sent": "Messages that this process has sent.",
    "delivered": "Messages that may be handed to the application.",
}
GAUGES = {
    "queued": "Deliveries that the application was not handed.",
    "handed": "Deliveries that the application was handed and has not acknowledged.",
    "backlog": "Own messages that the protocol keeps until others answer.",
    "records": "Commits in the journal since its last snapshot.",
}
PEER_COUNTERS = {
    "connections": "Connections with the peer so far.",
    "received": "Packets received from the peer.",
}
PEER_GAUGES = {
    "connected": "1 if there is a connection with the peer.",
    "waiting": "Packets to the peer that are not on their way.",
    "unacknowledged": "Packets to the peer that are on their way.",
    "untaken": "Packets of the peer that the application has not taken.",
    "unread": "Records of the peer that a broker keeps and that were not read here.",
    "excluded": "1 if the peer is excluded.",
}


class NodeCollector(Collector):
    """Asks the node in its own event loop: metrics are served by a thread."""

    def __init__(self, node: Node, loop: asyncio.AbstractEventLoop) -> None:
        self._node = node
        self._loop = loop

    def collect(self) -> Iterator[Metric]:
        """All figures."""
        asking = asyncio.run_coroutine_threadsafe(self._get_status(), self._loop)
        try:
            status = asking.result(LONGEST_WAIT)
        except WaitedTooLong:
            asking.cancel()
            raise
        yield from list_metrics(status)

    async def _get_status(self) -> Status:
        return self._node.status()


def list_metrics(status: Status) -> Iterator[Metric]:
    """The figures of a status."""
    for name, text in COUNTERS.items():
        yield CounterMetricFamily(f"antecede_{name}", text, value=getattr(status, name))
    for name, text in GAUGES.items():
        yield GaugeMetricFamily(f"antecede_{name}", text, value=getattr(status, name))
    yield GaugeMetricFamily("antecede_held", "Packets that wait for something.", value=len(status.held))
    gaps = len(status.root_gaps)
    yield GaugeMetricFamily("antecede_root_gaps", "What is waited for and is not here.", value=gaps)
    yield from _list_peer_metrics(status)
    refused = CounterMetricFamily("antecede_refused", "What was refused.", labels=["kind", "peer"])
    for (kind, peer), count in status.refused.items():
        refused.add_metric([kind, peer], count)
    yield refused


def _list_peer_metrics(status: Status) -> Iterator[Metric]:
    kinds = [(PEER_COUNTERS, CounterMetricFamily), (PEER_GAUGES, GaugeMetricFamily)]
    for texts, make in kinds:
        for name, text in texts.items():
            family = make(f"antecede_peer_{name}", text, labels=["peer"])
            for peer, facts in status.peers.items():
                family.add_metric([peer], getattr(facts, name))
            yield family
    silent = GaugeMetricFamily(
        "antecede_peer_silent_seconds", "Since something came from the peer.", labels=["peer"]
    )
    for peer, facts in status.peers.items():
        if facts.silent_for is not None:
            silent.add_metric([peer], facts.silent_for)
    yield silent


class MetricsServer:
    """Serves /metrics until it is closed."""

    def __init__(self, node: Node, host: str, port: int) -> None:
        registry = CollectorRegistry(auto_describe=False)
        try:
            self._server, self._thread = start_http_server(port, host, registry)
        except OSError as error:
            remedy = "choose another port in `metrics`"
            raise CallerError(
                f"metrics cannot be served at {host}:{port}: {error.strerror}; {remedy}"
            ) from None
        registry.register(NodeCollector(node, asyncio.get_running_loop()))
        self.port: int = self._server.server_port

    def close(self) -> None:
        """Serve no more."""
        self._server.shutdown()
        self._server.server_close()
