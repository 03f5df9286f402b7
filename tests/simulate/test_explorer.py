"""The explorer: the table of Mattern and Fünfrocken (1995), who waits for what, schedules, and bad input."""

import doctest
import os
import subprocess
import sys
from itertools import product
from typing import Any

import pytest

import antecede
from antecede import CallerError, Effects, Endpoint, InputError, Packet
from antecede.protocols.unordered import Unordered
from antecede.simulate import explorer, programs
from antecede.simulate.explorer import End, Exploration, explore, format_by_process
from antecede.simulate.moves import Step
from antecede.simulate.programs import Program, Receive, Send, parse_program
from antecede.simulate.story import Story
from tests.papers.programs_mattern import (
    FIG_1,
    FIG_4_2_1,
    FIG_4_ANY,
    FIG_7_ANY,
    FIG_7_SELECTIVE,
    TABLE,
    TWO_SENDERS,
)

XZ, B_A, XY = "- | y | x z", "b | a", "- | x y | -"
ALL_8 = [" | ".join(one) for one in product(("a b", "b a"), ("e f", "f e"), ("c d", "d c"))]
FIG_7, FIG_8 = "a b | e f | c d", "b a | f e | d c"

OUTCOMES = {
    "sync": [[], [XZ], [], [XZ], [], [], [], [XY]],
    "buffered": [[B_A], [XZ], [], [XZ], ALL_8[:-1], [FIG_7], [], [XY]],
    "release": [[B_A], [XZ], [], [XZ], ALL_8[:-1], [FIG_7], [], [XY]],
    "matrix": [[B_A], [XZ], [], [XZ], ALL_8, [FIG_7], [FIG_8], [XY]],
}
BLOCKED = {
    "sync": [1, 0, 1, 0, 1, 1, 1, 0],
    "buffered": [0, 0, 1, 0, 0, 6, 7, 1],
    "release": [0, 0, 1, 0, 0, 6, 7, 1],
    "matrix": [0, 0, 1, 0, 0, 0, 0, 0],
}
ROWS = [(protocol, row) for protocol in OUTCOMES for row in range(8)]
SYNC_STATES = [9, 17, 3, 17, 27, 27, 27, 20]
"""As found here first; those of the other protocols are in `test_explorer_states.py`."""


def program(row: int) -> str:
    return list(TABLE.values())[row]


# -- the table of Mattern and Fünfrocken (1995) ----------------------------------------------------


@pytest.mark.parametrize(("protocol", "row"), ROWS)
def test_table_of_002(protocol: str, row: int) -> None:
    found = explore(program(row), protocol)
    outcomes, blocked = OUTCOMES[protocol][row], BLOCKED[protocol][row]
    assert [str(end) for end in found.outcomes] == outcomes
    assert len(found.blocked) == blocked
    assert found.verdict == verdict(bool(outcomes), bool(blocked))


@pytest.mark.parametrize("row", [0, 1, 2, 3, 7])
def test_eager_ends_as_buffered_does_where_its_states_can_be_counted(row: int) -> None:
    eager, buffered = (explore(program(row), protocol) for protocol in ("eager", "buffered"))
    assert (eager.outcomes, eager.blocked) == (buffered.outcomes, buffered.blocked)


def test_eager_has_the_outcome_of_figure_8_that_buffers_never_have() -> None:
    """All six messages leave at once, so that each process may get the later one first."""
    names = ["P1", "P2", "P3"]
    ends = {name: antecede.endpoint("eager", process=name, group=names) for name in names}
    sends = {"P1": ["e->P2", "d->P3"], "P2": ["c->P3", "b->P1"], "P3": ["a->P1", "f->P2"]}
    packets = {}
    for name, texts in sends.items():
        for text in texts:
            message, target = text.split("->")
            (packet,) = ends[name].send(message.encode(), to=[target]).packets
            packets[message] = packet
    received: dict[str, list[str]] = {name: [] for name in names}
    for message in "bafedc":
        packet = packets[message]
        deliveries = ends[packet.target].receive(packet).deliveries
        received[packet.target] += [delivery.payload.decode() for delivery in deliveries]
    assert " | ".join(" ".join(words) for words in received.values()) == FIG_8 == ALL_8[-1]


