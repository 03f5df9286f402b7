"""Broadcasts with shared entries at the scale of Mostefaoui and Weiss 2017: 10^8 deliveries in seconds.

A `BroadcastPlan` says everything that determines a run. The compiled kernel (`kernels/shared_entries.py`) has
the rule of `protocols/probabilistic.py`, and judges each delivery exactly. The event simulator (`run.py`)
does the same with real endpoints, a few hundred times slower; the tests compare both on the same draws.

Draws come from one seeded generator in blocks of 64 messages, so a run depends on its plan alone.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, NamedTuple

import msgspec
import numpy as np

from antecede.core.errors import CallerError
from antecede.kernels import shared_entries as kernel
from antecede.kernels.ragged import Ints
from antecede.kernels.shared_entries import BLOCK, SharedBlock, SharedState
from antecede.protocols.detectors import DETECTORS
from antecede.simulate.delays import draw_truncated_gaussian
from antecede.simulate.workloads import SECOND

WORDS = 4
"""Words of bits at first: 256 messages in flight; doubled as needed."""
Progress = Callable[[int], None]
Positive = Annotated[float, msgspec.Meta(gt=0)]
NotNegative = Annotated[float, msgspec.Meta(ge=0)]


class BroadcastPlan(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Times are in milliseconds. Each process broadcasts as a Poisson process, every `gap` on average.

    A message draws its mean delay from a Gaussian (`delay`, `delay_sd`), and around that mean each receiver
    draws its own (`receiver_sd`); what is below 0 is drawn again. `churn`: processes that leave each second,
    each followed by a newcomer with other keys, which starts from the state of some other process.
    """

    processes: Annotated[int, msgspec.Meta(ge=2)] = 1000
    R: Annotated[int, msgspec.Meta(ge=1)] = 100
    K: Annotated[int, msgspec.Meta(ge=1)] = 4
    gap: Positive = 5000.0
    messages: Annotated[int, msgspec.Meta(ge=1)] = 10_000
    delay: Positive = 100.0
    delay_sd: NotNegative = 20.0
    receiver_sd: NotNegative = 20.0
    churn: NotNegative = 0.0
    detect: bool = False
    seed: Annotated[int, msgspec.Meta(ge=0)] = 0


class BroadcastRun(msgspec.Struct, frozen=True, kw_only=True):
    """What was counted.

    `pairs`: a delivery and a cause that it overtook. `held`: deliveries that waited after their arrival, and
    `wait`: for how many milliseconds, in the mean over all deliveries. `window`: messages for which there was
    room at once. `alarms` by detector, and `caught`: those of them that were about late messages.
    """

    deliveries: int
    early: int
    late: int
    pairs: int
    held: int
    most_held: int
    wait: float
    window: int
    replaced: int
    alarms: dict[str, int]
    caught: dict[str, int]


class Replacement(NamedTuple):
    """A process leaves, and a newcomer with these keys takes its place, with the state of its sponsor."""

    process: int
    sponsor: int
    keys: kernel.Entries


class Draws:
    """All that is left to chance, block by block."""

    def __init__(self, plan: BroadcastPlan) -> None:
        self.plan = plan
        self.rng = np.random.default_rng(plan.seed)
        self.now = 0.0
        self.sent = 0

    def draw_key_sets(self, processes: int) -> kernel.Entries:
        """K different entries for each process, every set with the same chance."""
        plan = self.plan
        chances = self.rng.random((processes, plan.R))
        chosen = np.argpartition(chances, plan.K - 1, axis=1)[:, : plan.K]
        return np.sort(chosen, axis=1).astype(np.int32)

    def draw_message_block(self, messages: int) -> SharedBlock:
        """The next messages."""
        plan, rng = self.plan, self.rng
        gaps = rng.exponential(plan.gap / plan.processes, messages)
        times = self.now + np.cumsum(gaps)
        senders = rng.integers(0, plan.processes, messages)
        means = draw_truncated_gaussian(rng, plan.delay, plan.delay_sd, messages)
        delays = self._draw_delays(means.astype(np.float32))
        block = SharedBlock(self.sent, senders, times, delays)
        self.now = float(times[-1])
        self.sent += messages
        return block

    def draw_replacements(self, since_ms: float) -> list[Replacement]:
        """Who left since that time, and who came."""
        plan, rng = self.plan, self.rng
        number = rng.poisson(plan.churn * (self.now - since_ms) / SECOND) if plan.churn else 0
        replacements = []
        for _ in range(number):
            process, sponsor = rng.choice(plan.processes, 2, replace=False)
            replacements.append(Replacement(int(process), int(sponsor), self.draw_key_sets(1)[0]))
        return replacements

    def _draw_delays(self, means: kernel.Delays) -> kernel.Delays:
        rng, sd = self.rng, np.float32(self.plan.receiver_sd)
        messages = len(means)
        delays = rng.standard_normal((self.plan.processes, messages), dtype=np.float32)
        delays *= sd
        delays += means

        def redraw_delays(places: Ints) -> kernel.Delays:
            fresh = rng.standard_normal(places.size, dtype=np.float32)
            return fresh * sd + means[places % messages]

        _redraw_negative_values(delays.reshape(-1), redraw_delays)
        return delays


