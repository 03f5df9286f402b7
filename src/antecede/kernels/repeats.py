"""Lists with one item twice: one walk, with the last list that each item was seen in."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from antecede.kernels.compiled import compiled
from antecede.kernels.ragged import Ints


@compiled
def find_lists_with_repeats(starts: Ints, items: Ints, size: int) -> NDArray[np.bool_]:
    """Which lists have one item twice; items are numbers below `size`, or negative and then left out."""
    lists = len(starts) - 1
    has_repeat = np.zeros(lists, dtype=np.bool_)
    last_list = np.full(size, -1, dtype=np.int64)
    for row in range(lists):
        for k in range(starts[row], starts[row + 1]):
            item = items[k]
            if item >= 0:
                has_repeat[row] |= last_list[item] == row
                last_list[item] = row
    return has_repeat