@pytest.mark.parametrize("row", range(8))
def test_synchronous_states(row: int) -> None:
    found = explore(program(row), "sync")
    assert found.states == found.configurations == SYNC_STATES[row]


def verdict(completes: bool, blocks: bool) -> str:
    if completes and blocks:
        return "sometimes blocks"
    return "always completes" if completes else "always blocks"


def test_blocked_ends_say_who_waits_for_what_and_what_has_arrived() -> None:
    found = explore(FIG_4_2_1, "buffered")
    assert found.blocked == [
        End(False, ((), ("y",), ()), ((), (), ("x", "z")), ("", "", "a message from P2")),
    ]
    (end,) = explore(TWO_SENDERS, "buffered").blocked
    assert format_by_process(end.arrived) == "- | y x | -"
    assert end.waits == ("", "a message from P1", "")
    (end,) = explore(FIG_1, "sync").blocked
    assert end.waits == ("the end of its send of a", "the end of its send of b")
    (end,) = explore("P1: r. P2:", "matrix").blocked
    assert end.waits == ("a message", "")


def test_unordered_breaks_causal_order_and_the_story_says_where() -> None:
    found = explore(FIG_4_ANY, "unordered")
    assert [str(end) for end in found.outcomes] == [XZ, "- | y | z x"]
    kept, broken = (Story(found, end) for end in found.outcomes)
    assert kept.early == [] and broken.early == ["z"]
    assert [line.note for line in broken.lines[-2:]] == [
        "early: x came first",
        "late: an effect of it was faster",
    ]


# -- schedules -------------------------------------------------------------------------------------


def play(found: Exploration, protocol: str, end: End) -> tuple[str, str, bool]:
    """Play a witness through fresh endpoints: what was received, what is left there, is nothing under way."""
    names = list(found.program.processes)
    made = {name: antecede.endpoint(protocol, process=name, group=names, manual=True) for name in names}
    received: dict[str, list[str]] = {name: [] for name in names}
    network: list[Packet] = []
    for step in found.find_witness(end):
        effects = once(made[step.process], step, network)
        network += effects.packets
        received[step.process] += [delivery.payload.decode() for delivery in effects.deliveries]
    left = {name: receive_all(made[name]) for name in names}
    return columns_of(received), columns_of(left), not network


def once(endpoint: Endpoint, step: Step, network: list[Packet]) -> Effects:
    if step.what == "send":
        return endpoint.send(step.message.encode(), to=list(step.others))
    if step.what == "receive":
        return endpoint.take(*step.others)
    packet = next(one for one in network if one.encode() == step.packet)
    network.remove(packet)
    return endpoint.receive(packet)


def receive_all(endpoint: Endpoint) -> list[str]:
    """What the application could still receive if it asked for anything."""
    texts = []
    while not endpoint.blocked and (effects := endpoint.take()).deliveries:
        texts += [delivery.payload.decode() for delivery in effects.deliveries]
    return texts


def columns_of(texts: dict[str, list[str]]) -> str:
    return format_by_process(tuple(map(tuple, texts.values())))


WITNESSED = [("buffered", row) for row in range(8)] + [("matrix", 4), ("matrix", 6), ("unordered", 4)]


@pytest.mark.parametrize(("protocol", "row"), WITNESSED)
def test_a_witness_played_again_ends_as_asked_for(protocol: str, row: int) -> None:
    found = explore(program(row), protocol)
    for end in found.outcomes + found.blocked:
        assert play(found, protocol, end) == (str(end), format_by_process(end.arrived), True)
    assert found.outcomes or found.blocked


