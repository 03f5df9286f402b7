"""What comes out is handed on before the step counts: at least once, from batches, ticks and drains alike."""

from collections.abc import Collection
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from antecede.streams import ledger as ledger_module
from antecede.streams.marks import Mark, read_newest_mark
from tests.streams.driving import Driver
from tests.streams.test_ticks import say, start


class Listener:
    """Remembers what it was handed, and whether it counted by then."""

    def __init__(self, driver: Driver) -> None:
        self.heard: list[tuple[str, int]] = []
        self.folder = driver.ledger.out
        self.checkpoint = driver.ledger.checkpoint
        driver.ledger = driver.ledger._replace(publish=self.hear)

    def hear(self, mark: Mark, paths: Collection[str]) -> None:
        newest = read_newest_mark(self.checkpoint)
        assert newest is None or newest.step < mark.step
        for path in sorted(paths):
            if path.startswith(("ordered/", "late/")):
                rows = pq.ParquetFile(self.folder / path).read().to_pylist()
                self.heard += [(row["id"], row["position"]) for row in rows]


def test_batches_and_ticks_are_handed_on_once_each(tmp_path: Path) -> None:
    driver = start(tmp_path)
    listener = Listener(driver)
    driver.run_batch(0, [say(3), say(1)], 1000)
    assert listener.heard == [("g1", 0)]
    driver.ledger.give_up_expired_rows(9000)
    assert listener.heard == [("g1", 0), ("g3", 1)]
    driver.run_batch(1, [say(2)], 10_000)  # late, and it comes out as well
    driver.run_batch(1, [say(2)], 10_000)
    assert listener.heard == [("g1", 0), ("g3", 1), ("g2", 2)]


def test_a_step_that_is_tried_again_is_handed_on_again_alike(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    driver = start(tmp_path)
    listener = Listener(driver)

    def crash(checkpoint: Path, mark: Mark) -> None:
        raise RuntimeError("crash before the mark")

    with monkeypatch.context() as patch:
        patch.setattr(ledger_module, "write_commit_mark", crash)
        with pytest.raises(RuntimeError, match="crash"):
            driver.run_batch(0, [say(1), say(2)])
    driver.run_batch(0, [say(2), say(1)])
    assert listener.heard == [("g1", 0), ("g2", 1)] * 2
