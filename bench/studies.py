"""Section `studies`: compiled broadcasts with shared entries, beside the event simulator and on all cores."""

from collections.abc import Iterator
from functools import partial
from tempfile import TemporaryDirectory
from time import perf_counter

from pyspark.sql import SparkSession
from rich.table import Table

from antecede.machine import count_cores
from antecede.simulate.network import Network
from antecede.simulate.run import Plan, simulate
from antecede.simulate.shared_entries import BroadcastPlan, run_broadcasts
from antecede.spark.cells import spread_over
from antecede.spark.running import open_session
from antecede.study.experiment import Cell, Figure, Scale, Study
from antecede.study.mostefaoui import FIGURE_3
from antecede.study.registry import list_studies
from antecede.study.result import StudyRun, run_study
from antecede.study.running import run_unfinished_cells_and_collect_costs
from antecede.study.store import CellStore
from bench.measure import count, least, spent, verdict

PROCESSES, ENTRIES, KEYS, GAP = 1000, 100, 4, 5000.0
DELIVERIES_PER_SECOND = 6_000_000
TIMES_THE_SIMULATOR = 100
CORES_AGAINST_ONE = 1.7
FIGURE_3_SECONDS = 480
QUICK_SECONDS = 300


def tables(quick: bool) -> Iterator[Table]:
    yield _compare_with_simulator(quick)
    yield _run_on_cores(quick)
    if not quick:
        yield _run_all_studies()


def _compare_with_simulator(quick: bool) -> Table:
    """Deliveries per second of one core, with exact counting; and of the event simulator in the same cell."""
    table = Table(title=f"Broadcasts with shared entries: N={PROCESSES}, R={ENTRIES}, K={KEYS}, on one core")
    for name in ("what", "deliveries", "deliveries/s", "bar", ""):
        table.add_column(name, justify="left" if name == "what" else "right")
    messages = 2000 if quick else 20_000
    plan = BroadcastPlan(processes=PROCESSES, R=ENTRIES, K=KEYS, gap=GAP, messages=messages)
    run_broadcasts(BroadcastPlan(processes=10, messages=100))
    seconds, run = least(partial(run_broadcasts, plan))
    speed = run.deliveries / seconds
    is_fast = verdict(speed >= DELIVERIES_PER_SECOND)
    table.add_row("compiled", count(run.deliveries), count(speed), count(DELIVERIES_PER_SECOND), is_fast)
    simulated_plan = Plan(
        protocol="probabilistic",
        processes=PROCESSES,
        workload="broadcast",
        messages=10 if quick else 40,
        rate=1000 / GAP,
        network=Network(delay="two-level:100,20,20"),
        options={"R": ENTRIES, "K": KEYS},
    )
    seconds, simulated = least(partial(simulate, simulated_plan))
    slow = simulated.costs.deliveries / seconds
    ratio = speed / slow
    is_far_ahead = verdict(ratio >= TIMES_THE_SIMULATOR)
    table.add_row("event simulator", count(simulated.costs.deliveries), count(slow), "none", "")
    table.add_row("ratio", "", f"{ratio:,.0f} ×", f"{TIMES_THE_SIMULATOR} ×", is_far_ahead)
    return table


def _run_on_cores(quick: bool) -> Table:
    """The points of Figure 3 through Spark on all cores, and a part of them on one core."""
    table = Table(title="Figure 3 of Mostefaoui and Weiss (2017) through Spark")
    for name in ("what", "cores", "deliveries", "seconds", "bar", ""):
        table.add_column(name, justify="left" if name == "what" else "right")
    share = _make_study(1)
    # Long enough that the start of jobs and workers does not count.
    scale: Scale = "quick" if quick else "paper"
    deliveries = "32,000,000" if quick else "320,000,000"
    cores = count_cores()
    one = _time_study(share, scale, 1)
    all_cores = _time_study(share, scale, cores)
    for number, seconds in ((1, one), (cores, all_cores)):
        table.add_row("a part of it", str(number), deliveries, f"{seconds:.1f}", "none", "")
    gain = one / all_cores
    is_parallel = verdict(gain >= CORES_AGAINST_ONE)
    table.add_row("gain", str(cores), "", f"{gain:.2f} ×", f"{CORES_AGAINST_ONE} ×", is_parallel)
    if not quick:
        whole = _time_study(_make_study(FIGURE_3.seeds["paper"]), "paper", cores)
        met = verdict(whole <= FIGURE_3_SECONDS)
        table.add_row("32 points", str(cores), "3,200,000,000", f"{whole:.0f}", str(FIGURE_3_SECONDS), met)
    return table


def _make_study(seeds: int) -> Study:
    """Figure 3 alone, with so many seeds."""
    figure = Figure(**{**vars(FIGURE_3), "seeds": {"quick": seeds, "paper": seeds}})
    return Study("bench", "Figure 3", "The time it takes.", (figure,))


def _time_study(study: Study, scale: Scale, cores: int) -> float:
    """Seconds on the wall for all cells, in a session that is up and has loaded the kernel in its workers."""
    with open_session(f"local[{cores}]") as spark, TemporaryDirectory() as folder:
        spread = spread_over(spark)
        warm = list(study.list_cells("quick"))[: 4 * cores]
        spread(warm, _forget_cell)  # type: ignore[arg-type]
        store = CellStore.open_folder(f"{folder}/out", study)
        start = perf_counter()
        run_unfinished_cells_and_collect_costs(study, store, scale, spread)
        return perf_counter() - start


def _forget_cell(cell: Cell) -> None:
    FIGURE_3.measure(cell)


def _run_all_studies() -> Table:
    """All studies at their quick scale, with the start of Spark, charts and pages."""
    table = Table(title="antecede study all --scale quick")
    for name in ("study", "cells", "seconds", "processor seconds", "bar", ""):
        table.add_column(name, justify="left" if name == "study" else "right")
    total = 0.0
    with TemporaryDirectory() as folder, open_session() as spark:
        for study in list_studies("all"):
            runs: list[StudyRun] = []
            time = spent(partial(_run_study, study, f"{folder}/{study.name}", spark, runs))
            total += time.wall
            cells = str(runs[0].finished.cells)
            table.add_row(study.name, cells, f"{time.wall:.0f}", f"{time.processor:.0f}", "", "")
    table.add_row("all", "", f"{total:.0f}", "", str(QUICK_SECONDS), verdict(total <= QUICK_SECONDS))
    return table


def _run_study(study: Study, out: str, spark: SparkSession, runs: list[StudyRun]) -> None:
    runs.append(run_study(study, out, "quick", spread_over(spark)))
