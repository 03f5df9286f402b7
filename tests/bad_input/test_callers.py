"""Calls that cannot be served get one clear error and change nothing."""

from functools import partial
from typing import Any

import msgspec
import pytest

import antecede
from antecede import CallerError
from tests.bad_input.scenes import (
    BOTH_MOMENTS,
    CASES,
    EVERY_CASE,
    check_error,
    check_refused,
    make_fresh_world,
    play_scene,
)


@EVERY_CASE
@BOTH_MOMENTS
def test_sends_that_cannot_be_done(name: str, moment: str) -> None:
    at = play_scene(name, moment)
    wrong: list[Any] = [
        "p1",
        b"p1",
        [],
        ["nobody"],
        ["p1", "p1"],
        ["p1", "nobody"],
        [None],
        ("p0", "p0"),
        ["P1"],
    ]
    if not at.p0.facts.multicast:
        wrong.append(["p1", "p2"])
    if not at.p0.facts.unicast:
        wrong += [["p1"], ["p0"], ["p0", "p1"]]
    if not at.p0.facts.broadcast:
        wrong.append(None)
    for to in wrong:
        check_refused(at.p0, CallerError, partial(at.p0.send, b"x", to=to))
    for payload in ("x", None, 1, bytearray(b"x"), memoryview(b"x"), [b"x"]):
        check_refused(at.p0, CallerError, partial(at.p0.send, payload))
    at.finish()


@EVERY_CASE
def test_names_that_are_no_names(name: str) -> None:
    p0 = play_scene(name, "fresh").p0
    others: list[Any] = [5, 2.5, [["p1"]], [{}], True]
    for to in others:
        check_refused(p0, CallerError, partial(p0.send, b"x", to=to))
    manual: Any = msgspec.structs.replace(p0, manual=True)
    check_refused(manual, CallerError, partial(manual.take, ["p1"]))


@EVERY_CASE
def test_take_needs_a_manual_endpoint_and_a_member(name: str) -> None:
    at = play_scene(name, "busy")
    check_refused(at.p0, CallerError, at.p0.take)
    manual: Any = msgspec.structs.replace(make_fresh_world(CASES[name]).endpoints["p0"], manual=True)
    for stranger in ("nobody", "", 5):
        check_refused(manual, CallerError, partial(manual.take, stranger))
    at.finish()


@BOTH_MOMENTS
def test_dependence_on_events_that_never_were(moment: str) -> None:
    at = play_scene("semantic", moment)
    for depends_on in (-1, at.p0.events + 1, 2**70, "1", 1.0, [1]):
        check_refused(at.p0, CallerError, partial(at.p0.send, b"x", depends_on=depends_on))
    at.finish()
    assert at.p0.send(b"x", depends_on=at.p0.events).packets


GROUP = ["p0", "p1", "p2", "p3"]
WRONG_CALLS: list[tuple[Any, dict[str, Any]]] = [
    ("nonesuch", {}),
    ("", {}),
    ("Matrix", {}),
    *((protocol, {}) for protocol in (None, 5, ["matrix"])),
    *(("matrix", {"process": process}) for process in ("p9", "", None, 0, ["p0"])),
    *(
        ("matrix", {"group": group})
        for group in ("p0", [], ["p0", "p0"], ["p0", ""], ["p0", 1], [["p0"]], b"p0")
    ),
    *(("matrix", {"group": group}) for group in (None, 5)),
    *((protocol, {"colour": 1}) for protocol in antecede.list_protocols()),
    *((protocol, {"manual": 1}) for protocol in antecede.list_protocols()),
    *((protocol, {"gate": {}}) for protocol in antecede.list_protocols()),
    *(("bounded", {"k": k}) for k in (3, 0, -1, "9", 9.0, None, True)),
    *(("bounded", {"k": k, "rule": ">"}) for k in (2, 0, -5)),
    *(("bounded", {"k": 9, "rule": rule}) for rule in ("<", "", None, 1)),
    *((protocol, {}) for protocol in ("bounded", "monitor", "server")),
    *((name, {name: value}) for name in ("monitor", "server") for value in ("p9", "", None, ["p0"])),
    *(("sync", {"form": form}) for form in ("", "both", None)),
    *(("buffered", change) for change in ({"pipelined": 1}, {"multicast": "none"}, {"multicast": True})),
    *(("semantic", {"variant": variant}) for variant in ("", "fixed", None)),
    *(("plausible", {"R": R}) for R in (0, -1, "4", 4.5, None)),
    *(("plausible", {"K": 1}), ("plausible", {"set_id": 0}), ("scalar", {"R": 1})),
    *(("probabilistic", {"R": R, "K": K}) for R, K in ((0, 0), (4, 5), (4, 0), (4, -1), (-4, 2), ("4", 2))),
    *(("probabilistic", {"R": 4, "K": 2, "set_id": set_id}) for set_id in (-1, 6, 2**70, "0", 0.0)),
    *(("scalar", {"memory": memory}) for memory in (-1, "1", None)),
]


@pytest.mark.parametrize(("protocol", "change"), WRONG_CALLS, ids=str)
def test_endpoints_that_cannot_be_made(protocol: Any, change: dict[str, Any]) -> None:
    call = {"process": "p0", "group": GROUP, **change}
    check_error(CallerError, partial(antecede.endpoint, protocol, **call))


@pytest.mark.parametrize(
    ("protocol", "change"),
    [
        ("bounded", {"k": 2**70}),
        ("scalar", {"memory": 2**70}),
        ("vector", {"process": "\ud800", "group": ["\ud800"]}),
    ],
    ids=["k", "memory", "name"],
)
def test_what_no_snapshot_can_hold_is_refused_at_once(protocol: str, change: dict[str, Any]) -> None:
    call = {"process": "p0", "group": GROUP, **change}
    check_error(CallerError, partial(antecede.endpoint, protocol, **call))
