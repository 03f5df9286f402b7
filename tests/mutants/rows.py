"""All mutants, in the order of the table."""

from tests.mutants import (
    bounded,
    broadcasts,
    buffered,
    gates,
    matrix,
    monitors,
    optimal,
    pairs,
    probabilistic,
    semantic,
    systems,
)
from tests.mutants.table import Mutant

MUTANTS: list[Mutant] = [
    row
    for module in (
        bounded,
        monitors,
        buffered,
        semantic,
        probabilistic,
        matrix,
        pairs,
        optimal,
        broadcasts,
        gates,
        systems,
    )
    for row in module.ROWS
]