class Napping(Unordered, kw_only=True):
    """May take a nap or two while there is something in the box."""

    naps: int = 0

    def step(self) -> Effects | None:
        """Take a nap."""
        if not self.inbox or self.naps == 2:
            return None
        self.naps += 1
        return Effects([], [])


def test_a_witness_is_a_shortest_schedule() -> None:
    found = explore(FIG_4_ANY, Napping)
    assert found.states > 3 * explore(FIG_4_ANY, "unordered").states
    assert [len(found.find_witness(end)) for end in found.outcomes] == [9, 9]
    assert {step.what for end in found.outcomes for step in found.find_witness(end)} == {
        "send",
        "arrive",
        "receive",
    }
    idle = explore("P1: r. P2:", "buffered")
    assert idle.find_witness(idle.blocked[0]) == []
    assert idle.states == 1


def test_a_story_reads_as_a_person_would_tell_it() -> None:
    found = explore(FIG_4_ANY, "buffered")
    story = Story(found, found.find_end(XZ))
    assert [f"{line.sentence} ({line.note})" for line in story.lines[:5]] == [
        "P1 sends x to P3 ()",
        "P1 sends y to P2 (waits for acknowledgement by P3 #1 (has 0))",
        "x arrives at P3 (ack leaves for P1)",
        "P3 receives x ()",
        "ack from P3 arrives at P1 (y leaves for P2)",
    ]


def test_an_end_is_found_by_what_was_received() -> None:
    found = explore(FIG_7_SELECTIVE, "buffered")
    assert found.find_end(FIG_7) == found.find_end(" a b|e f |c  d") == found.outcomes[0]
    assert found.find_end("P2: -; P3: c d").received == ((), (), ("c", "d"))
    assert found.find_end("P1: a b").complete and not found.find_end("P1: ").complete
    with pytest.raises(CallerError, match=r"no execution ends with .*; what can be received is: a b \| e f"):
        found.find_end(FIG_8)
    with pytest.raises(CallerError, match=r"each process: P1 \| P2 \| P3"):
        found.find_end("a b | e f")
    with pytest.raises(CallerError, match="'P9' is not a process"):
        found.find_end("P9: x")
    with pytest.raises(CallerError, match="no execution ends with x"):
        found.find_witness(End(True, (("x",),), ((),), ("",)))


# -- what else it promises -------------------------------------------------------------------------


def test_more_states_than_the_limit_are_refused() -> None:
    assert explore(FIG_1, "matrix", limit=14).states == 14
    with pytest.raises(CallerError, match="more than 13 states; shorten the program or raise the limit"):
        explore(FIG_1, "matrix", limit=13)


