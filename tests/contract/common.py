"""What the tests of the contract share: every protocol, random scripts, and how to make one endpoint."""

from random import Random
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st

from tests.cases import EXACT, OTHER, Case, with_kinds
from tests.harness import World, maker, run_script

CASES = [*EXACT, *OTHER]
EVERY_KIND = pytest.mark.parametrize(("case", "kind"), with_kinds(CASES))
NAMES = ["p0", "p1", "p2", "p3"]
Script = list[tuple[int, int, int]]
SCRIPTS = st.integers(0, 2**32).map(lambda seed: make_script(Random(seed)))
"""Long runs, made from a seed: short ones, which Hypothesis likes best, seldom hold anything."""
FEWER = settings(max_examples=settings().max_examples // 3)


def make_script(random: Random) -> Script:
    return [
        (random.randrange(4), random.randrange(999), random.randrange(999))
        for _ in range(random.randrange(60))
    ]


def parametrize_cases(cases: list[Case]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("case", cases, ids=lambda case: case.name)


EVERY_CASE = parametrize_cases(CASES)


def make_endpoint(case: Case, process: str = "p0", **more: Any) -> Any:
    """An endpoint in a group of four; typed so that every protocol's own calls may be tried."""
    make = maker(case.protocol, **case.options_for(4), **more)
    return make(process, NAMES)


def play_random_run(case: Case, seed: int = 2) -> World:
    world = case.world(4)
    run_script(world, make_script(Random(seed)), case.kinds[-1])
    return world
