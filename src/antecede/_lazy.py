"""Packages that import a name when it is asked for: a script loads only what it uses."""

import sys
from collections.abc import Callable, Collection, Mapping
from importlib import import_module
from typing import Any


def make_lazy_importer(
    package: str, names_by_module: Mapping[str, Collection[str]], subpackages: Collection[str] = ()
) -> Callable[[str], Any]:
    """A `__getattr__` for a package: `names_by_module` has the names that each of its modules gives."""
    home_of = {name: home for home, names in names_by_module.items() for name in names}

    def import_name(name: str) -> Any:
        if name in subpackages:
            return import_module(f"{package}.{name}")
        if name not in home_of:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(import_module(f"{package}.{home_of[name]}"), name)
        setattr(sys.modules[package], name, value)
        return value

    return import_name
