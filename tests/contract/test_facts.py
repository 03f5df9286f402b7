"""What `antecede.list_protocols()` says is complete, and true of what the endpoints do."""

import doctest

import antecede
from antecede import CallerError
from antecede.protocols import registry
from tests.cases import Case
from tests.contract.common import (
    EVERY_CASE,
    make_endpoint,
)


def test_every_protocol_of_the_plan_is_there() -> None:
    names = (
        "unordered fifo sync matrix pairs optimal acknowledged predecessors vector flood history server "
        "bounded monitor buffered release eager semantic probabilistic plausible scalar"
    )
    assert list(antecede.list_protocols()) == names.split()


@EVERY_CASE
def test_facts_are_complete_and_true(case: Case) -> None:
    facts = case.facts
    assert facts.name == case.protocol and facts.title and facts.paper and facts.stamp
    assert facts.exact == (facts.order in ("causal", "causal at one process", "semantic"))
    assert facts.exact or not facts.delay_optimal
    assert facts.monitor == (facts.order == "causal at one process")
    assert set(case.options) <= set(facts.options) <= set(make_endpoint(case).__struct_fields__)
    assert accepts(case, ["p1"]) == facts.unicast
    assert accepts(case, ["p1", "p2"]) == facts.multicast
    assert accepts(case, None) == facts.broadcast


def accepts(case: Case, to: list[str] | None) -> bool:
    try:
        return bool(make_endpoint(case).send(b"x", to=to))
    except CallerError:
        return False


def test_the_examples_in_the_documentation_of_endpoint_run() -> None:
    results = doctest.testmod(registry)
    assert results.attempted > 0 and results.failed == 0
