"""A study of one's own: how the stamps of two protocols grow with the number of processes.

    python examples/own_study.py [FOLDER]

Writes the costs table, a text with charts and intervals, and a page. Run it again with the same folder and it
goes on where it was stopped. (Charts need: pip install 'antecede[charts]'.)
"""

import sys

from antecede.simulate import Plan
from antecede.study import Cell, Figure, Metrics, Plot, Study, fill_grid, run_study
from antecede.study.simulated import measure_plan


def measure_cell(cell: Cell) -> Metrics:
    """Run one cell: the protocol, with so many processes, on 200 messages."""
    processes = int(cell.parameters["n"])
    plan = Plan(protocol=cell.protocol, processes=processes, messages=200, seed=cell.seed)
    return {"bytes": measure_plan(plan)["control_bytes"]}


SIZE = Figure(
    name="size",
    title="Control information over the number of processes",
    question="Which stamp is smaller?",
    grid=lambda scale: fill_grid(["matrix", "optimal"], n=[4, 8, 16]),
    measure=measure_cell,
    plots=(Plot("Bytes per message", metric="bytes", x="n"),),
    conclude=lambda results: (
        f"At n = 16 optimal needs {results.estimate('bytes', 'optimal', n=16)} bytes, "
        f"matrix {results.estimate('bytes', 'matrix', n=16)}."
    ),
    seeds={"quick": 5, "paper": 20},
)

if __name__ == "__main__":
    study = Study("mine", "My traffic", "What it is about.", (SIZE,))
    run = run_study(study, out=sys.argv[1] if len(sys.argv) > 1 else "mine")
    print(run.answers[0].text)
