"""The main job of the demo, small: only the restored order keeps causes first."""

import io

import pytest
from rich.console import Console

from antecede.demo import lake

pytestmark = pytest.mark.spark


def test_only_the_causal_order_keeps_effects_behind_their_causes(spark, tmp_path):
    console = Console(width=110, record=True, file=io.StringIO())
    readings, audits, _ = lake.show_lake(console, tmp_path, rooms=2, messages=150)
    landed, timed, ordered = readings
    assert landed.late > 0 and timed.late > 0 and ordered.late == 0
    assert landed.pairs >= landed.late
    assert timed.pairs >= timed.late
    assert ordered.pairs == 0
    # Four others and the lake get each message; in the second audit there are two readers of the lake.
    deliveries = [audit.summary.totals["deliveries"] for audit in audits]
    assert deliveries == [2 * 150 * 5, 2 * 150 * 6]
    text = console.export_text()
    assert "engine: spark" in text
    assert "lake delivered" in text and "in causal order" in text
    assert "<svg" in (tmp_path / "page.html").read_text()
