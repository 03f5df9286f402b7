"""Packets without a column that tells when they arrived: in order by their stamps, or else it is told."""

import pytest

from antecede.local.message_order import order
from antecede.protocols.registry import get_protocol_class, list_protocols
from tests.message_rows import Row, Sent, lines

ALL_FACTS = {name: get_protocol_class(name).facts for name in sorted(list_protocols())}
CAUSAL = [name for name, facts in ALL_FACTS.items() if facts.exact and not facts.monitor]


def order_of_messages(rows: list[Row]) -> list[list[str]]:
    return [[name for name in names if name is not None] for names in lines(rows).values()]


@pytest.mark.parametrize("protocol", CAUSAL)
def test_causes_come_first_or_it_is_told_that_they_may_not(protocol: str) -> None:
    sent = Sent(protocol, workload="broadcast" if protocol == "vector" else "uniform", messages=80)
    outcome = order(sent.table.drop_columns(["arrival", "arrived"]))
    rows = outcome.ordered.to_pylist()
    assert len(rows) == len(sent.packets)
    late = [pair for line in order_of_messages(rows) for pair in sent.late(line)]
    assert bool(late) == bool(outcome.notes)
    assert all(f"packets of {protocol!r} may leave out a cause" in note for note in outcome.notes)


@pytest.mark.parametrize("protocol", ["bounded", "predecessors"])
def test_the_order_of_arrival_is_enough(protocol: str) -> None:
    sent = Sent(protocol)
    outcome = order(sent.table)
    assert outcome.notes == []
    late = [pair for line in order_of_messages(outcome.ordered.to_pylist()) for pair in sent.late(line)]
    assert late == []
