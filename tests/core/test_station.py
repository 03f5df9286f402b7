"""Stations: inputs in, parcels and deliveries out, and the same again after a crash at any point."""

from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import antecede
from antecede import CallerError, InputError
from antecede.core.station import Station, restore_station
from tests.cases import EXACT, OTHER, Case
from tests.harness import destinations

CASES = [case for case in [*EXACT, *OTHER] if case.name != "sync-rendezvous"]
NAMES = ["p0", "p1", "p2"]


def make_stations(case: Case) -> dict[str, Station]:
    options = case.options_for(len(NAMES))
    return {
        name: Station(antecede.endpoint(case.protocol, process=name, group=NAMES, **options))
        for name in NAMES
    }


def carry(stations: dict[str, Station], source: str, target: str, window: int = 10**6) -> None:
    """All that may go from one to another, and the word back."""
    channel = stations[source].channels[target]
    other = stations[target].channels[source]
    channel.allowed = other.received - other.unsettled + window
    first, parcels = channel.take_first_number_and_batch_to_transmit(100, 10**6)
    assert stations[target].receive_parcels_and_list_refusals(source, first, parcels) == []
    channel.apply_acknowledgement(other.received, channel.allowed)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
@settings(max_examples=10)
@given(seed=st.integers(0, 2**32))
def test_credit_is_always_given_back_and_snapshots_change_nothing(case: Case, seed: int) -> None:
    """With a window of 4 everything arrives; stations are replaced by their snapshots all the time."""
    random = Random(seed)
    stations = make_stations(case)
    expected, taken = 0, 0

    def take(name: str) -> int:
        station = stations[name]
        if not station.queue:
            return 0
        station.acknowledge_deliveries_up_to(station.hand_next_delivery().number)
        return 1

    for _ in range(150):
        name, other = random.sample(NAMES, 2)
        what = random.randrange(5)
        if what == 0 and not stations[name].endpoint.blocked:
            to = destinations(NAMES, NAMES.index(name), random.randrange(99), case.kinds[-1])
            stations[name].send(b"m", to, {})
            expected += len(NAMES) if to is None else len(to)
        elif what == 1:
            stations[name] = restore_station(stations[name].snapshot(), antecede.restore)
        elif what == 2:
            taken += take(name)
        else:
            carry(stations, name, other, window=4)
    for _ in range(1000):
        before = taken
        for name in NAMES:
            for other in NAMES:
                if name != other:
                    carry(stations, name, other, window=4)
            taken += take(name)
        if taken == before == expected:
            break
    assert taken == expected
    for station in stations.values():
        assert station.own_unsettled == 0
        assert [channel.unsettled for channel in station.channels.values()] == [0, 0]


def make_pair(**options: Any) -> tuple[Station, Station]:
    made = [antecede.endpoint("matrix", process=name, group=["a", "b"], **options) for name in "ab"]
    return Station(made[0]), Station(made[1])


def test_parcels_that_came_before_are_passed_over_and_gaps_are_refused() -> None:
    a, b = make_pair()
    for text in (b"1", b"2", b"3"):
        a.send(text, ["b"], {})
    parcels = list(a.channels["b"].waiting)
    b.receive_parcels_and_list_refusals("a", 1, parcels[:2])
    b.receive_parcels_and_list_refusals("a", 1, parcels)
    assert [item.payload for item in b.queue] == [b"1", b"2", b"3"]
    with pytest.raises(InputError, match="gap"):
        b.receive_parcels_and_list_refusals("a", 5, parcels)


def test_a_parcel_that_is_no_packet_is_refused_and_the_rest_goes_on() -> None:
    a, b = make_pair()
    a.send(b"good", ["b"], {})
    good = a.channels["b"].waiting[0]
    refused = b.receive_parcels_and_list_refusals(
        "a", 1, [(0, b"bad stamp", b"12345678"), (0, good[1], b"short"), good]
    )
    assert len(refused) == 2 and "without a number" in refused[1]
    assert b.channels["a"].received == 3
    assert [item.payload for item in b.queue] == [b"good"]
    assert b.channels["a"].unsettled == 1


def test_deliveries_are_numbered_and_come_again_until_they_are_acknowledged() -> None:
    a, b = make_pair()
    for text in (b"1", b"2", b"3"):
        a.send(text, ["b"], {})
    b.receive_parcels_and_list_refusals("a", 1, list(a.channels["b"].waiting))
    b.hand_next_delivery()
    b.acknowledge_deliveries_up_to(b.hand_next_delivery().number - 1)
    back = restore_station(b.snapshot(), antecede.restore)
    assert [(item.number, item.payload) for item in back.queue] == [(2, b"2"), (3, b"3")]
    assert back.last_acknowledged == b.last_acknowledged == 1


def test_what_cannot_be() -> None:
    with pytest.raises(CallerError, match="delivers by itself"):
        make_pair(manual=True)
    a, _ = make_pair()
    before = a.snapshot()
    with pytest.raises(CallerError, match="payload is bytes"):
        a.send("text", ["b"], {})  # type: ignore[arg-type]
    with pytest.raises(CallerError, match="does not take"):
        a.send(b"", ["b"], {"depends_on": 1})
    assert a.snapshot() == before
    damaged = before[:-1] + bytes([before[-1] ^ 1])
    with pytest.raises(InputError, match="damaged"):
        restore_station(damaged, antecede.restore)
    with pytest.raises(InputError, match="not a snapshot"):
        restore_station(b"", antecede.restore)
