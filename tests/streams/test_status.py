"""What a checkpoint tells of its stream: counts, what waits and since when, and the root gaps by name."""

import json
from pathlib import Path
from random import Random

import pyarrow as pa
import pytest

from antecede.local.message_order import order
from antecede.streams.marks import read_newest_mark
from antecede.streams.status import list_status, read_held
from tests.commands import here
from tests.message_rows import Row
from tests.streams.conversations import FORMS, converse, spoil
from tests.streams.driving import Driver, cut


@pytest.mark.parametrize("name", FORMS)
def test_what_waits_and_its_root_gaps_are_those_of_batch(tmp_path: Path, name: str) -> None:
    random, form = Random(4), FORMS[name]
    rows = spoil(random, form, converse(random, groups=3, count=30))
    driver = Driver(tmp_path, form.schema, group="group", **form.options)
    driver.run_all(cut(random, rows, 4))
    outcome = order(pa.Table.from_pylist(rows, form.schema), group="group", **form.options)
    status = list_status(tmp_path / "checkpoint")
    gaps = outcome.gaps.to_pylist()
    assert status["held"] == len(outcome.held) > 0
    assert status["gap_count"] == len(gaps)
    assert [gap["waiting"] for gap in status["gaps"]] == sorted(
        (gap["waiting"] for gap in gaps), reverse=True
    )
    assert {str(gap) for gap in status["gaps"]} <= {str(gap) for gap in gaps}
    assert len(status["gaps"]) == min(len(gaps), 10)
    mark = read_newest_mark(tmp_path / "checkpoint")
    assert mark is not None
    told: dict[str, list[str]] = {}
    for files in mark.buckets.values():
        bucket = read_held(tmp_path / "checkpoint", mark, files)
        ids = bucket.rows["id"].to_pylist() if len(bucket.missing) else []
        told |= dict(zip(ids, bucket.missing.to_pylist(), strict=True))
    assert told == {row["id"]: row["missing"] for row in outcome.held.to_pylist()}


def say(number: int) -> Row:
    return {"group": "g", "sender": "a", "id": "", "text": "", "stamp": number}


def test_the_command_tells_people_and_programs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    checkpoint = tmp_path / "checkpoint"
    nothing = here(monkeypatch, capsys, "status", checkpoint)
    assert nothing.code == 2 and "there is no stream" in nothing.err
    driver = Driver(tmp_path, FORMS["sequence"].schema, group="group")
    driver.run_batch(0, [say(1), say(1), say(4)], 1_700_000_000_000)
    done = here(monkeypatch, capsys, "status", checkpoint)
    counts = "3 rows, 1 ordered (0 released), 0 late, 0 held for good, 1 quarantined (1 twice)"
    assert done.code == 1
    assert done.out.splitlines() == [
        "batch 0 at 2023-11-14 22:13:20 UTC",
        f"in all: {counts}",
        f"last batch: {counts}",
        "1 row held, about 42 bytes, the oldest since 2023-11-14 22:13:20 UTC",
        "missing 1",
        "  messages 2 to 3 of a in g: 1 row waits for it",
    ]
    driver.run_batch(1, [say(2), say(3)])
    done = here(monkeypatch, capsys, "status", checkpoint, "--json")
    facts = json.loads(done.out)
    assert done.code == 0
    assert (facts["batch"], facts["held"], facts["totals"]["input"], facts["gaps"]) == (1, 0, 5, [])
