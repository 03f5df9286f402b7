"""Run the cells of a notebook and write what they show into it; `--check` fails where that differs.

    python scripts/run_notebook.py examples/tour.ipynb [--check]

A cell's output is what it prints and the value of its last line. Jupyter is not needed.
"""

import ast
import contextlib
import io
import json
import os
import sys
from pathlib import Path
from typing import Any


def run_notebook(file: Path) -> str:
    """The notebook with the outputs of all its cells, run one after the other in its own folder."""
    notebook = json.loads(file.read_text())
    names: dict[str, Any] = {"__name__": "__main__"}
    code = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    with contextlib.chdir(file.parent):
        for number, cell in enumerate(code, start=1):
            cell["execution_count"] = number
            cell["outputs"] = run_cell("".join(cell["source"]), names, number)
    return json.dumps(notebook, indent=1, ensure_ascii=False) + "\n"


def run_cell(source: str, names: dict[str, Any], number: int) -> list[dict[str, Any]]:
    """What a cell shows, in the words of the notebook format."""
    tree = ast.parse(source)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    printed = io.StringIO()
    value = None
    with contextlib.redirect_stdout(printed):
        exec(compile(tree, f"cell {number}", "exec"), names)
        if isinstance(last, ast.Expr):
            value = eval(compile(ast.Expression(last.value), f"cell {number}", "eval"), names)
    outputs: list[dict[str, Any]] = []
    if printed.getvalue():
        outputs.append({"name": "stdout", "output_type": "stream", "text": split_lines(printed.getvalue())})
    if value is not None:
        outputs.append(
            {
                "data": show_value(value),
                "execution_count": number,
                "metadata": {},
                "output_type": "execute_result",
            }
        )
    return outputs


def show_value(value: Any) -> dict[str, list[str]]:
    """A value as HTML, if it can be shown so, and as text."""
    shown = {}
    if hasattr(value, "_repr_html_"):
        shown["text/html"] = split_lines(value._repr_html_())
    shown["text/plain"] = split_lines(repr(value))
    return shown


def split_lines(text: str) -> list[str]:
    return text.splitlines(keepends=True)


def main() -> int:
    """Write, or check."""
    file = Path(sys.argv[1])
    new = run_notebook(file)
    if "--check" not in sys.argv:
        file.write_text(new)
        return 0
    if new != file.read_text():
        print(f"{file}: its cells show something else now; run python {os.path.relpath(__file__)} {file}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
