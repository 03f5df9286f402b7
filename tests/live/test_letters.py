"""Letters and inboxes: what goes into records of Kafka, and which addresses are taken. Needs no broker."""

import asyncio
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antecede import CallerError, InputError, live
from antecede.core.channel import KINDS
from antecede.live.handshake import check_and_hash_key
from antecede.live.kafka.address import locate_inboxes
from antecede.live.kafka.letters import Headers, LetterForm, WriterIdentity

LIFE, OTHER_LIFE = bytes(range(16)), bytes(16)
KEY = check_and_hash_key(b"the key of this group")
OWN = WriterIdentity("g", "vector", 77, "a", LIFE)
READER = WriterIdentity("g", "vector", 77, "b", OTHER_LIFE)

parcels = st.tuples(st.integers(0, len(KINDS) - 1), st.binary(max_size=30), st.binary(max_size=30))


def write(number: int, parcel: tuple[int, bytes, bytes], key: bytes | None) -> tuple[bytes, Headers]:
    form = LetterForm(OWN, key)
    return form.build_packet_letter(form.build_common_headers("b", OTHER_LIFE), number, parcel)


@given(parcel=parcels, number=st.integers(1, 10**17), key=st.sampled_from([None, KEY]))
def test_a_packet_comes_back_as_it_was(parcel: Any, number: int, key: bytes | None) -> None:
    code, stamp, payload = parcel
    if code == 0:
        payload = (number % 1000).to_bytes(8, "big") + payload
    value, headers = write(number, (code, stamp, payload), key)
    assert value == (payload[8:] if code == 0 else payload)
    letter = LetterForm(READER, key).parse_letter("a", headers, value)
    assert (letter.life, letter.to_life, letter.number) == (LIFE, OTHER_LIFE, number)
    assert letter.parcel == (code, stamp, payload)


@given(to_life=st.sampled_from([b"", LIFE]), key=st.sampled_from([None, KEY]))
def test_a_hello_comes_back_as_it_was(to_life: bytes, key: bytes | None) -> None:
    value, headers = LetterForm(OWN, key).build_hello("b", to_life)
    letter = LetterForm(READER, key).parse_letter("a", [*headers, ("traceparent", b"of others")], value)
    assert (letter.life, letter.to_life, letter.parcel) == (LIFE, to_life, None)


@given(at=st.integers(0, 200), bit=st.integers(0, 7))
def test_every_bit_of_a_letter_is_under_its_seal(at: int, bit: int) -> None:
    value, headers = write(5, (0, b"stamp", bytes(8) + b"payload"), KEY)
    parts = [value, *(content for _, content in headers)]
    lengths = [len(part) for part in parts]
    at %= sum(lengths)
    which = 0
    while at >= lengths[which]:
        at -= lengths[which]
        which += 1
    changed = bytearray(parts[which])
    changed[at] ^= 1 << bit
    parts[which] = bytes(changed)
    altered = [(name, content) for (name, _), content in zip(headers, parts[1:], strict=True)]
    with pytest.raises(InputError):
        LetterForm(READER, KEY).parse_letter("a", altered, parts[0])


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"antecede": b"2"}, "antecede '2'; here it is '1'"),
        ({"group": b"h"}, "group 'h'; here it is 'g'"),
        ({"protocol": b"matrix"}, "protocol 'matrix'"),
        ({"tag": b"78"}, "other members or other options"),
        ({"from": b"c"}, "from 'c'; here it is 'a'"),
        ({"to": b"c"}, "to 'c'; here it is 'b'"),
        ({"life": b"00"}, "'life' has 1 bytes"),
        ({"life": b"zz"}, "'life' is not hexadecimal"),
        ({"to-life": b"0000"}, "'to-life' has 2 bytes"),
        ({"kind": b"letter"}, "unknown kind 'letter'"),
        ({"kind": b"\xff"}, "'kind' is not text"),
        ({"number": b"-1"}, "'number' is not a number"),
        ({"number": b"0"}, "numbered from 1"),
        ({"number": b"9" * 30}, "'number' is not a number"),
        ({"message": None}, "no header 'message'"),
        ({"stamp": None}, "no header 'stamp'"),
        ({"seal": b"x"}, "none is used here"),
    ],
)
def test_what_is_no_letter_is_refused(change: dict[str, bytes | None], reason: str) -> None:
    value, headers = write(5, (0, b"stamp", bytes(8) + b"payload"), None)
    changed = {**dict(headers), **change}
    content = [(name, text) for name, text in changed.items() if text is not None]
    with pytest.raises(InputError, match=reason):
        LetterForm(READER, None).parse_letter("a", content, value)


@given(headers=st.lists(st.tuples(st.sampled_from(["kind", "from", "x"]), st.binary(max_size=9))))
def test_whatever_lies_in_a_topic_is_refused(headers: Any) -> None:
    with pytest.raises(InputError):
        LetterForm(READER, None).parse_letter("a", headers, b"")


def test_inboxes_have_names() -> None:
    inboxes = locate_inboxes("a", "kafka://h:1,i:2", {"b": "kafka://h:1,i:2/some.topic"}, "group")
    assert inboxes.brokers == ["h:1", "i:2"]
    assert inboxes.topics == {"a": "group.a", "b": "some.topic"}


@pytest.mark.parametrize(
    ("listen", "peer", "reason"),
    [
        (None, "kafka://h:1", "`listen` is missing"),
        ("kafka://h:1", None, "the address of 'b' is missing"),
        ("tcp://h:1", "kafka://h:1", "where one member is reached over Kafka, all are"),
        ("kafka://h:1", "kafka://h:2", "one cluster of brokers"),
        ("kafka://h", "kafka://h:1", "write kafka://host:port"),
        ("kafka://h:1/no spaces", "kafka://h:1", "cannot be the name of a topic"),
        ("kafka://h:1/t", "kafka://h:1/t", "the inbox of two members"),
        ("kafka://h:1/..", "kafka://h:1", "cannot be the name of a topic"),
    ],
)
def test_addresses_that_do_not_fit(listen: str | None, peer: str | None, reason: str) -> None:
    async def run() -> None:
        await live.open_node("vector", process="a", listen=listen, peers={"b": peer})

    with pytest.raises(CallerError, match=reason):
        asyncio.run(run())
