"""Clean logs with clocks, cut into files in random ways, are read and audited as if they were in one."""

import json
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pytest

from antecede.formats import Settings
from antecede.local.audit import audit
from antecede.local.file_sets import plan_file_sets, read_events_and_quarantine
from antecede.local.logs import read_logs
from tests.formats.samples import lines
from tests.mutations import make_clocked_log, simulate_log

Record = dict[str, Any]
COLUMNS = ("execution", "process", "kind", "message", "sender", "receivers", "clock", "time")


def list_clocked_records(random: Random) -> list[Record]:
    """A clean log with ids of messages or without; its records name their execution, or do not."""
    seed = random.randrange(10_000)
    with_ids = random.random() < 0.5
    rows = (
        simulate_log("matrix", clocks=True, seed=seed)
        if with_ids
        else make_clocked_log(seed, n=random.randint(1, 4), size=random.randint(2, 30))
    )
    clocked = [row for row in rows if row["clock"]]  # arrivals of a simulation have none
    records = [{name: row[name] for name in COLUMNS if row[name] is not None} for row in clocked]
    execution = {"execution": random.choice(["", "run7"])}
    return [record | execution | {"text": str(n)} for n, record in enumerate(records)]


def cut_by_lines(random: Random, records: list[Record], files: int) -> list[list[Record]]:
    parts: list[list[Record]] = [[] for _ in range(files)]
    for record in random.sample(records, len(records)):
        random.choice(parts).append(record)
    return parts


def cut_by_processes(random: Random, records: list[Record], files: int) -> list[list[Record]]:
    home = {record["process"]: random.randrange(files) for record in records}
    return [[one for one in records if home[one["process"]] == number] for number in range(files)]


def cut_by_time(random: Random, records: list[Record], files: int) -> list[list[Record]]:
    ends = sorted(random.randint(0, len(records)) for _ in range(files - 1))
    parts = [records[begin:end] for begin, end in zip([0, *ends], [*ends, len(records)], strict=True)]
    return random.sample(parts, files)


def write_shiviz(records: list[Record]) -> str:
    return "".join(f"{one['process']} {json.dumps(one['clock'])}\n{one['text']}\n" for one in records)


def list_rows(events: pa.Table) -> list[str]:
    """Rows without what the files are called."""
    return sorted(map(str, events.drop_columns(["file", "line", "execution"]).to_pylist()))


@pytest.mark.parametrize("cut", [cut_by_lines, cut_by_processes, cut_by_time])
@pytest.mark.parametrize("seed", range(12))
def test_a_clean_log_in_several_files_is_that_of_one(
    seed: int, cut: Callable[..., list[list[Record]]], tmp_path: Path
) -> None:
    random = Random(seed)
    records = list_clocked_records(random)
    write = random.choice([lines, write_shiviz])
    (tmp_path / "one.log").write_text(write(records))
    (tmp_path / "parts").mkdir()
    names = []
    for number, part in enumerate(cut(random, records, random.randint(2, 4))):
        names.append(str(tmp_path / "parts" / f"{number}.log"))
        Path(names[-1]).write_text(write(part))
    one, several = read_logs(tmp_path / "one.log"), read_logs(names)
    assert list_rows(several.events) == list_rows(one.events)
    assert audit(several.events).summary().counts == audit(one.events).summary().counts
    assert "counts the same events" not in (several.note or "")
    if write is lines and records[0]["execution"]:
        assert set(several.events["execution"].to_pylist()) == {"run7"}
    check_sets_of_files_give(several.events, names)


@pytest.mark.parametrize("owns", [(1, 2, 1, 2, 3), (2, 1, 3, 2, 4)], ids=["restart", "copies"])
def test_sets_of_files_give_entries_that_come_again_the_same_places(owns, tmp_path) -> None:
    records = [{"execution": "x", "process": "a", "clock": {"a": own}} for own in owns]
    names = []
    for number in range(2):
        names.append(str(tmp_path / f"{number}.log"))
        Path(names[-1]).write_text(lines(*records[2 * number : 2 + 3 * number]))
    check_sets_of_files_give(read_logs(names).events, names)


def check_sets_of_files_give(events: pa.Table, names: list[str]) -> None:
    """Sets of files that are read each by itself have these events together."""
    sets = plan_file_sets(names, None, Settings())
    parts = [read_events_and_quarantine(one, None, Settings())[0] for one in sets]
    assert sorted(map(str, pa.concat_tables(parts).to_pylist())) == sorted(map(str, events.to_pylist()))
