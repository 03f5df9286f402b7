"""The fault campaign: a slice of it, and that it finds what is broken and says how to see it again."""

import json
import shlex
import subprocess
import sys

import msgspec
import pytest
from typer.testing import CliRunner

import antecede
from antecede.cli.app import app
from antecede.cli.options import format_simulate_command
from antecede.cli.tables import make_campaign_table
from antecede.core.site import recover
from antecede.protocols import probabilistic
from antecede.protocols.matrix import Matrix
from antecede.protocols.vector import Vector
from antecede.simulate import campaign as campaigns
from antecede.simulate import linked
from antecede.simulate.applications import Applications
from antecede.simulate.campaign import FAULTS, plan_execution, run_executions
from antecede.simulate.run import Plan, simulate

EACH = 24
"""Executions per protocol of the slice that every check runs; `make campaign` runs 10,000."""


def run(*names: str, number: int = 30, seed: int = 0):
    return run_executions(number, seed, list(names), lambda done: None, workers=1)


def test_a_slice_of_the_campaign_finds_nothing_and_every_fault_happened() -> None:
    number = EACH * len(antecede.list_protocols())
    arguments = [sys.executable, "-m", "antecede", "simulate", "--campaign", str(number), "--json"]
    done = subprocess.run(arguments, capture_output=True, text=True, timeout=600, check=False)
    result = json.loads(done.stdout)
    assert (done.returncode, result["failures"], result["faults_never_seen"]) == (0, [], [])
    assert set(result["protocols"]) == set(antecede.list_protocols())
    for name, row in result["protocols"].items():
        assert row["runs"] == EACH
        assert all(row["faults"][fault] > 0 for fault in FAULTS), name
        wrong = {kind for kind, count in row["wrongs"].items() if count}
        assert not wrong & {"stuck", "lost", "duplicated"}
        assert not (wrong and antecede.list_protocols()[name].exact)
        assert row["missed"].get("sharper", 0) == 0
    assert result["protocols"]["scalar"]["wrongs"]["late"] > 0


def test_half_of_the_executions_have_every_fault_at_the_rates_that_are_asked_for() -> None:
    plans = [plan_execution(number, 0, ["matrix"]) for number in range(300)]
    full = [p for p in plans if (p.network.loss, p.network.duplicate) == (0.2, 0.2) and p.network.crashes]
    assert 100 < len(full) < 160
    assert all(plan.network.partitions and plan.network.crashes >= 4 for plan in full)
    assert {plan.workload for plan in plans} >= {"uniform", "ring", "conversation", "broadcast"}
    assert len({plan.network.delay for plan in plans}) == 5
    assert len({plan.seed for plan in plans}) == 300


def test_an_execution_is_the_same_wherever_it_runs() -> None:
    assert plan_execution(17, 5, ["matrix", "vector"]) == plan_execution(17, 5, ["matrix", "vector"])
    alone, together = (
        run("matrix", number=45),
        run_executions(45, 0, ["matrix"], lambda done: None, workers=2),
    )
    assert alone.rows == together.rows


def test_a_broken_delivery_rule_is_found_and_its_command_shows_it_again(monkeypatch) -> None:
    def careless(self, source, stamp):
        return [], [(source, int(stamp[1][source, self.me]) + 1)]

    monkeypatch.setattr(Matrix, "_find_local_needs_and_gains", careless)
    failures = run("matrix").failures
    assert failures and all("early" in failure.reason for failure in failures)
    words = shlex.split(format_simulate_command(failures[0].plan))
    result = CliRunner().invoke(app, words[1:])
    assert result.exit_code == 1 and "broke its promise" in result.output
    example = simulate(failures[0].plan).verdict.examples[0]
    assert example in result.output


