"""A million inputs at the listening side of a node; the campaign has ten times as many."""

import pytest

from tests.live.fuzz import run_fuzz

INPUTS = 250_000


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_any_bytes_are_refused_or_right_and_disturb_nobody(seed: int) -> None:
    counts = run_fuzz(seed, INPUTS)
    assert counts["greeting"] + counts["proof"] + counts["open"] >= INPUTS
    assert counts["taken in"] > 1000  # so much was right that what is behind the door was reached, too
    for kind in ("(handshake) stranger", "(size) stranger", "(frame) p1", "(size) p1", "(packet) p1"):
        assert counts[f"refused {kind}"] > 100
