"""One definition per protocol: its class has the rule and the size, and only the registry lists names."""

import ast
import random
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

import antecede
from antecede import Endpoint, InputError, Packet
from antecede.core.gate import Pairs
from antecede.core.gated import Gated
from antecede.ordering.forms import FORMS
from antecede.protocols import registry
from antecede.protocols.counts import count_packed_entries
from antecede.protocols.fifo import Fifo
from antecede.protocols.registry import count_stamp_entries, get_protocol_class
from tests.cases import Case
from tests.contract.common import CASES, EVERY_CASE, parametrize_cases
from tests.harness import destinations

SOURCE = Path(antecede.__file__).parent
_decode = msgspec.msgpack.Decoder(strict=False).decode
PACKED = ("matrix", "semantic")


def run_traffic(case: Case) -> Iterator[tuple[Endpoint, Packet]]:
    """Every packet of a random run, with the endpoint that is about to receive it."""
    chance = random.Random(7)
    world = case.world(4)
    for step in range(120):
        sender = chance.choice(world.names)
        if not world.endpoints[sender].blocked:
            world.send(sender, destinations(world.names, int(sender[1]), step, chance.choice(case.kinds)))
        while world.network and chance.random() < 0.4:
            choice = chance.randrange(len(world.choices()))
            packet = antecede.decode(world.network[world.choices()[choice]])
            yield world.endpoints[packet.target], packet
            world.arrive(choice)


def keep_unmet(endpoint: Gated, needs: Pairs) -> Pairs:
    have = endpoint.gate.have
    return sorted((slot, count) for slot, count in needs if have.get(slot, 0) < count)


GATED = [case for case in CASES if issubclass(get_protocol_class(case.protocol), Gated)]
BY_PROCESS = [case for case in GATED if not get_protocol_class(case.protocol).shares_entries]


@parametrize_cases(BY_PROCESS)
def test_tables_and_endpoints_are_asked_for_the_same(case: Case) -> None:
    """What the gate of an endpoint waits for is what the stamp alone says, without what is met."""
    checked = 0
    for endpoint, packet in run_traffic(case):
        assert isinstance(endpoint, Gated)
        if case.watch is not None and packet.target not in case.watch:
            continue  # order is promised at one process only
        source = endpoint.id_by_process[packet.source]
        needs, gains = endpoint.read_needs_and_gains(
            packet.kind, packet.stamp, source, endpoint.me, endpoint.n
        )
        if packet.kind in ("ack", "release"):
            assert needs == gains == []
            continue
        asked, gained = endpoint._find_local_needs_and_gains(source, endpoint._decode_and_check_stamp(packet))
        assert keep_unmet(endpoint, needs) == keep_unmet(endpoint, asked)
        assert gains[0] == gained[0] and set(gained) <= set(gains)
        left_out = set(gains) - set(gained)
        assert all(endpoint.gate.have.get(slot, 0) >= value for slot, value in left_out)
        checked += bool(keep_unmet(endpoint, needs))
    assert checked > 0


def count_numbers(value: Any, packed: bool) -> int:
    """The numbers anywhere in a decoded stamp; payloads that a stamp brings along are none."""
    if isinstance(value, int):
        return 1
    if isinstance(value, bytes):
        return count_packed_entries(value) if packed else 0
    if isinstance(value, list):
        return sum(count_numbers(one, packed) for one in value)
    if isinstance(value, dict):
        return sum(1 + count_numbers(one, packed) for one in value.values())
    raise AssertionError(f"{value!r} in a stamp")


@EVERY_CASE
def test_the_size_of_a_stamp_is_the_number_of_its_numbers(case: Case) -> None:
    packets = [packet for _, packet in run_traffic(case)]
    assert packets
    for packet in packets:
        stamp = _decode(packet.stamp) if packet.stamp else []
        assert count_stamp_entries(packet) == count_numbers(stamp, case.protocol in PACKED)


@pytest.mark.parametrize("name", antecede.list_protocols())
def test_every_protocol_answers_through_the_registry(name: str) -> None:
    protocol = get_protocol_class(name)
    assert protocol.facts.name == name
    if issubclass(protocol, Gated) or protocol.brings_past:
        with pytest.raises(InputError):
            protocol.read_needs_and_gains("message", b"\xc1", 0, 1, 3)
    else:
        assert protocol.read_needs_and_gains("message", b"", 0, 1, 3) == ([], [])


# -- no other list of protocols ----------------------------------------------------------------------


ONLY_PROTOCOLS = set(antecede.list_protocols()) - set(FORMS)
"""Without the names that forms of stamps have too, such as `vector`."""


def names_in(node: ast.AST) -> set[str]:
    constants = [part.value for part in ast.iter_child_nodes(node) if isinstance(part, ast.Constant)]
    return {value for value in constants if isinstance(value, str)} & ONLY_PROTOCOLS


def lists_of_protocols(tree: ast.Module) -> Iterator[int]:
    """The lines where names of protocols stand together, or a protocol is compared with a name."""
    for node in ast.walk(tree):
        names = names_in(node)
        if isinstance(node, ast.List | ast.Tuple | ast.Set | ast.Dict) and len(names) > 1:
            yield node.lineno
        if isinstance(node, ast.Compare) and names and "protocol" in ast.unparse(node.left):
            yield node.lineno


@pytest.mark.parametrize("room", ["protocols", "ordering"])
def test_no_room_has_a_list_of_protocols_of_its_own(room: str) -> None:
    files = sorted((SOURCE / room).rglob("*.py"))
    assert files
    found = {str(file): list(lists_of_protocols(ast.parse(file.read_text()))) for file in files}
    assert {file: lines for file, lines in found.items() if lines} == {}


@pytest.mark.parametrize(
    "code", ['X = ("optimal", "history")', 'X = {"server": 1, "fifo": 2}', 'X = plan.protocol == "scalar"']
)
def test_such_a_list_would_be_found(code: str) -> None:
    assert list(lists_of_protocols(ast.parse(code))) == [1]


def test_a_new_protocol_is_one_class_and_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    """With its class in the registry it is listed, made, read from tables and measured."""

    class Twin(Fifo, kw_only=True):
        facts = msgspec.structs.replace(Fifo.facts, name="twin")

    monkeypatch.setitem(registry._BY_NAME, "twin", Twin)
    assert antecede.list_protocols()["twin"].name == "twin"
    packet = antecede.endpoint("twin", process="a", group=["a", "b"]).send(b"x", to=["b"]).packets[0]
    assert count_stamp_entries(packet) == 1
    assert get_protocol_class("twin").read_needs_and_gains(packet.kind, packet.stamp, 0, 1, 2) == (
        [(0, 0)],
        [(0, 1)],
    )


@pytest.mark.parametrize("before", ["", "antecede.list_protocols(); "])
def test_the_package_of_the_protocols_can_be_imported_by_its_name(before: str) -> None:
    code = f"import antecede; {before}import antecede.protocols.registry as r; print(len(r.list_protocols()))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stderr == ""
    assert int(done.stdout) == len(antecede.list_protocols())
    after = "import antecede.protocols.registry, antecede; print(len(antecede.list_protocols()))"
    done = subprocess.run([sys.executable, "-c", after], capture_output=True, text=True)
    assert done.stderr == ""
    assert int(done.stdout) == len(antecede.list_protocols())
