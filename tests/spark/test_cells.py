"""Studies on Spark: the same costs as in one process, and a killed run goes on."""

import os
import signal
import subprocess
import sys
import time

import pyarrow.parquet as pq

from antecede.spark.cells import spread_over
from antecede.study import run_study
from tests.commands import apart
from tests.study.small_study import count_cells, make_study


def test_the_costs_are_those_of_a_run_in_one_process(spark, tmp_path):
    here = run_study(make_study(), str(tmp_path / "here"))
    there = run_study(make_study(), str(tmp_path / "there"), spread=spread_over(spark))
    assert there.finished.run_now == 12
    assert there.finished.costs.equals(here.finished.costs)


def test_only_what_is_missing_becomes_tasks(spark, tmp_path):
    run_study(make_study(), str(tmp_path), spread=spread_over(spark))
    for one in list((tmp_path / "cells").glob("*.json"))[:3]:
        one.unlink()
    assert run_study(make_study(), str(tmp_path), spread=spread_over(spark)).finished.run_now == 3


def test_a_cell_that_fails_in_a_task_does_not_stop_the_others(spark, tmp_path):
    def measure(cell):
        if cell.seed == 2:
            raise ValueError("no such seed")
        return {"y": 1.0}

    run = run_study(make_study(measure=measure), str(tmp_path), spread=spread_over(spark))
    assert [failure.reason for failure in run.finished.failures] == ["ValueError: no such seed"] * 4


def test_a_command_that_is_killed_goes_on_where_it_was(tmp_path):
    words = ("study", "hoogerwoord", "--engine", "local", "--out", tmp_path / "out")
    arguments = [sys.executable, "-m", "antecede", *map(str, words)]
    running = subprocess.Popen(arguments, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    for _ in range(600):
        if (tmp_path / "out" / "cells").is_dir() and count_cells(tmp_path / "out") >= 5:
            break
        time.sleep(0.1)
    os.kill(running.pid, signal.SIGKILL)
    running.wait()
    finished = count_cells(tmp_path / "out")
    done = apart(*words)
    assert done.code == 0
    assert finished >= 5
    assert f"({finished} of them earlier)" in done.out
    costs = pq.read_table(tmp_path / "out" / "costs")
    assert set(costs["metric"].to_pylist()) >= {"buffer_mean", "control_bytes"}
    assert set(costs["study"].to_pylist()) == {"hoogerwoord"}
