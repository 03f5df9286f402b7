"""What a gate remembers of delivered messages, against a plain set."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from antecede.ordering.memory import Memory

SLOTS = 3
MESSAGES = st.tuples(st.integers(0, SLOTS - 1), st.integers(1, 12))


@given(st.lists(st.sets(MESSAGES), max_size=6))
def test_delivered_messages_are_told_from_others(batches: list[set[tuple[int, int]]]) -> None:
    memory, delivered = Memory.make_empty(SLOTS), set[tuple[int, int]]()
    everything = [(slot, number) for slot in range(SLOTS) for number in range(1, 14)]
    asked = np.array(everything, dtype=np.int64)
    for batch in batches:
        new = np.array(sorted(batch - delivered), dtype=np.int64).reshape(-1, 2)
        memory = memory.add_delivered_messages(new[:, 0], new[:, 1])
        delivered |= batch
        found = memory.find_delivered_messages(asked[:, 0], asked[:, 1])
        assert [one for one, is_out in zip(everything, found, strict=True) if is_out] == sorted(delivered)
    spans = list(zip(*memory.holes, strict=True))
    assert spans == sorted(spans) and all(first <= last for _, first, last in spans)
