"""How long a packet is under way: constant, exponential, truncated Gaussian, Pareto, two levels.

Two levels are the delays of Mostefaoui and Weiss (2017): a mean for each message, and around it a delay for
each receiver.

All times are in milliseconds. Draws come from a seeded generator in blocks, so a run depends on its seed
and on nothing else.
"""

from collections.abc import Callable
from itertools import chain, count

import numpy as np
from numpy.typing import NDArray

from antecede.core.errors import CallerError

Floats = NDArray[np.float64]
Draw = Callable[[np.random.Generator, int], Floats]

KINDS = {
    "constant": "constant:MS",
    "exponential": "exponential:MEAN",
    "gaussian": "gaussian:MEAN,SD (truncated at 0)",
    "pareto": "pareto:SHAPE,LEAST",
    "two-level": "two-level:MEAN,SD,SD (a mean per message, then a delay per receiver)",
}
_BLOCK = 4096


def make_value_stream(
    rng: np.random.Generator,
    draw: Draw,
) -> Callable[[], float]:
    """A function that gives one value after the other."""
    blocks = (draw(rng, _BLOCK).tolist() for _ in count())
    return chain.from_iterable(blocks).__next__


def parse_delay(text: str) -> tuple[str, list[float]]:
    """The kind and the numbers of a description such as "gaussian:100,20"."""
    kind, _, rest = text.partition(":")
    try:
        numbers = [float(number) for number in rest.split(",")]
    except ValueError:
        numbers = []
    form = KINDS.get(kind, "").split(" (")[0]
    wanted = form.count(",") + 1 if form else 0
    are_times = all(0 <= number < float("inf") for number in numbers)
    if not numbers or len(numbers) != wanted or not are_times:
        raise CallerError(f"delay {text!r}: write one of {'; '.join(KINDS.values())}")
    if kind == "pareto" and min(numbers) == 0:
        raise CallerError(f"delay {text!r}: shape and least delay of a Pareto distribution are above 0")
    return kind, numbers


def make_delay_draw(text: str) -> Draw:
    """How to draw delays of a description; of "two-level", the mean per message."""
    kind, numbers = parse_delay(text)
    first, second = [*numbers, 0.0][:2]
    draws: dict[str, Draw] = {
        "constant": lambda rng, size: np.full(size, first),
        "exponential": lambda rng, size: rng.exponential(first, size),
        "gaussian": lambda rng, size: draw_truncated_gaussian(rng, first, second, size),
        "pareto": lambda rng, size: second * (1 + rng.pareto(first, size)),
        "two-level": lambda rng, size: draw_truncated_gaussian(rng, first, second, size),
    }
    return draws[kind]


def draw_truncated_gaussian(
    rng: np.random.Generator,
    mean: float,
    sd: float,
    size: int,
) -> Floats:
    """A Gaussian without what is below 0: those are drawn again."""
    values = rng.normal(mean, sd, size)
    while (below := np.flatnonzero(values < 0)).size:
        values[below] = rng.normal(mean, sd, below.size)
    return values
