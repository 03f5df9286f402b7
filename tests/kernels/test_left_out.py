"""Edges around events that are left out: the others have the causes among themselves that they had before."""

from random import Random

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from antecede.kernels.histories import Edges
from antecede.kernels.left_out import lead_edges_around_events_left_out


def find_causes(size: int, edges: list[tuple[int, int]], order: list[int]) -> list[set[int]]:
    """All that leads to each event, by definition."""
    causes: list[set[int]] = [set() for _ in range(size)]
    for event in order:
        for source, target in edges:
            if target == event:
                causes[event] |= {source} | causes[source]
    return causes


@given(st.integers(0, 2**32), st.integers(1, 40), st.integers(1, 6), st.floats(0, 1))
def test_what_stays_has_the_same_causes_among_itself(seed: int, size: int, tracks: int, share: float) -> None:
    random = Random(seed)
    order = random.sample(range(size), size)
    stays = [random.random() < share for _ in range(size)]
    track = [random.randrange(tracks) for _ in range(size)]
    places = [sorted(random.choices(range(size), k=2)) for _ in range(2 * size)]
    edges = {(order[low], order[high]) for low, high in places if low < high}
    last: dict[int, int] = {}
    for event in order:
        if stays[event]:
            if track[event] in last:
                edges.add((last[track[event]], event))
            last[track[event]] = event
    against = (order[-1], order[0])
    source, target = np.array([*edges, against], dtype=np.int64).T
    found = lead_edges_around_events_left_out(
        np.array(order), np.array(stays), np.array(track), Edges(source, target)
    )
    around = list(zip(found.source.tolist(), found.target.tolist(), strict=True))
    assert all(stays[event] for edge in around for event in edge)
    assert len(set(around)) == len(around)
    before, after = find_causes(size, list(edges), order), find_causes(size, around, order)
    for event in range(size):
        if stays[event]:
            assert after[event] == {cause for cause in before[event] if stays[cause]}
