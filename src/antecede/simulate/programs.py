"""Small distributed programs, written as in Mattern and Fünfrocken (1995), and how their text is read.

    P1: s x->3; s y->2. P2: r; s z->3. P3: r from 1; r

One statement for each process, ended by a period or by the end of the line: its name, a colon, and its
instructions with semicolons between them. `s x->2,3` sends message x to two processes at once; `r` receives
any message, `r from 2` only one of that process. A number stands for the process P with that number. What
follows a `#` is a comment; a process that does nothing is a name and a colon.
"""

import re
from collections.abc import Iterator

import msgspec

from antecede.core.errors import InputError

_SEND = re.compile(r"s\s+(\w+)\s*->(.*)")
_RECEIVE = re.compile(r"r(?:\s+from\s+(\S+))?")
_NAME = re.compile(r"\w+")


class Send(msgspec.Struct, frozen=True):
    """Send a message to one or several processes."""

    message: str
    targets: tuple[str, ...]

    def __str__(self) -> str:
        return f"s {self.message}->{','.join(self.targets)}"


class Receive(msgspec.Struct, frozen=True):
    """Receive one message, of `sender` if one is named."""

    sender: str | None = None

    def __str__(self) -> str:
        return "r" if self.sender is None else f"r from {self.sender}"


Instruction = Send | Receive


class Program(msgspec.Struct, frozen=True):
    """The instructions of each process, in the order in which the processes were written."""

    processes: tuple[str, ...]
    instructions: tuple[tuple[Instruction, ...], ...]

    def __str__(self) -> str:
        lines = zip(self.processes, self.instructions, strict=True)
        return ". ".join(f"{name}: {'; '.join(map(str, code))}".rstrip() for name, code in lines)


class _Statement(msgspec.Struct, frozen=True):
    """What one process does, as written, and where that stands."""

    line: int
    number: int
    text: str

    def make_error(self, reason: str) -> InputError:
        return InputError(f"line {self.line}, statement {self.number} ({self.text!r}): {reason}")


def parse_program(text: str) -> Program:
    """Read the text of a program; raises InputError with the place and the remedy.

    >>> print(parse_program("P1: s x->2. P2: r from 1"))
    P1: s x->P2. P2: r from P1
    """
    statements = list(_split_statements(text))
    if not statements:
        raise InputError("the program is empty; write for instance 'P1: s x->2. P2: r'")
    names: list[str] = []
    for statement in statements:
        names.append(_parse_process_name(statement, names))
    code = [_parse_instructions(one, name, names) for one, name in zip(statements, names, strict=True)]
    _refuse_repeated_message_names(statements, code)
    return Program(tuple(names), tuple(code))


def _split_statements(text: str) -> Iterator[_Statement]:
    number = 0
    for line, written in enumerate(text.splitlines(), start=1):
        for part in written.partition("#")[0].split("."):
            if part.strip():
                number += 1
                yield _Statement(line, number, part.strip())


def _parse_process_name(statement: _Statement, known_names: list[str]) -> str:
    name, colon, _ = statement.text.partition(":")
    name = name.strip()
    if not colon:
        raise statement.make_error("no colon; begin with the name of the process, as in 'P1: s x->2; r'")
    if not _NAME.fullmatch(name):
        raise statement.make_error(f"{name!r} cannot name a process; use letters, digits and underscores")
    if name in known_names:
        raise statement.make_error(
            f"process {name} is there twice; put all its instructions into one statement"
        )
    return name


def _parse_instructions(
    statement: _Statement,
    name: str,
    names: list[str],
) -> tuple[Instruction, ...]:
    code = statement.text.partition(":")[2].strip()
    return (
        tuple(_parse_instruction(statement, one.strip(), name, names) for one in code.split(";"))
        if code
        else ()
    )


def _parse_instruction(
    statement: _Statement,
    text: str,
    name: str,
    names: list[str],
) -> Instruction:
    if sending := _SEND.fullmatch(text):
        targets = tuple(
            _parse_other_process(statement, one.strip(), name, names) for one in sending[2].split(",")
        )
        if len(set(targets)) < len(targets):
            raise statement.make_error(f"a destination is named twice in {text!r}; name it once")
        return Send(sending[1], targets)
    if receiving := _RECEIVE.fullmatch(text):
        sender = receiving[1]
        return Receive(None if sender is None else _parse_other_process(statement, sender, name, names))
    if not text:
        raise statement.make_error("an instruction is missing; remove the semicolon or write 's x->2' or 'r'")
    raise statement.make_error(
        f"unknown instruction {text!r}; write 's MESSAGE->PROCESS' (several: 's x->2,3'), 'r' or "
        "'r from PROCESS'"
    )


def _parse_other_process(
    statement: _Statement,
    written: str,
    name: str,
    names: list[str],
) -> str:
    """The process that is meant, which must be another one."""
    found = next((one for one in (written, f"P{written}") if one in names), None)
    if not written:
        raise statement.make_error(f"a process is not named; choose from {', '.join(names)}")
    if found is None:
        new = f"P{written}" if written.isdigit() else written
        raise statement.make_error(
            f"unknown process {written!r}; choose from {', '.join(names)}, or let it do nothing: '{new}:'"
        )
    if found == name:
        raise statement.make_error(f"{name} sends to or receives from itself; name another process")
    return found


def _refuse_repeated_message_names(
    statements: list[_Statement],
    code: list[tuple[Instruction, ...]],
) -> None:
    """Messages are told apart by their names."""
    used: set[str] = set()
    for statement, instructions in zip(statements, code, strict=True):
        for one in instructions:
            if isinstance(one, Send):
                if one.message in used:
                    raise statement.make_error(f"message {one.message} is sent twice; give each its own name")
                used.add(one.message)