@pytest.mark.parametrize("number", range(0, 90, 5))
def test_the_printed_command_is_the_plan(number: int) -> None:
    plan = plan_execution(number, 3, list(antecede.list_protocols()))
    result = json.loads(
        CliRunner().invoke(app, [*shlex.split(format_simulate_command(plan))[1:], "--json"]).stdout
    )
    assert msgspec.convert(result["plan"], Plan) == plan
    assert result["costs"] == msgspec.to_builtins(simulate(plan).costs)


def test_messages_that_never_come_out_are_found(monkeypatch) -> None:
    monkeypatch.setattr(
        Vector, "_find_local_needs_and_gains", lambda self, source, stamp: ([(source, 10**6)], [(source, 1)])
    )
    assert all("stuck" in failure.reason for failure in run("vector", number=5).failures)
    assert len(run("vector", number=5).failures) == 5


def test_a_process_that_forgets_its_journal_is_found(monkeypatch) -> None:
    monkeypatch.setattr(
        linked, "recover", lambda snapshot, inputs, *rest: recover(snapshot, inputs[:-2], *rest)
    )
    assert len(run("matrix", number=40).failures) > 5


def test_an_application_that_is_handed_everything_again_is_found(monkeypatch) -> None:
    def forgetful(snapshot, inputs, taken, restore):
        return recover(snapshot, inputs, max(taken - 1, 0), restore)

    monkeypatch.setattr(linked, "recover", forgetful)
    reasons = [failure.reason for failure in run("vector", number=40).failures]
    assert any("duplicated" in reason for reason in reasons)


def test_a_crash_in_the_simulator_itself_is_a_failure_not_an_end(monkeypatch) -> None:
    def explode(self, packet):
        raise RuntimeError("boom")

    monkeypatch.setattr(Matrix, "_decode_and_check_stamp", explode)
    failures = run("matrix", number=3).failures
    assert [failure.reason for failure in failures] == ["RuntimeError: boom"] * 3


def test_alarms_that_never_ring_are_found(monkeypatch) -> None:
    monkeypatch.setattr(probabilistic, "find_detectors_suspecting_lateness", lambda *about: ())
    reasons = [failure.reason for failure in run("scalar").failures]
    assert reasons and all("missed by the sharper detector" in reason for reason in reasons)


def test_messages_that_were_never_sent_are_found(monkeypatch) -> None:
    monkeypatch.setattr(Applications, "put_wish_back_first", lambda self, wish: None)
    reasons = [failure.reason for failure in run("matrix", number=80).failures]
    assert reasons and all("never sent" in reason for reason in reasons)


def test_needless_waits_of_who_promises_none_are_found(monkeypatch) -> None:
    def timid(self, source, stamp):
        """Waits for one message more of each sender than it must, where there is one."""
        needs, gains = rule(self, source, stamp)
        return [(x, count + (x != source)) for x, count in needs], gains

    rule = Vector._find_local_needs_and_gains
    monkeypatch.setattr(Vector, "_find_local_needs_and_gains", timid)
    assert any("waited needlessly" in failure.reason for failure in run("vector").failures)


def test_plausible_clocks_with_an_entry_for_each_are_held_to_causal_order(monkeypatch) -> None:
    assert run("plausible", number=60).failures == []
    monkeypatch.setattr(probabilistic.Plausible, "_choose_key_set_id", lambda self: 0)
    reasons = [failure.reason for failure in run("plausible", number=60).failures]
    assert any("early" in reason for reason in reasons)


def test_faults_that_never_happened_are_named_and_count_when_there_were_runs_enough(monkeypatch) -> None:
    one = run("matrix", number=1)
    assert one.unseen_faults and one.has_passed
    monkeypatch.setattr(campaigns, "OFTEN", 1)
    assert not one.has_passed and not one.failures


def test_every_column_of_the_table_has_a_name() -> None:
    table = make_campaign_table(run("matrix", number=2))
    assert all(column.header for column in table.columns)
    assert len(table.columns) == len({str(column.header) for column in table.columns}) == 15
