"""The arrays that the judge keeps, gets and gives, and the numbers by which their places are called."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from antecede.kernels.bits import BitSets
from antecede.kernels.ragged import Ints

Floats = NDArray[np.float64]

SEND, DELIVER, HOLD, TRANSMIT = 0, 1, 2, 3
"""What a record is about: times the number of processes, plus the process, it is the record's `what`."""
EARLY, LATE = 1, 2
"""Bits of the order of a delivery; 0 is in order."""
LATENCY, WAIT, NEEDLESS, BACK = range(4)
"""Rows of the times that come out."""
DONE, NO_SLOT, NO_PLACE, NO_EVENT, FORGOTTEN, EXAMPLE = range(6)
"""Why a kernel stopped."""
LISTED, SPARE, SENDS, TARGETS, MEMORY, EXAMPLES, PEAK, EARLIES, LATES, TURNS = range(2, 12)
"""Places in `counts`, behind the heights of the bit engine's two stacks, FREE and DEAD: listed messages, the
first place for one more held; sends and targets read of this block; most events to be kept, examples still
wanted; most held at once and what went wrong."""
PROMISED, HAPPENED, HELD, FIRST = range(4)
"""Columns of `processes`: whether order is promised, own events, how many are held, one's place or -1."""
MESSAGE, SENDER, LEFT = range(3)
"""Columns of `flights`: the message of a slot, its sender, how many destinations have not delivered it."""
AFTER, WHAT, CAUSE = range(3)
"""Columns of `places`: the next place or -1; the slot of what is held, and of a missing cause of it or -1."""
ARRIVED, READY = range(2)
"""Columns of `moments`: when what is held arrived, and since when it waits for no cause."""


class JudgeState(NamedTuple):
    """What is known between two blocks. i: process, s: slot, w: word, h: a place for one that is held."""

    counts: Ints
    processes: Ints  # [i, column]
    newest: Ints  # [i, sender] the newest message delivered
    past: BitSets  # [i, w] messages whose send happened before the present state of the process
    due: BitSets  # [i, w] messages that are addressed to the process and not delivered there
    events: BitSets  # [i, event modulo how many are kept, w] what own events depend on, if that is declared
    listed: Ints  # [k, 2] the messages that have slots, ascending, and their slots
    free: Ints  # [k] the slots that nobody has
    dead: Ints  # [k] the slots of messages that are delivered everywhere, until they are swept
    flights: Ints  # [s, column]
    sent: Floats  # [s] when
    causes: BitSets  # [s, w] what a message carries, without itself
    places: Ints  # [h, column]
    moments: Floats  # [h, column]


class Block(NamedTuple):
    """Records, and of each send the number of targets and the event it depends on, -1 for everything before;
    the targets of all sends follow each other."""

    times: Floats
    what: Ints
    messages: Ints
    sends: Ints  # [k, 2]
    targets: Ints


class BlockResult(NamedTuple):
    """What comes out, each with room for all records, and how many there are of each time."""

    orders: NDArray[np.int8]  # of each record
    times: Floats  # [row, k]
    sizes: Ints  # [row]
