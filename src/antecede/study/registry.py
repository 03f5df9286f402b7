"""The studies by name."""

from importlib import import_module

from antecede.core.errors import CallerError
from antecede.study.experiment import Study

STUDIES = ("sanchez", "hoogerwoord", "mattern", "gambhire", "mostefaoui")
"""In the order of the papers."""


def get_study(name: str) -> Study:
    """The study of this name."""
    if name not in STUDIES:
        raise CallerError(f"unknown study {name!r}; choose one of {', '.join(STUDIES)}, or all")
    study: Study = import_module(f"antecede.study.{name}").STUDY
    return study


def list_studies(name: str) -> list[Study]:
    """The study of this name, or all of them."""
    names = STUDIES if name == "all" else (name,)
    return [get_study(one) for one in names]
