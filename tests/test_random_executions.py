"""Random executions over reordering channels: safety, liveness, and delay-optimality where it is claimed."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.cases import DELAY_OPTIMAL, EXACT, SCRIPTS, Case, Script, with_kinds
from tests.harness import run_script


@pytest.mark.parametrize(("case", "kind"), with_kinds(EXACT))
@given(n=st.integers(2, 5), script=SCRIPTS)
def test_exact_protocols_are_safe_and_live(case: Case, kind: str, n: int, script: Script) -> None:
    world = case.world(n)
    run_script(world, script, kind)
    assert world.violations == []
    if (
        case.name != "sync-rendezvous"
    ):  # two rendezvous towards each other block for ever: see the papers' programs
        assert world.stuck() == []
    if case.name in DELAY_OPTIMAL:
        assert world.needless == []
