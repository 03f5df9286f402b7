"""All mutants, in the order of the table."""

from tests.mutants import (
    acknowledged,
    bounded,
    broadcasts,
    buffered,
    flood,
    gates,
    matrix,
    monitors,
    numbered,
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
        numbered,
        semantic,
        probabilistic,
        matrix,
        pairs,
        optimal,
        acknowledged,
        broadcasts,
        flood,
        gates,
        systems,
    )
    for row in module.ROWS
]