def test_the_same_question_has_the_same_answer_in_the_same_order() -> None:
    """Also in another interpreter, where strings hash differently."""
    ask = (
        "from antecede.simulate.explorer import explore\n"
        f"found = explore({FIG_7_ANY!r}, 'matrix')\n"
        "print(found.transitions, [(str(end), found.find_witness(end)) for end in found.outcomes])"
    )
    answers = {
        subprocess.run(
            [sys.executable, "-c", ask],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(answers) == 1 and b"arrive" in answers.pop()


def test_options_reach_the_protocol() -> None:
    assert explore(FIG_1, "sync").verdict == "always blocks"
    assert explore(FIG_1, "sync", form="site").verdict == "always completes"
    with pytest.raises(CallerError, match="has no option speed"):
        explore(FIG_1, "sync", speed=2)
    with pytest.raises(CallerError, match="unknown protocol 'nope'"):
        explore(FIG_1, "nope")


def test_fifo_channels_keep_the_order_of_a_pair_and_of_no_more() -> None:
    twice = "P1: s x->2; s y->2. P2: r; r"
    assert [str(end) for end in explore(twice, "unordered").outcomes] == ["- | x y", "- | y x"]
    assert [str(end) for end in explore(twice, "unordered", fifo=True).outcomes] == ["- | x y"]
    assert [str(end) for end in explore(FIG_4_ANY, "unordered", fifo=True).outcomes] == [XZ, "- | y | z x"]
    assert explore(twice, "buffered", fifo=True, pipelined=True).verdict == "always completes"
    with pytest.raises(CallerError, match=r"P2 refuses a packet: .* overtook .*; or explore with fifo"):
        explore(twice, "buffered", pipelined=True)


def test_programs_that_a_protocol_cannot_run_are_refused() -> None:
    with pytest.raises(CallerError, match="sends to one process at a time"):
        explore("P1: s x->2,3. P2: r. P3: r", "sync")
    assert explore("P1: s x->2,3. P2: r. P3: r", "vector").verdict == "always completes"
    with pytest.raises(CallerError, match="only broadcasts"):
        explore("P1: s x->2. P2: r. P3: r", "vector")


# -- the text of a program -------------------------------------------------------------------------


def test_programs_are_read_in_either_form() -> None:
    read = Program(("P1", "P2"), ((Send("x", ("P2",)), Receive()), (Receive("P1"), Send("y", ("P1",)))))
    for text in (
        "P1: s x->2; r. P2: r from 1; s y->1",
        "P1: s x->2; r.\nP2: r from P1; s y -> P1.\n",
        "# two friends\nP1:s x->P2;r  # and waits\n\nP2: r  from 1; s  y->1",
    ):
        assert parse_program(text) == read
    assert parse_program(str(read)) == read
    assert parse_program("alice: s x->bob,carl. bob: r. carl:").instructions[0] == (
        Send("x", ("bob", "carl")),
    )
    assert parse_program("1: s x->2. 2: r. P2: r").instructions[0] == (Send("x", ("2",)),)


WRONG = [
    ("", "the program is empty"),
    (" \n# nothing\n", "the program is empty"),
    ("P1 s x->2. P2: r", r"line 1, statement 1 \('P1 s x->2'\): no colon; begin with the name"),
    ("P1: s x->2.\nP2: r; t", r"line 2, statement 2 .* unknown instruction 't'; write 's MESSAGE->PROCESS'"),
    ("P1: receive. P2: r", "unknown instruction 'receive'"),
    ("P1: s x. P2: r", "unknown instruction 's x'"),
    ("P1: s x y->2. P2: r", "unknown instruction"),
    ("P1: r from. P2: r", "unknown instruction 'r from'"),
    ("P1: r 2. P2: r", "unknown instruction 'r 2'"),
    ("P1: r; . P2: r", "an instruction is missing; remove the semicolon"),
    ("P1: s x->2; s y->3. P2: r", "unknown process '3'; choose from P1, P2, or let it do nothing: 'P3:'"),
    ("P1: r from bob. P2:", "unknown process 'bob'.*'bob:'"),
    ("P1: s x->. P2: r", "a process is not named; choose from P1, P2"),
    ("P1: s x->2,. P2: r", "a process is not named"),
    ("P1: s x->2. P2: r. P1: r", r"statement 3 \('P1: r'\): process P1 is there twice; put all"),
    ("P1: s x->2. P2: s x->1", r"statement 2 .*: message x is sent twice; give each its own name"),
    ("P1: s x->2,2. P2: r", "a destination is named twice in 's x->2,2'"),
    ("P1: s x->1. P2: r", "P1 sends to or receives from itself; name another process"),
    ("P1: r from 1. P2: r", "P1 sends to or receives from itself"),
    ("P 1: r", "'P 1' cannot name a process; use letters"),
    (": r", "'' cannot name a process"),
]


@pytest.mark.parametrize(("text", "sentence"), WRONG, ids=[repr(text) for text, _ in WRONG])
def test_malformed_programs_are_refused_with_the_place_and_the_remedy(text: str, sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        explore(text, "matrix")


@pytest.mark.parametrize("module", [explorer, programs])
def test_examples_in_the_documentation(module: Any) -> None:
    results = doctest.testmod(module)
    assert results.attempted > 0 and results.failed == 0
