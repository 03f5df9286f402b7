"""Frames on a connection: what was changed, repeated or left out is found, with a key and without."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antecede import InputError
from antecede.live.records import LENGTH_BYTES, Sealer, encode_record, read_record

KEYS = st.sampled_from([None, b"k" * 32])


def open_frames(frames: list[bytes], key: bytes | None) -> list[bytes]:
    sealer = Sealer(key)
    return [sealer.unseal_frame(frame[LENGTH_BYTES:]) for frame in frames]


@given(bodies=st.lists(st.binary(max_size=50), min_size=1, max_size=5), key=KEYS)
def test_frames_come_as_they_were_sent(bodies: list[bytes], key: bytes | None) -> None:
    sealer = Sealer(key)
    frames = [sealer.make_sealed_frame(body) for body in bodies]
    assert open_frames(frames, key) == bodies
    for frame in frames:
        assert int.from_bytes(frame[:LENGTH_BYTES], "big") == len(frame) - LENGTH_BYTES


@given(body=st.binary(min_size=1, max_size=50), at=st.integers(0, 10**6), bit=st.integers(0, 7), key=KEYS)
def test_a_flipped_bit_is_found(body: bytes, at: int, bit: int, key: bytes | None) -> None:
    frame = bytearray(Sealer(key).make_sealed_frame(body))
    frame[LENGTH_BYTES + at % (len(frame) - LENGTH_BYTES)] ^= 1 << bit
    with pytest.raises(InputError, match="seal"):
        open_frames([bytes(frame)], key)


@pytest.mark.parametrize("key", [None, b"k" * 32])
def test_frames_that_are_repeated_left_out_or_swapped_are_found(key: bytes | None) -> None:
    sealer = Sealer(key)
    first, second, third = (sealer.make_sealed_frame(body) for body in (b"same", b"same", b"other"))
    for frames in ([first, first], [second], [first, third], [third, first], [b"\0\0\0\0"]):
        with pytest.raises(InputError, match="seal"):
            open_frames(frames, key)


def test_another_key_is_found() -> None:
    frame = Sealer(b"k" * 32).make_sealed_frame(b"body")
    for key in (None, b"l" * 32):
        with pytest.raises(InputError, match="seal"):
            open_frames([frame], key)


@given(data=st.binary(max_size=40))
def test_any_bytes_are_a_record_or_an_input_error(data: bytes) -> None:
    try:
        record = read_record(data)
    except InputError:
        return
    assert read_record(encode_record(record.low, record.allowed, record.first, record.parcels)) == record
