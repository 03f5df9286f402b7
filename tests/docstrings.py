"""What is public has a docstring: the API reference is made from these."""

import inspect


def check_docstrings(thing: object) -> None:
    """See that a name, and whatever a class of ours has under a public name, tells what it is."""
    assert inspect.getdoc(thing), thing
    if not isinstance(thing, type):
        return
    for name, member in vars(thing).items():
        is_method = inspect.isfunction(member) or isinstance(member, property | classmethod | staticmethod)
        if is_method and not name.startswith("_"):
            assert inspect.getdoc(member), f"{thing.__name__}.{name}"
