"""probabilistic, with processes that join by state transfer and leave, while messages are under way."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import antecede
from antecede import CallerError, Effects, InputError, Packet
from antecede.core import wire
from antecede.protocols.membership import Probabilistic
from tests.crowd import EXACT, FOUNDERS, SHARED, Crowd, Script, member

STEP = st.tuples(st.integers(0, 9), st.integers(0, 999))
SCRIPTS = st.lists(STEP, max_size=15) | st.lists(STEP, min_size=25, max_size=60)


@given(script=SCRIPTS)
def test_join_in_mid_run_loses_nothing_and_keeps_causal_order_where_the_entries_do(script: Script) -> None:
    crowd = Crowd(**EXACT)
    crowd.steps(script)
    crowd.finish()
    crowd.check()
    assert crowd.violations == []


@given(script=SCRIPTS)
def test_join_in_mid_run_loses_nothing_where_entries_are_shared(script: Script) -> None:
    crowd = Crowd(**SHARED)
    crowd.steps(script)
    crowd.finish()
    crowd.check()


@given(before=SCRIPTS, after=SCRIPTS)
def test_leave_in_mid_run_delivers_what_the_leaver_had_sent(before: Script, after: Script) -> None:
    crowd = Crowd(**EXACT)
    crowd.steps(before, joins=False)
    crowd.leave("c")
    crowd.steps(after, joins=False)
    crowd.drain()
    crowd.check()
    assert crowd.violations == []
    assert crowd.endpoints["a"].group == ["a", "b"]


def trio(**options: Any) -> dict[str, Probabilistic]:
    return {name: member(name, FOUNDERS, **(options or EXACT)) for name in FOUNDERS}


def copies(effects: Effects) -> dict[str, Packet]:
    return {packet.target: packet for packet in effects.packets}


def texts(effects: Effects) -> list[str]:
    return [delivery.payload.decode() for delivery in effects.deliveries]


def join_newcomer(p: dict[str, Probabilistic], sponsor: str = "a") -> Probabilistic:
    """d, admitted by all, with the state of a sponsor."""
    group = p[sponsor].group
    d = member("d", [*group, "d"], **EXACT)
    d.join(p[sponsor].welcome("d", {name: p[name].admit("d") for name in group}))
    return d


def test_welcome_is_refused_until_the_sponsor_has_what_was_sent_before() -> None:
    p = trio()
    early = copies(p["b"].send(b"early"))
    sent = {name: p[name].admit("d") for name in FOUNDERS}
    assert sent == {"a": 0, "b": 1, "c": 0}
    before = p["a"].snapshot()
    with pytest.raises(CallerError, match="too early"):
        p["a"].welcome("d", sent)
    assert p["a"].snapshot() == before
    p["a"].receive(early["a"])
    assert p["a"].welcome("d", sent)
    assert p["b"].welcome("d", sent)


def test_newcomer_takes_a_message_that_came_with_the_state_only_once() -> None:
    p = trio()
    sent = {name: p[name].admit("d") for name in FOUNDERS}
    m = copies(p["b"].send(b"m"))
    p["a"].receive(m["a"])
    d = member("d", [*FOUNDERS, "d"], **EXACT)
    d.join(p["a"].welcome("d", sent))
    assert texts(d.receive(m["d"])) == []
    assert d.held() == []
    assert texts(d.receive(copies(p["b"].send(b"next"))["d"])) == ["next"]


def test_newcomer_is_heard_by_all_and_may_sponsor_the_next() -> None:
    p = trio()
    d = join_newcomer(p)
    assert [texts(p[packet.target].receive(packet)) for packet in d.send(b"hello").packets] == [["hello"]] * 3
    p["d"] = d
    e = member("e", [*p, "e"], **EXACT)
    e.join(d.welcome("e", {name: endpoint.admit("e") for name, endpoint in p.items()}))
    assert texts(e.receive(copies(p["c"].send(b"answer"))["e"])) == ["answer"]


def test_newcomer_restored_from_a_snapshot_goes_on() -> None:
    p = trio()
    d = antecede.restore(join_newcomer(p).snapshot())
    a = antecede.restore(p["a"].snapshot())
    assert texts(d.receive(copies(a.send(b"m"))["d"])) == ["m"]


def test_without_join_a_newcomer_waits_for_what_it_will_never_get() -> None:
    p = trio()
    p["b"].receive(copies(p["a"].send(b"old"))["b"])
    for name in FOUNDERS:
        p[name].admit("d")
    d = member("d", [*FOUNDERS, "d"], **EXACT)
    assert texts(d.receive(copies(p["b"].send(b"new"))["d"])) == []
    assert [str(held.payload, "ascii") for held in d.held()] == ["new"]


def use(d: Probabilistic, p: dict[str, Probabilistic], how: str) -> None:
    if how == "sent":
        d.send(b"x")
    elif how == "received":
        d.receive(copies(p["a"].send(b"x"))["d"])
    else:
        d.join(p["a"].welcome("d", dict.fromkeys(FOUNDERS, 0)))


@pytest.mark.parametrize("how", ["sent", "received", "joined"])
def test_join_comes_first(how: str) -> None:
    p = trio()
    p["a"].send(b"something")
    letter = p["a"].welcome("d", {**{name: p[name].admit("d") for name in FOUNDERS}})
    d = member("d", [*FOUNDERS, "d"], **EXACT)
    use(d, p, how)
    before = d.snapshot()
    with pytest.raises(CallerError, match="comes first"):
        d.join(letter)
    assert d.snapshot() == before


def letter_for(name: str, **options: Any) -> bytes:
    p = trio(**options)
    return p["a"].welcome(name, {other: p[other].admit(name) for other in FOUNDERS})


@pytest.mark.parametrize(
    "letter",
    [letter_for("e", **EXACT), letter_for("d", **SHARED), letter_for("d", **EXACT)[:-1], b"", b"\xc1"],
    ids=["for-another", "other-entries", "truncated", "empty", "garbage"],
)
def test_join_refuses_a_foreign_state(letter: bytes) -> None:
    d = member("d", [*FOUNDERS, "d"], **EXACT)
    before = d.snapshot()
    with pytest.raises(InputError):
        d.join(letter)
    assert d.snapshot() == before


@pytest.mark.parametrize(
    ("have", "recent"),
    [
        pytest.param({99: 1}, [], id="no-such-entry"),
        pytest.param({}, [[[0], []]], id="short-stamp"),
        pytest.param({}, [[[99], [0] * 8]], id="no-such-key"),
    ],
)
def test_join_refuses_a_state_that_does_not_fit(have: dict[int, int], recent: list[Any]) -> None:
    d = member("d", [*FOUNDERS, "d"], **EXACT)
    before = d.snapshot()
    with pytest.raises(InputError):
        d.join(wire.encode((d.group_fingerprint, "d", have, {}, recent, {})))
    assert d.snapshot() == before


@pytest.mark.parametrize("name", ["a", "b", "gone"])
def test_admit_refuses_who_is_or_was_a_member(name: str) -> None:
    a = member("a", [*FOUNDERS, "e"], **EXACT)
    a.dismiss("e", 0)
    with pytest.raises(CallerError, match="member"):
        a.admit("e" if name == "gone" else name)


@pytest.mark.parametrize("name", ["a", "z"])
def test_dismiss_refuses_who_is_not_another_member(name: str) -> None:
    with pytest.raises(CallerError, match="not another member"):
        trio()["a"].dismiss(name, 0)


@pytest.mark.parametrize("sent", [{}, {"a": 0, "b": 0}, {"a": 0, "b": 0, "c": 0, "z": 0}])
def test_welcome_needs_the_answers_of_all(sent: dict[str, int]) -> None:
    p = trio()
    p["a"].admit("d")
    with pytest.raises(CallerError, match="admit"):
        p["a"].welcome("d", sent)


def test_packets_of_a_leaver_are_taken_in_and_none_is_sent_to_it() -> None:
    p = trio()
    first = copies(p["c"].send(b"first"))
    second = copies(p["c"].send(b"second"))
    p["a"].dismiss("c", 2)
    assert [texts(p["a"].receive(packet)) for packet in (second["a"], first["a"])] == [
        [],
        ["first", "second"],
    ]
    assert set(copies(p["a"].send(b"m"))) == {"b"}


def test_who_was_never_admitted_is_refused() -> None:
    p = trio()
    stranger = member("d", [*FOUNDERS, "d"], **EXACT)
    with pytest.raises(InputError, match="not another member"):
        p["a"].receive(copies(stranger.send(b"x"))["a"])


def test_join_after_a_leave_loses_nothing_of_what_the_leaver_had_sent() -> None:
    p = trio()
    m = copies(p.pop("c").send(b"m"))
    for endpoint in p.values():
        endpoint.dismiss("c", 1)
    p["b"].receive(m["b"])
    with pytest.raises(CallerError, match="too early"):
        join_newcomer(p)
    p["a"].receive(m["a"])
    d = member("d", ["a", "b", "d"], **EXACT)
    d.join(p["a"].welcome("d", {"a": 0, "b": 0}))
    assert texts(d.receive(copies(p["b"].send(b"effect of m"))["d"])) == ["effect of m"]


def test_join_names_who_has_left() -> None:
    p = trio()
    for name in ("a", "b"):
        p[name].dismiss("c", 0)
    letter = p["a"].welcome("d", {name: p[name].admit("d") for name in ("a", "b")})
    with pytest.raises(CallerError, match="c left before d came"):
        member("d", [*FOUNDERS, "d"], **EXACT).join(letter)
