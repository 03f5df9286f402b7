"""The state counts of Mattern and Fünfrocken (1995), and why the explorer's differ where they do.

The counts of the table (BUFFER_STATES, MATRIX_STATES) come from models in which a state has no packet
numbers, a pool of the matrix protocol has no order, and a post is a step: `tests/papers/model_mattern.py`.
The explorer counts two things: states of the real endpoints, and configurations, which leave out the numbers
of packets and the order of pools.

- matrix: the configurations are the model's states, one for one. Endpoint states are more, since a gate
  remembers the order of arrivals.
- buffer: a real endpoint posts within `send` and on an acknowledgement, so its configurations are those
  states of the model in which no post is possible. With `PostLater`, the same endpoint with a post as a step
  of its own, they are the model's states, one for one. Endpoint states are more, since the number of a
  packet tells whether a message or an acknowledgement to the same process left first.

Each test compares steps too: from every state of the endpoints, in one step, exactly the successors that the
model has. So outcomes and blocked ends are the same on both sides. The last test shows that endpoints differ
within a configuration in nothing but what is said above.
"""

from collections.abc import Callable, Hashable
from typing import Any

import pytest

from antecede import Effects, Endpoint
from antecede.protocols import matrix
from antecede.protocols.buffered import Buffered
from antecede.simulate.explorer import Exploration, explore
from antecede.simulate.programs import parse_program
from tests.papers.model_mattern import Buffer, Matrix, graph
from tests.papers.programs_mattern import TABLE

BUFFER_STATES = [45, 43, 22, 43, 11488, 7216, 3750, 43]
MATRIX_STATES = [14, 20, 13, 20, 1639, 838, 718, 13]
POSTED_STATES = [32, 35, 17, 35, 6867, 3939, 2067, 32]
"""Those of BUFFER_STATES in which no post is possible."""

ENDPOINTS = {
    "buffered": [68, 35, 17, 35, 74904, 50403, 16002, 32],
    "later": [81, 43, 22, 43, 104308, 72241, 22851, 43],
    "matrix": [14, 24, 14, 24, 3112, 1419, 1242, 15],
}
"""States of the real endpoints, as found here first; "later" is PostLater."""

PROGRAMS = list(TABLE.values())
Graph = dict[Hashable, set[Hashable]]


class PostLater(Buffered, kw_only=True):
    """The buffer protocol with a post as a step of its own."""

    def _send_allowed_messages(self) -> None:
        return

    def step(self) -> Effects | None:
        """Post, if a post is possible."""
        before = self.posted
        super()._send_allowed_messages()
        return None if self.posted == before else self._deliver_ready_and_take_outbox([])


def configurations(model: Any, pass_on: Callable[[Any], Any] = lambda state: state) -> Graph:
    """The graph of a model as configurations; from each state one may pass on to another at once."""
    states = graph(model)
    view = {state: model.configuration(state) for state in states}
    assert len(set(view.values())) == len(states)
    kept = [state for state in states if pass_on(state) == state]
    return {view[state]: {view[pass_on(after)] for after in states[state]} for state in kept}


def check_same_steps(found: Exploration, model: Graph) -> None:
    """The configurations are the model's, and from each state exactly their successors are one step away."""
    numbers = {configuration: number for number, configuration in enumerate(model)}
    after = [{numbers[one] for one in successors} for successors in model.values()]
    view = {state: numbers[found.moves.make_visible_configuration(state)] for state in found.found}
    assert set(view.values()) == set(range(len(model)))
    for state, number in view.items():
        assert {view[successor] for _, successor in found.moves.iterate_next_states(state)} == after[number]


@pytest.mark.parametrize("row", range(8), ids=list(TABLE))
def test_matrix_has_the_configurations_of_the_model(row: int) -> None:
    found = explore(PROGRAMS[row], "matrix")
    model = configurations(Matrix(parse_program(PROGRAMS[row])))
    assert len(model) == found.configurations == MATRIX_STATES[row]
    assert found.states == ENDPOINTS["matrix"][row]
    check_same_steps(found, model)


@pytest.mark.parametrize("row", range(8), ids=list(TABLE))
def test_buffer_with_posts_of_their_own_has_the_configurations_of_the_model(row: int) -> None:
    found = explore(PROGRAMS[row], PostLater)
    model = configurations(Buffer(parse_program(PROGRAMS[row])))
    assert len(model) == found.configurations == BUFFER_STATES[row]
    assert found.states == ENDPOINTS["later"][row]
    check_same_steps(found, model)


@pytest.mark.parametrize("row", range(8), ids=list(TABLE))
def test_buffer_has_the_configurations_of_the_model_in_which_all_is_posted(row: int) -> None:
    """And its steps are the model's, each with the posts that it makes possible."""
    buffer = Buffer(parse_program(PROGRAMS[row]))
    found = explore(PROGRAMS[row], "buffered")
    model = configurations(buffer, buffer.settle)
    assert len(model) == found.configurations == POSTED_STATES[row]
    assert found.states == ENDPOINTS["buffered"][row]
    check_same_steps(found, model)


def substance(endpoint: Endpoint) -> Hashable:
    """The state of an endpoint without the numbers of packets and the order of arrivals."""
    if isinstance(endpoint, matrix.Matrix):
        gate = endpoint.gate
        pool = frozenset((item.what.source, item.what.payload) for item in gate.items.values())
        return endpoint.sent.tobytes(), frozenset(gate.have.items()), pool, endpoint.pending_take
    assert isinstance(endpoint, Buffered)
    box = tuple((letter.sender, letter.payload) for letter in endpoint.inbox)
    ob = tuple((posting.payload, tuple(posting.targets)) for posting in endpoint.outgoing.values())
    awaiting = frozenset(target for target, _ in endpoint.awaiting)
    assert not endpoint.copies and not endpoint.unreleased
    return box, ob, awaiting, endpoint.posted, endpoint.pending_take


@pytest.mark.parametrize("protocol", ["buffered", "matrix"])
@pytest.mark.parametrize("row", [0, 1, 2, 6, 7])
def test_states_of_one_configuration_differ_in_numbers_and_arrival_order_only(
    row: int, protocol: str
) -> None:
    found = explore(PROGRAMS[row], protocol)
    known: dict[int, Hashable] = {}
    substances: dict[Hashable, set[Hashable]] = {}
    for state in found.found:
        for at, number in enumerate(state.endpoints):
            if number not in known:
                known[number] = substance(found.moves.restore_endpoint(state, at))
        view = found.moves.make_visible_configuration(state)
        substances.setdefault(view, set()).add(tuple(known[number] for number in state.endpoints))
    assert [len(one) for one in substances.values()] == [1] * found.configurations
