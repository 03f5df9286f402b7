"""The shop of the demo: people of three regions write to each other, and all of it lands in a lake.

Each room that they write in is a run of the simulator. What people send and read is in its events, by clocks
that disagree. Copies of all messages go to a data lake, some on slow ways: its table is in the order of
landing, with the vector stamp that each message carried.
"""

import multiprocessing
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from antecede.simulate.network import PRESETS
from antecede.simulate.run import Plan, simulate
from antecede.simulate.trace import Collected, Trace
from antecede.tables import EVENTS, MESSAGES

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


def write(folder: Path, rooms: int, messages: int, tick: Callable[[int], None]) -> None:
    """Fill folder/events and folder/landed, a file per room in each; `tick` hears of every room."""
    for name in ("events", "landed"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    with multiprocessing.get_context("spawn").Pool() as pool:
        for _ in pool.imap_unordered(partial(_write_room, folder, messages), range(rooms)):
            tick(1)


def _write_room(folder: Path, messages: int, number: int) -> None:
    events, landed = room(number, messages)
    pq.write_table(events, folder / "events" / f"room-{number:02}.parquet")
    pq.write_table(landed, folder / "landed" / f"room-{number:02}.parquet")


def room(number: int, messages: int) -> tuple[pa.Table, pa.Table]:
    """The events of a room, and the copies of its messages in the order in which they landed."""
    plan = Plan(
        protocol="vector",
        processes=len(PEOPLE),
        workload="broadcast",
        messages=messages,
        rate=RATE,
        network=PRESETS["regions"],
        seed=number,
    )
    sink = Collected(EVENTS)
    simulate(plan, lambda queue, names: Trace(queue, f"room {number:02}", names, sink, Collected(MESSAGES)))
    table = sink.table().combine_chunks()
    table = table.filter(pc.not_equal(table["kind"], "receive"))
    draws = np.random.default_rng(number)
    person = _codes(table["process"], plan.names)
    skew = draws.normal(0, SKEW, len(PEOPLE))
    time = table["time"].to_numpy() + skew[person]
    sends = np.flatnonzero(pc.equal(table["kind"], "send").to_numpy())
    stamps = _stamps(person, _codes(table["sender"], plan.names))[sends]
    landed = table["time"].to_numpy()[sends] + draws.exponential(UPLOAD, len(sends))
    sayings = pa.array(SAYINGS).take(pa.array(draws.integers(0, len(SAYINGS), len(sends))))
    copies = pa.Table.from_arrays(
        [
            table["execution"].take(sends),
            _named(person[sends]),
            table["message"].take(sends),
            sayings,
            pa.array(time[sends]),
            _maps(stamps),
            pa.array(landed),
        ],
        schema=LANDED,
    )
    return _events(table, person, time), copies.sort_by("landed")


def _events(table: pa.Table, person: Ints, time: NDArray[np.float64]) -> pa.Table:
    """The events as the people logged them, without clocks: names, own positions, and wrong times."""
    index = _places(person)
    others = pa.array([[*(p for p in PEOPLE if p != one), LAKE] for one in PEOPLE])
    sends = pc.equal(table["kind"], "send").to_numpy()
    columns = {
        "execution": table["execution"],
        "process": _named(person),
        "index": pa.array(index),
        "event": pc.binary_join_element_wise(_named(person), pc.cast(pa.array(index), pa.string()), "#"),
        "kind": table["kind"],
        "message": table["message"],
        "receivers": others.take(pa.array(person, mask=~sends)),
        "time": pa.array(time),
    }
    arrays = [columns.get(field.name, pa.nulls(len(table), field.type)) for field in EVENTS]
    return pa.Table.from_arrays(arrays, schema=EVENTS)


def _codes(column: pa.ChunkedArray, names: list[str]) -> Ints:
    return np.asarray(pc.index_in(column, pa.array(names)), dtype=np.int64)


def _named(person: Ints) -> pa.Array:
    return pa.array(PEOPLE).take(pa.array(person))


def _places(person: Ints) -> Ints:
    """The place of each event among those of its process."""
    places = np.empty(len(person), dtype=np.int64)
    for one in range(len(PEOPLE)):
        mine = np.flatnonzero(person == one)
        places[mine] = np.arange(len(mine))
    return places


def _stamps(person: Ints, sender: Ints) -> Ints:
    """For each event how many messages of everybody its process had sent or read by then."""
    seen = np.zeros((len(person), len(PEOPLE)), dtype=np.int64)
    for one in range(len(PEOPLE)):
        mine = np.flatnonzero(person == one)
        seen[mine] = np.cumsum(np.eye(len(PEOPLE), dtype=np.int64)[sender[mine]], axis=0)
    return seen


def _maps(stamps: Ints) -> pa.Array:
    offsets = pa.array(np.arange(len(stamps) + 1) * len(PEOPLE), pa.int32())
    names = pa.array(PEOPLE * len(stamps))
    return pa.MapArray.from_arrays(offsets, names, pa.array(stamps.ravel()))
