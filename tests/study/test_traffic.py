"""The communication that logs tell of: messages or what stands for them, times that fit, what is left out."""

import numpy as np
import pytest

from antecede.events.graph import build_event_graph
from antecede.formats import read
from antecede.simulate.recording import EVERYTHING, NOTHING
from antecede.simulate.replay import replay
from antecede.study.traffic import Traffic, find_traffic
from tests.commands import story
from tests.formats.samples import lines


def find_only_traffic(*records: dict[str, object]) -> Traffic:
    (traffic,) = find_traffic(build_event_graph(read(lines(*records).encode(), "log").events))
    return traffic


def tell(told: str, *times: float | None) -> list[dict[str, object]]:
    """The records of a story, with a time for each."""
    records = story(told)
    if times:
        assert len(times) == len(records)
        records = [record | {"time": time} for record, time in zip(records, times, strict=True)]
    return records


TRIANGLE = "a send x; a send y; b deliver y; b send z; c deliver z; c deliver x"


def test_messages_with_their_times() -> None:
    traffic = find_only_traffic(*tell(TRIANGLE, 1000, 1001, 1011, 1012, 1017, 1100))
    recording = traffic.recording
    assert recording is not None and traffic.notes == []
    assert recording.names == ["a", "b", "c"] and recording.unit == "ms"
    assert recording.sender.tolist() == [0, 0, 1]
    assert recording.target.tolist() == [2, 1, 2]
    assert recording.sent.tolist() == [0, 1, 12]
    assert recording.travel.tolist() == [100, 10, 5]
    assert recording.heard.tolist() == [0, 0, 1]
    assert recording.handed.tolist() == [1, 2, 0]  # y at b; z, then x at c
    assert recording.handed_starts.tolist() == [0, 0, 1, 3]
    assert recording.depends_on.tolist() == [EVERYTHING] * 3


def test_a_message_that_was_sent_again_is_one_message_also_where_it_is_lost() -> None:
    one, again, *others = tell("a send m; a send m; b deliver m; c step")
    records = [one | {"receivers": ["b"]}, again | {"receivers": ["c"]}, *others]
    recording = find_only_traffic(*records).recording
    assert recording is not None and recording.sender.tolist() == [0]
    assert recording.target.tolist() == [1, 2]


def test_an_arrival_before_the_delivery_is_when_it_arrived() -> None:
    told = "a send x; b receive x; b deliver x"
    traffic = find_only_traffic(*tell(told, 0, 10, 25))
    assert traffic.recording is not None
    assert traffic.recording.travel.tolist() == [10]


def test_without_times_each_event_of_a_message_takes_a_step() -> None:
    traffic = find_only_traffic(*tell(TRIANGLE))
    recording = traffic.recording
    assert recording is not None and recording.unit == "steps"
    assert traffic.notes == [
        "the log has no times: delays are in steps, of which each event of a message takes one"
    ]
    assert recording.sent.tolist() == [0, 1, 3]
    assert recording.travel.tolist() == [5, 1, 1]


def test_times_that_are_all_the_same_are_no_times() -> None:
    traffic = find_only_traffic(*tell(TRIANGLE, 7, 7, 7, 7, 7, 7))
    assert traffic.recording is not None and traffic.recording.unit == "steps"
    assert traffic.notes[0].startswith("all times of the log are the same: delays are in steps")


def test_times_are_raised_until_nothing_is_before_its_cause() -> None:
    """b's clock is behind by 1000: it delivers y at 11, and a sent that at 1001."""
    traffic = find_only_traffic(*tell(TRIANGLE, 1000, 1001, 11, 12, 1017, 1100))
    recording = traffic.recording
    assert recording is not None
    assert recording.sent.tolist() == [0, 1, 1] and recording.travel.tolist() == [100, 0, 16]
    (note,) = traffic.notes
    assert note.startswith("2 times of 6 raised so that nothing is before its cause")


def test_an_event_without_a_time_gets_the_earliest_that_causes_allow() -> None:
    traffic = find_only_traffic(*tell(TRIANGLE, 0, 1, None, 12, 17, 100))
    assert traffic.recording is not None
    assert traffic.recording.travel.tolist() == [100, 0, 5]
    assert traffic.notes == ["1 event without a time got the earliest that causes allow"]


