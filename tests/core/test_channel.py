"""Channels: what was sent stays until it is acknowledged, credit is kept, a new connection begins rightly."""

import pytest

from antecede import InputError
from antecede.core.channel import Channel, Parcel, restore_channel


def make_channel(parcels: int, allowed: int = 100) -> Channel:
    channel = Channel()
    channel.waiting.extend(make_parcels(parcels))
    channel.begin_connection(0, allowed)
    return channel


def make_parcels(count: int, size: int = 1) -> list[Parcel]:
    return [(0, b"", bytes([number % 256]) * size) for number in range(1, count + 1)]


def test_batches_are_bounded_by_credit_packets_and_bytes() -> None:
    channel = make_channel(10, allowed=4)
    assert channel.take_first_number_and_batch_to_transmit(3, 10**6) == (1, make_parcels(10)[:3])
    assert channel.take_first_number_and_batch_to_transmit(3, 10**6) == (4, make_parcels(10)[3:4])
    assert not channel.may_transmit()
    assert channel.take_first_number_and_batch_to_transmit(3, 10**6) == (5, [])
    channel.apply_acknowledgement(0, 100)
    assert channel.take_first_number_and_batch_to_transmit(100, 2) == (5, make_parcels(10)[4:6])
    assert channel.take_first_number_and_batch_to_transmit(100, 0) == (7, make_parcels(10)[6:7])


def test_what_is_acknowledged_is_forgotten_and_the_rest_goes_again_on_a_new_connection() -> None:
    channel = make_channel(6)
    channel.take_first_number_and_batch_to_transmit(5, 10**6)
    channel.apply_acknowledgement(2, 100)
    assert len(channel.flying) == 3
    channel.begin_connection(4, 100)
    assert channel.take_first_number_and_batch_to_transmit(10, 10**6) == (5, make_parcels(6)[4:])
    assert channel.acknowledged == 4


@pytest.mark.parametrize("low", [1, 7])
def test_a_peer_that_has_less_or_more_than_can_be_is_refused(low: int) -> None:
    channel = make_channel(6)
    channel.take_first_number_and_batch_to_transmit(5, 10**6)
    channel.apply_acknowledgement(2, 100)
    with pytest.raises(InputError, match="lost its memory"):
        channel.begin_connection(low, 100)


def test_what_was_not_sent_cannot_be_acknowledged() -> None:
    channel = make_channel(6)
    channel.take_first_number_and_batch_to_transmit(5, 10**6)
    with pytest.raises(InputError, match="was not sent on this connection"):
        channel.apply_acknowledgement(6, 100)
    channel.apply_acknowledgement(3, 100)
    channel.apply_acknowledgement(1, 50)  # an old word says nothing new
    assert (channel.acknowledged, channel.allowed) == (3, 100)


def test_a_saved_channel_has_all_that_may_be_missing() -> None:
    channel = make_channel(6)
    channel.take_first_number_and_batch_to_transmit(5, 10**6)
    channel.apply_acknowledgement(2, 100)
    channel.received, channel.unsettled = 9, 4
    channel.check_and_record_peer_incarnation(b"who")
    back = restore_channel(channel.save())
    assert list(back.waiting) == make_parcels(6)[2:]
    assert (back.acknowledged, back.received, back.unsettled, back.incarnation) == (2, 9, 4, b"who")


def test_a_peer_without_its_memory_is_refused_once_it_matters() -> None:
    channel = Channel()
    channel.check_and_record_peer_incarnation(b"one")
    channel.check_and_record_peer_incarnation(b"two")
    channel.received = 1
    channel.check_and_record_peer_incarnation(b"two")
    with pytest.raises(InputError, match="without its memory"):
        channel.check_and_record_peer_incarnation(b"three")


def test_an_excluded_peer_costs_nothing() -> None:
    channel = make_channel(6)
    channel.take_first_number_and_batch_to_transmit(5, 10**6)
    channel.exclude_peer()
    assert not channel.waiting and not channel.flying
    assert restore_channel(channel.save()).excluded


def test_what_a_broker_keeps_is_forgotten_when_inputs_are_applied_again() -> None:
    channel = make_channel(6)
    channel.position = 17
    channel.drop_packets_stored_by_broker(4)
    channel.drop_packets_stored_by_broker(2)  # of an earlier commit, behind a snapshot that knows more
    restored = restore_channel(channel.save())
    assert (restored.acknowledged, list(restored.waiting)) == (4, make_parcels(6)[4:])
    assert restored.position == 17
    with pytest.raises(InputError):
        channel.drop_packets_stored_by_broker(7)
