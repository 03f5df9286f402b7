"""Messages to oneself that go through the protocol like any other, instead of being delivered at once."""

from collections.abc import Callable, Iterable

from antecede import Effects, Endpoint
from antecede.core.seen import Seen


class SelfSends(Endpoint, kw_only=True):
    """To be put before a protocol's class."""

    def _init_state(self) -> None:
        super()._init_state()
        self.seen[self.process] = Seen()

    def _check_and_send_message(
        self, payload: bytes, to: Iterable[str] | None, send: Callable[[bytes, list[int]], None]
    ) -> Effects:
        send(payload, [self.id_by_process[name] for name in self._check_and_list_destinations(to)])
        return self._deliver_ready_and_take_outbox([])
