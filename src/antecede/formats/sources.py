"""From what a user names (files, folders, globs) to the list of files to read. Contents are not looked at."""

import glob
import os
from collections.abc import Sequence
from pathlib import Path

from antecede.core.errors import CallerError

PathLike = str | os.PathLike[str]


def normalize_paths(paths: PathLike | Sequence[PathLike]) -> list[str]:
    """One path or several, as a list of texts."""
    if isinstance(paths, str | os.PathLike):
        paths = [paths]
    return [os.fspath(path) for path in paths]


def list_files(paths: list[str]) -> list[str]:
    """All files, each once: arguments in the order given, folders recursively and sorted.

    In folders, names that begin with a dot or an underscore are skipped: hidden files, and Spark's markers.
    """
    if not paths:
        raise CallerError("no input; name files, folders or globs")
    found: dict[str, str] = {}
    for path in paths:
        for file in _list_files_of_path(path):
            _check_name_is_text(file)
            found.setdefault(os.path.realpath(file), file)
    return list(found.values())


def _check_name_is_text(file: str) -> None:
    """Neither Arrow nor Java has a name for a file whose name is no text."""
    shown = os.fsencode(file).decode(errors="backslashreplace")
    if shown != file:
        raise CallerError(f"{shown}: the name of this file is not UTF-8; rename it")


def _list_files_of_path(path: str) -> list[str]:
    if os.path.isdir(path):
        return _list_files_of_folder(path)
    if os.path.exists(path):
        if not os.path.isfile(path):
            raise CallerError(f"{path}: is a pipe or a device; write it into a file first")
        return [path]
    found = sorted(glob.glob(path, recursive=True))
    if not found:
        wild = glob.has_magic(path)
        raise CallerError(
            f"{path}: " + ("matches no file" if wild else "no such file or folder") + "; check the path"
        )
    return [file for one in found for file in (_list_files_of_folder(one) if os.path.isdir(one) else [one])]


def is_empty_folder(path: str) -> bool:
    """Whether this is a folder without any file that would be read."""
    return os.path.isdir(path) and not _find_files_below(path)


def _list_files_of_folder(path: str) -> list[str]:
    files = _find_files_below(path)
    if not files:
        raise CallerError(f"{path}: the folder has no files; name one that has")
    return files


def _find_files_below(path: str) -> list[str]:
    files = []
    for folder, inner, names in os.walk(path, onerror=_raise_unlistable_folder):
        inner[:] = sorted(name for name in inner if not _is_hidden(name))
        files += [os.path.join(folder, name) for name in names if not _is_hidden(name)]
    return sorted(file for file in files if Path(file).is_file())


def _is_hidden(name: str) -> bool:
    return name.startswith((".", "_"))


def _raise_unlistable_folder(error: OSError) -> None:
    raise CallerError(f"{error.filename}: cannot be listed ({error.strerror}); check its permissions")
