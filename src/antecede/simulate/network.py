"""The description of a network: how long a frame takes, and what goes wrong.

Delays are the same for all links, or by region of sender and receiver, or for one link. Frames may be lost,
repeated, and cut off by partitions that heal. Without `fifo` they overtake each other as their delays fall.
"""

from typing import Annotated

import msgspec

from antecede.core.errors import CallerError
from antecede.simulate.delays import parse_delay

Chance = Annotated[float, msgspec.Meta(ge=0, lt=1)]
Number = Annotated[int, msgspec.Meta(ge=0)]
Time = Annotated[float, msgspec.Meta(gt=0, le=1e12)]
Moment = Annotated[float, msgspec.Meta(ge=0, le=1e12)]


class Network(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A description; times in milliseconds. Partitions and crashes fall at random times of the run."""

    delay: str = "exponential:20"
    matrix: dict[str, dict[str, str]] = {}
    """Delay by region of the sender and region of the receiver."""
    regions: dict[str, str] = {}
    """Region of a process; those that are not named go round the regions of the matrix."""
    links: dict[str, str] = {}
    """Delay of a single link, as in {"p0->p1": "constant:5"}."""
    fifo: bool = False
    loss: Chance = 0
    duplicate: Chance = 0
    partitions: Number = 0
    partition_time: Time = 200
    crashes: Number = 0
    down_time: Time = 100
    outages: dict[str, tuple[Moment, Time]] = {}
    """Crashes at known times: a process by name, when it goes down, and for how long."""

    @property
    def faulty(self) -> bool:
        """Whether endpoints need a reliable link under them."""
        chances = self.loss or self.duplicate
        return bool(chances or self.partitions or self.crashes or self.outages)

    @property
    def delay_texts(self) -> list[str]:
        """Every delay that is described."""
        rows = [self.links, *self.matrix.values()]
        return [self.delay, *(text for row in rows for text in row.values())]

    def check(self, names: list[str]) -> None:
        """Refuse what cannot be a network of these processes."""
        kinds = {parse_delay(text)[0] for text in self.delay_texts}
        if "two-level" in kinds and (self.matrix or self.links):
            raise CallerError("network: a two-level delay is for all links or for none")
        if self.regions and not self.matrix:
            raise CallerError("network: regions need a matrix of delays between them")
        known = set(names)
        ends = [end for link in self.links for end in _split_link_ends(link)]
        unknown = [name for name in (*ends, *self.regions, *self.outages) if name not in known]
        if unknown:
            raise CallerError(
                f"network: no process or link is called {min(unknown)!r}; write names such as {names[0]!r}, "
                f"and links as '{names[0]}->{names[-1]}'"
            )


def _split_link_ends(link: str) -> list[str]:
    """Both ends of a link; or what is no link, as it is."""
    return link.split("->") if link.count("->") == 1 else [link]


PRESETS = {
    "lan": Network(delay="exponential:1"),
    "regions": Network(
        matrix={
            "eu": {"eu": "exponential:2", "us": "gaussian:45,5", "asia": "gaussian:90,15"},
            "us": {"eu": "gaussian:45,5", "us": "exponential:2", "asia": "gaussian:70,10"},
            "asia": {"eu": "gaussian:90,15", "us": "gaussian:70,10", "asia": "exponential:2"},
        }
    ),
    "heavy-tail": Network(delay="pareto:1.5,10"),
    "mostefaoui17": Network(delay="two-level:100,20,20"),
}
"""Networks by name; the last is that of the experiments of Mostefaoui and Weiss (2017)."""
RENAMED_PRESETS = {"004": "mostefaoui17"}
"""Names that presets used to have."""