def _redraw_negative_values(values: Any, draw: Callable[[Ints], Any]) -> None:
    """Cut a distribution off at 0: what is below is drawn again, for the places that `draw` is given."""
    while (below := np.flatnonzero(values < 0)).size:
        values[below] = draw(below)


def run_broadcasts(plan: BroadcastPlan, progress: Progress | None = None) -> BroadcastRun:
    """Run a plan; `progress` is told how many messages have been sent."""
    no_log = np.zeros((0, 3), np.int64)
    return run_and_log_broadcasts(plan, no_log, progress)


def run_and_log_broadcasts(plan: BroadcastPlan, log: Ints, progress: Progress | None = None) -> BroadcastRun:
    """Run a plan and fill a log, whose rows get process, message and verdict of each delivery."""
    check_broadcast_plan(plan)
    draws = Draws(plan)
    state = kernel.make_shared_state(draws.draw_key_sets(plan.processes), plan.R, WORDS)
    word = replaced = 0
    while draws.sent < plan.messages:
        since = draws.now
        block = draws.draw_message_block(min(BLOCK, plan.messages - draws.sent))
        state, word = find_or_add_reusable_word(state, word)
        kernel.simulate_block(state, block, word, plan.detect, log)
        for replacement in draws.draw_replacements(since):
            replace_process(state, replacement)
            replaced += 1
        if progress:
            progress(draws.sent)
    kernel.finish_deliveries(state, _make_empty_block(plan.processes), plan.detect, log)
    return _summarize_run(state, replaced)


def check_broadcast_plan(plan: BroadcastPlan) -> None:
    """Refuse numbers that mean nothing."""
    try:
        msgspec.convert(msgspec.to_builtins(plan), BroadcastPlan)
    except msgspec.ValidationError as error:
        raise CallerError(f"plan of broadcasts: {error}") from None
    if plan.K > plan.R:
        raise CallerError(f"K={plan.K} keys cannot be chosen among R={plan.R} entries; use K <= R")


def find_or_add_reusable_word(state: SharedState, word: int) -> tuple[SharedState, int]:
    """The next word whose messages are delivered everywhere; if there is none, the ring is doubled."""
    words = state.delivered.shape[1]
    for step in range(1, words + 1):
        candidate = (word + step) % words
        if kernel.is_delivered_everywhere(state, candidate):
            return state, candidate
    return double_message_capacity(state), words


def double_message_capacity(state: SharedState) -> SharedState:
    """The same state with room for twice as many messages in flight."""
    words = state.delivered.shape[1]
    wider = kernel.make_shared_state(state.keys, state.have.shape[1], 2 * words)
    for name, narrow in state._asdict().items():
        room = getattr(wider, name)
        corner = tuple(slice(0, size) for size in narrow.shape)
        room[corner] = narrow
    return wider


def replace_process(state: SharedState, replacement: Replacement) -> None:
    """A process leaves; a newcomer has all that its sponsor has delivered, and gets all that is to come.

    What the one who left has sent is still under way to the others, and counts on the keys that it had.
    """
    process, sponsor, keys = replacement
    for name in STATE_OF_A_PROCESS:
        rows = getattr(state, name)
        rows[process] = rows[sponsor]
    state.keys[process] = keys
    state.senders[state.senders == process] = kernel.GONE


STATE_OF_A_PROCESS = (
    "have", "delivered", "history", "line", "arrivals", "line_ends",
    "held", "held_since", "waits_for", "held_ends",
)  # fmt: skip


def _make_empty_block(processes: int) -> SharedBlock:
    """A block without messages, of the same types as any other."""
    delays = np.zeros((processes, 0), np.float32)
    return SharedBlock(0, np.zeros(0, np.int64), np.zeros(0), delays)


def _summarize_run(state: SharedState, replaced: int) -> BroadcastRun:
    counts = state.counts.tolist()
    first = kernel.FIRST_DETECTOR
    second = first + kernel.DETECTORS
    deliveries = counts[kernel.DELIVERIES]
    return BroadcastRun(
        deliveries=deliveries,
        early=counts[kernel.EARLY],
        late=counts[kernel.LATE],
        pairs=counts[kernel.PAIRS],
        held=counts[kernel.HELD],
        most_held=counts[kernel.MOST_HELD],
        wait=float(state.waited[0]) / max(deliveries, 1),
        window=len(state.numbers),
        replaced=replaced,
        alarms=dict(zip(DETECTORS, counts[first:second], strict=True)),
        caught=dict(zip(DETECTORS, counts[second:], strict=True)),
    )
