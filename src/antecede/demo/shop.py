"""The shop of the demo: people of three regions write to each other, and all of it lands in a lake.

Each room that they write in is a run of the simulator. What people send and read is in its events, by clocks
that disagree. Copies of all messages go to a data lake, some on slow ways: its table is in the order of
landing, with the vector stamp that each message carried.
"""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from antecede.machine import shield_children_from_interrupt
from antecede.simulate.network import PRESETS
from antecede.simulate.queue import Queue
from antecede.simulate.run import Plan, run_with_recorder
from antecede.simulate.trace import Recorder
from antecede.tables import EVENTS

PEOPLE = ["Ana (eu)", "Bob (us)", "Chen (asia)", "Dora (eu)", "Ed (us)"]
SAYINGS = [
    "is it in stock?",
    "two left",
    "I take one",
    "sold",
    "price?",
    "12 each",
    "thanks",
    "paid",
    "shipped",
]
LAKE = "lake"
RATE = 1.0
"""Messages per second that each of them writes."""
SKEW = 150.0
"""Spread of the clocks in milliseconds."""
UPLOAD = 400.0
"""Mean time in milliseconds that a copy takes to the lake."""

LANDED = pa.schema(
    {
        "room": pa.string(),
        "sender": pa.string(),
        "message": pa.string(),
        "text": pa.string(),
        "time": pa.float64(),  # by the sender's clock
        "stamp": pa.map_(pa.string(), pa.int64()),
        "landed": pa.float64(),  # by the lake's clock
    }
)
Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


class RoomRecorder(Recorder):
    """The sends and deliveries of a run as they happen: all that the shop needs of it, in flat lists."""

    def __init__(self, queue: Queue) -> None:
        self.queue = queue
        self.people: list[int] = []
        self.senders: list[int] = []
        self.messages: list[int] = []
        self.times: list[float] = []

    def on_send(
        self,
        process: int,
        message: int,
        targets: list[int],
        depends_on: int | None,
    ) -> None:
        """A process sends."""
        self.on_deliver(process, process, message)

    def on_deliver(self, process: int, source: int, message: int) -> None:
        """A message is delivered."""
        self.people.append(process)
        self.senders.append(source)
        self.messages.append(message)
        self.times.append(self.queue.now)


class RoomLog(NamedTuple):
    """The sends and deliveries of a room in the order in which they happened."""

    person: Ints
    sender: Ints  # of the message; of a send the person itself
    message: Ints
    time: Floats  # true, and by nobody's clock

    @property
    def is_send(self) -> NDArray[np.bool_]:
        """Nobody delivers what they sent themselves."""
        return np.equal(self.person, self.sender)


