"""Arrow without pandas: no command needs it, and loading it takes as long as auditing a small log."""

from __future__ import annotations

import sys


def load_arrow_without_pandas() -> None:
    """Import Arrow, and keep it from importing pandas.

    Arrow looks for pandas once, when it converts its first value, and loads it wherever it is installed.
    A process that has pandas already, or calls `to_pandas` later, is not affected.
    """
    if "pandas" in sys.modules:
        return
    import pyarrow as pa

    sys.meta_path.insert(0, _HiddenPandas)
    try:
        pa.array([0])
    finally:
        sys.meta_path.remove(_HiddenPandas)


class _HiddenPandas:
    """A finder of modules that says there is no pandas."""

    @staticmethod
    def find_spec(name: str, path: object = None, target: object = None) -> None:
        if name == "pandas":
            raise ModuleNotFoundError(name)