def test_copies_that_never_came_travel_for_the_median() -> None:
    records = tell("a send x; b deliver x; a send y", 0, 10, 20)
    records[0]["receivers"] = ["b", "c"]
    records[2]["receivers"] = ["b"]
    traffic = find_only_traffic(*records)
    recording = traffic.recording
    assert recording is not None
    assert traffic.notes == ["2 messages never delivered in the log: replayed with the median travel time"]
    assert recording.travel.tolist() == [10, 10, 10] and recording.starts.tolist() == [0, 2, 3]
    assert recording.handed.tolist() == [0]


def test_messages_to_oneself_and_from_the_future_are_left_out() -> None:
    told = "a send x; a deliver x; b deliver y; b send q; a deliver q; a send y"
    traffic = find_only_traffic(*tell(told))
    assert traffic.recording is not None and traffic.recording.messages == 1
    assert traffic.notes[:2] == [
        "1 message from a process to itself left out: no protocol carries it",
        "1 message delivered before it was sent left out",
    ]


def test_causes_in_other_processes_stand_for_messages() -> None:
    records: list[dict[str, object]] = [
        {"process": "a", "event": "a1", "clock": {"a": 1}},
        {"process": "b", "event": "b1", "clock": {"a": 1, "b": 1}},
        {"process": "c", "event": "c1", "clock": {"a": 1, "b": 1, "c": 1}},
        {"process": "d", "event": "d1", "clock": {"a": 1, "d": 1}},
    ]
    traffic = find_only_traffic(*records)
    recording = traffic.recording
    assert recording is not None
    assert traffic.notes[0] == (
        "the log has no messages that were delivered: 3 direct causes in other processes stand for them"
    )
    assert recording.messages == 2  # a1 goes to b and d
    assert recording.starts.tolist() == [0, 2, 3]
    assert recording.target.tolist() == [1, 3, 2]
    assert recording.heard.tolist() == [0, 1]  # b1 takes a1, then sends


@pytest.mark.parametrize(
    ("told", "reason"),
    [
        ("a step; b step", "no process hears of another"),
        ("b deliver x", "no process hears of another: no message was both sent and delivered"),
        ("a send x; b send y", "2 messages sent and none delivered"),
    ],
)
def test_nothing_to_replay_has_a_reason(told, reason) -> None:
    records = tell(told)
    for record in records:
        if record["kind"] == "send":
            record["receivers"] = ["c"]
    traffic = find_only_traffic(*records)
    assert traffic.recording is None
    assert reason in traffic.notes[-1]


def test_parents_say_what_messages_depend_on() -> None:
    records = tell(TRIANGLE, 0, 1, 11, 12, 17, 100)
    records[0]["parents"] = []
    records[1]["parents"] = ["e0"]  # a's own send of x
    records[3]["parents"] = ["e1"]  # a's send of y, which b has by its delivery
    traffic = find_only_traffic(*records)
    assert traffic.recording is not None and traffic.recording.declares_dependence
    assert traffic.recording.depends_on.tolist() == [NOTHING, 3 + 0, 1]


def test_several_parents_are_everything_before() -> None:
    records = tell("a send x; a send y; a send z; b deliver x; b deliver y; b deliver z", 0, 1, 2, 3, 4, 5)
    for at, parents in enumerate([[], [], ["e0", "e1"]]):
        records[at]["parents"] = parents
    traffic = find_only_traffic(*records)
    assert traffic.recording is not None
    assert traffic.recording.depends_on.tolist() == [NOTHING, NOTHING, EVERYTHING]
    assert "1 message with several parents" in traffic.notes[-1]


def test_odd_names_are_members_of_a_group() -> None:
    odd = {"a": "", "b": "x\ny", "c": "x\\ny"}
    records = [record | {"process": odd[str(record["process"])]} for record in tell(TRIANGLE)]
    traffic = find_only_traffic(*records)
    assert traffic.recording is not None
    names = traffic.recording.names
    assert names == sorted(names) and len(set(names)) == len(names)
    assert replay(traffic.recording, "matrix", {}).finished


def test_each_execution_has_its_own_recording() -> None:
    records = []
    for execution in ("one", "two"):
        records += [record | {"execution": execution} for record in tell(TRIANGLE)]
    events = read(lines(*records).encode(), "log").events
    first, second = find_traffic(build_event_graph(events))
    assert (first.execution, second.execution) == ("one", "two")
    assert first.recording is not None and second.recording is not None
    assert np.array_equal(first.recording.travel, second.recording.travel)
    assert first.recording.names == second.recording.names == ["a", "b", "c"]
