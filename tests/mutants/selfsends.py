"""Messages to oneself that go through the protocol like any other, instead of being delivered at once."""

from collections.abc import Callable, Iterable

from antecede import Effects, Endpoint
from antecede.core.seen import Seen


class SelfSends(Endpoint, kw_only=True):
    """To be put before a protocol's class."""

    def _start(self) -> None:
        super()._start()
        self.seen[self.process] = Seen()

    def _dispatch(
        self, payload: bytes, to: Iterable[str] | None, send: Callable[[bytes, list[int]], None]
    ) -> Effects:
        send(payload, [self.index[name] for name in self._destinations(to)])
        return self._effects([])
