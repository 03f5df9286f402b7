"""How commands show their help: values by plain words, flags without any, arguments as one types them."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from typing import Any

from typer.core import TyperCommand, TyperGroup

_WORDS = {"int": "NUMBER", "float": "NUMBER", "str": "TEXT", "list[str]": "TEXT", "Path": "PATH"}
_REQUIRED = re.compile(r"\{(.+)\}((?:\.\.\.)?)")
"""An argument as Typer shows it in the line of usage."""


class PlainCommand(TyperCommand):
    """A command with plain help."""

    def get_params(self, ctx: Any) -> list[Any]:
        return [_set_displayed_type(param) for param in super().get_params(ctx)]

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        return [_REQUIRED.sub(r"\1\2", piece) for piece in super().collect_usage_pieces(ctx)]


class PlainGroup(TyperGroup):
    """A command with subcommands, the same."""

    def get_params(self, ctx: Any) -> list[Any]:
        return [_set_displayed_type(param) for param in super().get_params(ctx)]


def build_command_help(command: Callable[..., None]) -> str:
    """The help of a command: what stands behind its name, with lines that a terminal can fold as it likes."""
    text = inspect.cleandoc(command.__doc__ or "")
    return re.sub(r"(?<!\n)\n(?!\n)", " ", text)


def _set_displayed_type(param: Any) -> Any:
    """The parameter, which shows what its value is; Typer has no setting for that."""
    word = _choose_displayed_type(param)
    vars(param)["display_type_rich"] = lambda ctx: word
    return param


def _choose_displayed_type(param: Any) -> str | None:
    if param.param_type_name == "argument" or param.is_flag:
        return None
    if param.metavar is not None:
        return str(param.metavar)
    return _WORDS.get(param.bare_type(), "VALUE")
