"""The explorer: every execution of a small program under a protocol, over the protocol's real endpoints.

Owns: the search through all reachable states, breadth first so that a witness is as short as one can be, the
ends it finds and the verdict. An end is a state in which nothing more can happen: complete if every process
has done all its instructions, blocked if not.
"""

from collections import deque
from functools import cached_property

import msgspec

from antecede.core import wire
from antecede.core.endpoint import Endpoint
from antecede.core.errors import CallerError
from antecede.protocols.registry import build_endpoint, endpoint, restore
from antecede.simulate.moves import Make, Moves, ProgramState, Restore, Step
from antecede.simulate.programs import Program, Receive, Send, parse_program

LIMIT = 1_000_000
"""States that are explored before the explorer gives up; they take some 600 MB."""


class End(msgspec.Struct, frozen=True, order=True):
    """How an execution ends; each field has an entry for each process.

    `arrived` is what came and was not received, `waits` what the process waits for ("" if it is done).
    """

    complete: bool
    received: tuple[tuple[str, ...], ...]
    arrived: tuple[tuple[str, ...], ...]
    waits: tuple[str, ...]

    def __str__(self) -> str:
        return format_by_process(self.received)


def format_by_process(texts: tuple[tuple[str, ...], ...]) -> str:
    """One entry for each process: "- | y | x z"."""
    return " | ".join(" ".join(words) or "-" for words in texts)


class Exploration:
    """All that a program can do. `outcomes` are the complete ends, `blocked` the others, both sorted."""

    def __init__(self, moves: Moves, limit: int) -> None:
        self.moves = moves
        self.program = moves.program
        self.transitions = 0
        self.found: list[ProgramState] = [moves.make_initial_state()]
        self._origin: list[tuple[int, Step]] = []
        self._ends: dict[End, int] = {}
        self._explore_reachable_states(limit)
        self.outcomes = sorted(end for end in self._ends if end.complete)
        self.blocked = sorted(end for end in self._ends if not end.complete)

    @property
    def states(self) -> int:
        """How many states can be reached."""
        return len(self.found)

    @cached_property
    def configurations(self) -> int:
        """How many of them one can tell apart from outside (see `Moves.make_visible_configuration`)."""
        return len({self.moves.make_visible_configuration(state) for state in self.found})

    @property
    def verdict(self) -> str:
        """Whether the program always completes, sometimes blocks or always blocks."""
        if not self.blocked:
            return "always completes"
        return "sometimes blocks" if self.outcomes else "always blocks"

    def find_witness(self, end: End) -> list[Step]:
        """A shortest schedule that leads to an end."""
        if end not in self._ends:
            raise CallerError(f"no execution ends with {end}; {self._describe_possible_outcomes()}")
        at, steps = self._ends[end], []
        while at:
            at, step = self._origin[at - 1]
            steps.append(step)
        return steps[::-1]

    def find_end(self, text: str) -> End:
        """The first end in which was received what the text says, complete ends before blocked ones.

        The text names all processes, as in "- | y | x z", or some of them, as in "P2: y; P3: x z".
        """
        wanted = self._parse_outcome(text)
        for end in (*self.outcomes, *self.blocked):
            received = dict(zip(self.program.processes, end.received, strict=True))
            if all(received[name] == words for name, words in wanted.items()):
                return end
        raise CallerError(f"no execution ends with {text!r}; {self._describe_possible_outcomes()}")

    def _parse_outcome(
        self,
        text: str,
    ) -> dict[str, tuple[str, ...]]:
        names = self.program.processes
        pairs = list(zip(names, text.split("|"), strict=False))
        if ":" in text:
            parts = [part.partition(":") for part in text.split(";")]
            pairs = [(name.strip(), words) for name, _, words in parts]
        elif text.count("|") != len(names) - 1:
            raise CallerError(f"{text!r} does not have an entry for each process: {' | '.join(names)}")
        for name, _ in pairs:
            if name not in names:
                raise CallerError(f"{name!r} is not a process of the program: {', '.join(names)}")
        return {name: tuple(words.replace("-", " ").split()) for name, words in pairs}

    def _describe_possible_outcomes(self) -> str:
        texts = dict.fromkeys(map(str, (*self.outcomes, *self.blocked)))
        return "what can be received is: " + "; ".join(texts)

    def _explore_reachable_states(self, limit: int) -> None:
        seen, unexplored = {self.found[0]}, deque([0])
        while unexplored:
            at = unexplored.popleft()
            before = self.transitions
            for step, successor in self.moves.iterate_next_states(self.found[at]):
                self.transitions += 1
                if successor in seen:
                    continue
                if len(seen) >= limit:
                    raise CallerError(f"more than {limit} states; shorten the program or raise the limit")
                seen.add(successor)
                unexplored.append(len(self.found))
                self.found.append(successor)
                self._origin.append((at, step))
            if self.transitions == before:
                self._ends.setdefault(self._describe_end_state(self.found[at]), at)

    def _describe_end_state(self, state: ProgramState) -> End:
        waits = tuple(self._describe_wait(state, at) for at in range(len(state.counters)))
        return End(not any(waits), state.received, self.moves.list_inboxes(state), waits)

    def _describe_wait(self, state: ProgramState, process_index: int) -> str:
        """What a process that can do nothing waits for."""
        code, counter = self.program.instructions[process_index], state.counters[process_index]
        last = code[counter - 1] if counter else None
        if self.moves.restore_endpoint(state, process_index).blocked and isinstance(last, Send):
            return f"the end of its send of {last.message}"
        if counter == len(code):
            return ""
        now = code[counter]
        sender = now.sender if isinstance(now, Receive) else None
        return f"a message from {sender}" if sender else "a message"


def explore(
    program: str | Program,
    protocol: str | type[Endpoint],
    *,
    limit: int = LIMIT,
    fifo: bool = False,
    **options: object,
) -> Exploration:
    """Every execution of a program under a protocol with these options.

    Packets may arrive in any order; with `fifo` those of one pair of processes arrive as they were sent. The
    protocol may be a class outside the registry; if it has a method `step() -> Effects | None`, that
    is taken as an internal step, which may happen whenever it does not return None.

    >>> triangle = explore("P1: s x->3; s y->2. P2: r; s z->3. P3: r; r", "unordered")
    >>> print(triangle.verdict, *triangle.outcomes, sep="; ")
    always completes; - | y | x z; - | y | z x
    """
    read = parse_program(program) if isinstance(program, str) else program
    return Exploration(Moves(read, *_make_endpoint_factories(protocol, options), fifo), limit)


def _make_endpoint_factories(
    protocol: str | type[Endpoint],
    options: dict[str, object],
) -> tuple[Make, Restore]:
    if not isinstance(protocol, type):
        return lambda me, group: endpoint(protocol, process=me, group=group, manual=True, **options), restore
    read = wire.make_decoder(protocol, "snapshot")
    return (
        lambda me, group: build_endpoint(protocol, process=me, group=group, manual=True, **options),
        lambda snapshot: read(msgspec.msgpack.decode(snapshot)[-1]),
    )
