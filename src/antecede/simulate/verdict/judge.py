"""The judge: is told what happened in a run, block by block, and says what was wrong and what waited.

It knows happened-before and nothing of protocols: the verdicts are those of `Oracle`, or of `SemanticOracle`
where dependence is declared, in memory of what is in flight. Processes are numbered from 0, messages from 0
in the order of their sends.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from antecede.core.errors import CallerError
from antecede.kernels.bits import FREE, BitSets
from antecede.kernels.ragged import Ints
from antecede.simulate.verdict import layout
from antecede.simulate.verdict.kernels import judge_block_until_stopped
from antecede.simulate.verdict.layout import Block, BlockResult, Floats, JudgeState

SLOTS, HELD, EVENTS = 64, 64, 64
"""Room at first: slots, places for what is held, and own events of each process; it is doubled as needed."""


class Example(NamedTuple):
    """A message that a process delivered before some of its causes."""

    process: int
    message: int
    causes: list[int]


class JudgedBlock(NamedTuple):
    """Of a block: the order of each record (EARLY, LATE; 0 if it is no delivery), and times in ms.

    `latencies` are of all deliveries, `waits` and `needless` of those that waited after their arrival, and
    that did so for no cause; `backs` of copies that were transmitted after their send.
    """

    orders: NDArray[np.int8]
    latencies: Floats
    waits: Floats
    needless: Floats
    backs: Floats
    examples: list[Example]


class Judge:
    """Own events (sends and deliveries) are numbered from 1; with `memory`, dependence is declared, and the
    latest so many of each process can be named."""

    def __init__(
        self,
        promised: list[bool],
        memory: int = 0,
        examples: int = 5,
    ) -> None:
        n = len(promised)
        processes = np.zeros((n, 4), np.int64)
        processes[:, layout.PROMISED] = promised
        processes[:, layout.FIRST] = -1
        counts = np.zeros(12, np.int64)
        counts[FREE] = SLOTS
        counts[layout.MEMORY] = memory
        counts[layout.EXAMPLES] = examples
        self.state = JudgeState(
            counts=counts,
            processes=processes,
            newest=np.full((n, n), -1),
            past=_make_bit_sets(n, 1),
            due=_make_bit_sets(n, 1),
            events=_make_bit_sets(n, min(EVENTS, memory), 1),
            listed=np.zeros((SLOTS, 2), np.int64),
            free=np.arange(SLOTS),
            dead=np.zeros(SLOTS, np.int64),
            flights=np.zeros((SLOTS, 3), np.int64),
            sent=np.zeros(SLOTS),
            causes=_make_bit_sets(SLOTS, 1),
            places=_make_free_list(0, HELD),
            moments=np.zeros((HELD, 2)),
        )

    def judge(self, block: Block) -> JudgedBlock:
        """Judge what happened since the last block."""
        size = len(block.times)
        examples: list[Example] = []
        result = BlockResult(
            orders=np.zeros(size, np.int8),
            times=np.empty((4, size)),
            sizes=np.zeros(4, np.int64),
        )
        self.state.counts[[layout.SENDS, layout.TARGETS]] = 0
        at, why = judge_block_until_stopped(self.state, block, 0, result)
        while why != layout.DONE:
            if why == layout.EXAMPLE:
                examples.append(self._make_early_delivery_example(block, at - 1))
            else:
                self._grow_state_or_refuse(why, block, at)
            at, why = judge_block_until_stopped(self.state, block, at, result)
        rows = zip(result.times, result.sizes, strict=True)
        latencies, waits, needless, backs = (row[:number] for row, number in rows)
        return JudgedBlock(result.orders, latencies, waits, needless, backs, examples)

    @property
    def early(self) -> int:
        """Deliveries before some cause, where order is promised."""
        return int(self.state.counts[layout.EARLIES])

    @property
    def late(self) -> int:
        """Deliveries after some effect, where order is promised."""
        return int(self.state.counts[layout.LATES])

    @property
    def out_of_turn(self) -> int:
        """Deliveries after a newer message of the same sender, where order is promised."""
        return int(self.state.counts[layout.TURNS])

    @property
    def peak_held(self) -> int:
        """The most messages that were held at once at one process."""
        return int(self.state.counts[layout.PEAK])

    @property
    def held(self) -> int:
        """Messages that are held now, at all processes."""
        return int(self.state.processes[:, layout.HELD].sum())

    def _make_early_delivery_example(self, block: Block, record_number: int) -> Example:
        """Of the early delivery that was just judged: the causes that are still due there."""
        state = self.state
        process = int(block.what[record_number]) % len(state.past)
        message = int(block.messages[record_number])
        listed = state.listed[: state.counts[layout.LISTED]]
        slot = listed[np.searchsorted(listed[:, 0], message), 1]
        missing = state.causes[slot] & state.due[process]
        bits = np.unpackbits(missing.view(np.uint8), bitorder="little")
        causes = state.flights[np.flatnonzero(bits), layout.MESSAGE]
        return Example(process, message, sorted(causes.tolist()))

    def _grow_state_or_refuse(self, shortage: int, block: Block, record_number: int) -> None:
        if shortage == layout.NO_SLOT:
            self._double_message_slots()
        elif shortage == layout.NO_PLACE:
            self._double_held_places()
        elif shortage == layout.NO_EVENT:
            self._double_kept_events()
        else:
            raise CallerError(
                f"message {block.messages[record_number]} depends on an event of process "
                f"{block.what[record_number] % len(self.state.past)} that is too long ago: only the latest "
                f"{self.state.counts[layout.MEMORY]} of a process can be named"
            )

    def _double_message_slots(self) -> None:
        state, slots = self.state, len(self.state.free)
        wider = {name: _pad_to_double(getattr(state, name), -1) for name in ("past", "due", "events")}
        longer = {
            name: _pad_to_double(getattr(state, name), 0)
            for name in ("listed", "free", "dead", "flights", "sent")
        }
        causes = _pad_to_double(_pad_to_double(state.causes, 0), -1)
        self.state = state._replace(**wider, **longer, causes=causes)
        self.state.free[:slots] = np.arange(slots, 2 * slots)
        state.counts[FREE] = slots

    def _double_held_places(self) -> None:
        state, number = self.state, len(self.state.places)
        places = np.concatenate((state.places, _make_free_list(number, number)))
        self.state = state._replace(places=places, moments=_pad_to_double(state.moments, 0))
        state.counts[layout.SPARE] = number

    def _double_kept_events(self) -> None:
        old, kept = self.state.events, self.state.events.shape[1]
        now_kept = min(2 * kept, int(self.state.counts[layout.MEMORY]))
        events = _make_bit_sets(len(old), now_kept, old.shape[2])
        numbers = np.arange(1, kept + 1)
        events[:, numbers % now_kept] = old[:, numbers % kept]
        self.state = self.state._replace(events=events)


def _make_bit_sets(*shape: int) -> BitSets:
    return np.zeros(shape, np.uint64)


def _make_free_list(first: int, number: int) -> Ints:
    """Places that follow each other; nothing follows the last."""
    places = np.zeros((number, 3), np.int64)
    places[:, layout.AFTER] = [*range(first + 1, first + number), -1]
    return places


def _pad_to_double(
    array: np.ndarray[Any, Any],
    axis: int,
) -> np.ndarray[Any, Any]:
    """The array, with as many zeros behind it."""
    return np.concatenate((array, np.zeros_like(array)), axis)
