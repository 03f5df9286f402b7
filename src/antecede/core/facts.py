"""What is known of a protocol before it is run: the record behind `antecede.list_protocols()`."""

from typing import Literal

import msgspec


class Facts(msgspec.Struct, frozen=True, kw_only=True):
    """`exact`: never delivers a message before one that caused it, in the order that `order` names.

    `delay_optimal`: delivers every message as soon as that order allows. `stamp` is the size formula of
    the control part for n processes.
    """

    name: str
    title: str
    paper: str
    order: Literal["none", "fifo", "causal", "causal at one process", "semantic", "probably causal"]
    unicast: bool = False
    multicast: bool = False
    broadcast: bool = False
    monitor: bool = False
    exact: bool
    delay_optimal: bool
    stamp: str
    counts: str = "messages of that process to this one"
    """What the numbers in `held()` and `root_gaps()` count."""
    relays: bool = False
    """Whether processes pass on the messages of others, so that a message may arrive more than once."""
    options: dict[str, str] = {}