def simulate_shop_and_write_tables(
    folder: Path,
    room_count: int,
    messages_per_room: int,
    report_done: Callable[[int], None],
) -> None:
    """Fill folder/events and folder/landed, a file per room in each; `report_done` hears of every room."""
    for name in ("events", "landed"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    with shield_children_from_interrupt():
        pool = multiprocessing.get_context("spawn").Pool()
    with pool:
        for _ in pool.imap_unordered(
            partial(_simulate_room_and_write_tables, folder, messages_per_room), range(room_count)
        ):
            report_done(1)


def _simulate_room_and_write_tables(folder: Path, messages: int, room: int) -> None:
    events, landed = make_room_events_and_landed_copies(room, messages)
    pq.write_table(events, folder / "events" / f"room-{room:02}.parquet")
    pq.write_table(landed, folder / "landed" / f"room-{room:02}.parquet")


def make_room_events_and_landed_copies(
    room: int,
    messages: int,
) -> tuple[pa.Table, pa.Table]:
    """The events of a room, and the copies of its messages in the order in which they landed."""
    log = _simulate_room(room, messages)
    draws = np.random.default_rng(room)
    skew = draws.normal(0, SKEW, len(PEOPLE))
    time = log.time + skew[log.person]
    name = name_room(room)
    return _make_table_of_events(name, log, time), _make_table_of_landed_copies(name, log, time, draws)


def name_room(room: int) -> str:
    """What a room is called in all tables."""
    return f"room {room:02}"


def _simulate_room(room: int, messages: int) -> RoomLog:
    """People write to all others in the room, and vector clocks keep their screens in causal order."""
    plan = Plan(
        protocol="vector",
        processes=len(PEOPLE),
        workload="broadcast",
        messages=messages,
        rate=RATE,
        network=PRESETS["regions"],
        seed=room,
    )
    recorder, _ = run_with_recorder(plan, RoomRecorder)
    return RoomLog(
        person=np.array(recorder.people, dtype=np.int64),
        sender=np.array(recorder.senders, dtype=np.int64),
        message=np.array(recorder.messages, dtype=np.int64),
        time=np.array(recorder.times, dtype=np.float64),
    )


def _make_table_of_landed_copies(
    room_name: str,
    log: RoomLog,
    clock_times: Floats,
    draws: np.random.Generator,
) -> pa.Table:
    """A copy of each message, in the order in which they landed."""
    sends = np.flatnonzero(log.is_send)
    landed = log.time[sends] + draws.exponential(UPLOAD, len(sends))
    sayings = draws.integers(0, len(SAYINGS), len(sends))
    columns = {
        "room": _repeat_text(room_name, len(sends)),
        "sender": _look_up_names_of_people(log.person[sends]),
        "message": _name_messages(log.message[sends]),
        "text": pa.array(SAYINGS).take(pa.array(sayings)),
        "time": pa.array(clock_times[sends]),
        "stamp": _make_vector_stamps(_count_messages_seen_at_each_event(log)[sends]),
        "landed": pa.array(landed),
    }
    return pa.table(columns, schema=LANDED).sort_by("landed")


def _make_table_of_events(room_name: str, log: RoomLog, clock_times: Floats) -> pa.Table:
    """The events as the people logged them, without clocks: names, own positions, and wrong times."""
    size = len(log.person)
    index = _number_events_by_person(log.person)
    people, numbers = _look_up_names_of_people(log.person), pc.cast(pa.array(index), pa.string())
    others = pa.array([[*(p for p in PEOPLE if p != one), LAKE] for one in PEOPLE])
    kinds = pa.array(["deliver", "send"])
    columns = {
        "execution": _repeat_text(room_name, size),
        "process": people,
        "index": pa.array(index),
        "event": pc.binary_join_element_wise(people, numbers, "#"),
        "kind": kinds.take(pa.array(log.is_send.astype(np.int64))),
        "message": _name_messages(log.message),
        "receivers": others.take(pa.array(log.person, mask=~log.is_send)),
        "time": pa.array(clock_times),
    }
    arrays = [columns.get(field.name, pa.nulls(size, field.type)) for field in EVENTS]
    return pa.Table.from_arrays(arrays, schema=EVENTS)


def _repeat_text(text: str, size: int) -> pa.Array:
    return pa.repeat(pa.scalar(text), size)


def _look_up_names_of_people(person: Ints) -> pa.Array:
    return pa.array(PEOPLE).take(pa.array(person))


def _name_messages(message: Ints) -> pa.Array:
    return pc.binary_join_element_wise("m", pc.cast(pa.array(message), pa.string()), "")


def _number_events_by_person(person: Ints) -> Ints:
    """The place of each event among those of its process."""
    places = np.empty(len(person), dtype=np.int64)
    for one in range(len(PEOPLE)):
        own = np.flatnonzero(person == one)
        places[own] = np.arange(len(own))
    return places


def _count_messages_seen_at_each_event(log: RoomLog) -> Ints:
    """For each event how many messages of everybody its process had sent or read by then."""
    seen = np.zeros((len(log.person), len(PEOPLE)), dtype=np.int64)
    one_of_each = np.eye(len(PEOPLE), dtype=np.int64)
    for one in range(len(PEOPLE)):
        own = np.flatnonzero(log.person == one)
        seen[own] = np.cumsum(one_of_each[log.sender[own]], axis=0)
    return seen


def _make_vector_stamps(seen_counts: Ints) -> pa.Array:
    """Vector stamps: how many messages of each person, by name."""
    offsets = pa.array(np.arange(len(seen_counts) + 1) * len(PEOPLE), pa.int32())
    names = pa.array(PEOPLE * len(seen_counts))
    return pa.MapArray.from_arrays(offsets, names, pa.array(seen_counts.ravel()))
