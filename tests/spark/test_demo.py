"""The main job of the demo, small: only the restored order keeps causes first."""

import io

import pyarrow as pa
import pytest
from rich.console import Console

import antecede
from antecede.demo import lake
from antecede.demo.feed import LiveShop
from antecede.demo.follow import CAUSAL, SORTED, count_late_messages, run_live_shop_demo
from antecede.demo.watermark_sort import WatermarkSort
from tests.spark_session import NOT_THROUGH_CONNECT

pytestmark = pytest.mark.spark


def test_only_the_causal_order_keeps_effects_behind_their_causes(spark, tmp_path):
    console = Console(width=110, record=True, file=io.StringIO())
    story = lake.show_lake_demo(console, tmp_path, rooms=2, messages=150)
    landed, timed, ordered = story.readings
    assert landed.late > 0 and timed.late > 0 and ordered.late == 0
    # Four others and three readers of the lake get each message.
    assert story.summary.totals["deliveries"] == 2 * 150 * 7
    text = console.export_text()
    assert "engine: spark" in text
    assert "lake delivered" in text and "in causal order" in text
    assert "<svg" in (tmp_path / "page.html").read_text()


@NOT_THROUGH_CONNECT  # its jobs hand their rows to this process
def test_the_live_shop_stays_in_causal_order_while_a_producer_stalls(spark, tmp_path):
    console = Console(width=110, record=True, file=io.StringIO())
    shop = LiveShop(rooms=6, seconds=4, stall_begins=1, stall_ends=3)
    last = run_live_shop_demo(console, tmp_path / "live", shop, delay_seconds=0.5, look_every_seconds=2)
    messages = 6 * 4 * 5
    ours, theirs = last.outputs[CAUSAL], last.outputs[SORTED]
    assert (len(ours.rows), last.late[CAUSAL], last.landed) == (messages, 0, messages)
    assert len(theirs.rows) + theirs.dropped <= messages
    assert last.mark is not None and last.mark.held_rows == 0
    text = console.export_text()
    assert f"all {messages} messages, none behind an effect of it" in text
    assert text.count(" messages landed") >= 2 and "within" in text


def test_mistakes_of_an_order_are_counted():
    events, landed = LiveShop(rooms=2, seconds=3).simulate_events_and_landed_copies()
    rows = landed.append_column("out", landed["landed"])
    backwards = rows.take(list(range(len(rows)))[::-1])
    in_order = antecede.order(rows, group="room", sender="sender", stamp="stamp").ordered.sort_by("position")
    late = count_late_messages(events, {"backwards": backwards, "in order": in_order})
    assert late["in order"] == 0 and late["backwards"] > len(rows) / 3


def test_what_is_older_than_the_watermark_is_dropped():
    job = WatermarkSort(10)
    for times in ([5.0, 20.0, 3.0], [8.0, 30.0], [19.0, 31.0]):
        job.add_batch(pa.table({"time": times}))
    assert [table["time"].to_pylist() for table in job.sorted] == [[3.0, 5.0], [20.0]]
    assert job.dropped == 2
