"""Messages against the times of their sends: which were taken behind others that were sent later."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from antecede.kernels.compiled import compiled
from antecede.kernels.ragged import Ints

Floats = NDArray[np.float64]


@compiled
def find_earlier_delivery_sent_later_by_another(process: Ints, sender: Ints, send_time_ms: Floats) -> Ints:
    """For each delivery the one before it that was sent last, by another sender, if that was later; else -1.

    Deliveries of a process stand together, in their order. In a process the latest send so far is known, and
    the latest of anybody but its sender: one of these two is by another sender than whoever comes next.
    """
    later = np.full(len(send_time_ms), -1, dtype=np.int64)
    latest, other = -1, -1
    for at in range(len(send_time_ms)):
        if at > 0 and process[at] != process[at - 1]:
            latest, other = -1, -1
        rival = latest
        if latest >= 0 and sender[latest] == sender[at]:
            rival = other
        if rival >= 0 and send_time_ms[rival] > send_time_ms[at]:
            later[at] = rival
        if latest < 0 or send_time_ms[at] > send_time_ms[latest]:
            if latest >= 0 and sender[latest] != sender[at]:
                other = latest
            latest = at
        elif sender[latest] != sender[at] and (other < 0 or send_time_ms[at] > send_time_ms[other]):
            other = at
    return later
