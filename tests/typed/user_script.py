"""What a user writes: each line must please a strict checker, and tell it what it says here."""

from typing import assert_type

from pyspark.sql import DataFrame, SparkSession

import antecede
import antecede.spark as causal
from antecede import live
from antecede.simulate import Exploration, Network, Plan, Run, explore, simulate


def audit_logs(path: str) -> None:
    logs = antecede.read_logs([path], settings=antecede.Settings(kinds={"publish": "send"}))
    assert_type(logs, antecede.Logs)
    assert_type(logs.files, list[antecede.FileRead])
    audit = antecede.audit(logs.events)
    audit.page("page.html")
    summary = audit.summary()
    assert_type(summary, antecede.Summary)
    assert_type(summary.counts, dict[str, int])
    assert_type(summary.verdict, str)
    assert_type(antecede.compare(logs.events).advice, list[antecede.Advice])
    assert_type(antecede.__version__, str)


def order_rows(messages: object) -> None:
    outcome = antecede.order(messages, group="room", members=["a", "b"])
    assert_type(outcome, antecede.Outcome)
    assert_type(outcome.counts(), dict[str, int])
    ordered, held, quarantine = antecede.order_events(messages)
    print(ordered, held, quarantine)


def talk() -> None:
    end = antecede.endpoint("optimal", process="a", group=["a", "b"])
    assert_type(end, antecede.Endpoint)
    effects = end.send(b"hello", to=["b"])
    assert_type(effects.packets, list[antecede.Packet])
    assert_type(antecede.list_protocols(), dict[str, antecede.Facts])
    site = antecede.Site(end, antecede.make_link("a", ["a", "b"]))
    assert_type(antecede.recover(site.snapshot(), [], 0, antecede.restore).site, antecede.Site)
    try:
        antecede.decode(b"")
    except antecede.InputError as error:
        print(error)


async def join_a_group() -> None:
    async with live.join("optimal", process="a", peers={"b": "tcp://localhost:7002"}) as node:
        assert_type(node, live.Node)
        await node.send(b"hello", to=["b"])
        async for delivery in node:
            assert_type(delivery, live.LiveDelivery)


def run_networks() -> None:
    assert_type(simulate(Plan(protocol="optimal", network=Network(loss=0.1))), Run)
    assert_type(explore("P1: s x->2. P2: r", "optimal"), Exploration)


def run_on_spark(spark: SparkSession, messages: DataFrame) -> None:
    with causal.read_logs(spark, "logs/") as logs, causal.audit(logs.events) as audit:
        assert_type(logs.events, DataFrame)
        assert_type(audit.summary(), antecede.Summary)
        assert_type(audit.findings, DataFrame)
    with causal.order(messages, group="room") as outcome:
        ordered, held, quarantine = outcome
        assert_type(ordered, DataFrame)
        print(held, quarantine)
    assert_type(causal.order_events(logs.events).counts(), dict[str, int])
    assert_type(messages.transform(causal.with_order(group="room")), DataFrame)
    query = causal.order_stream(messages, out="out", checkpoint="state", group="room")
    query.awaitTermination()
