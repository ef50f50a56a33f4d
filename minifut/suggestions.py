"""Suggestions for names that do not exist."""

from __future__ import annotations

from collections.abc import Iterable

from minifut.errors import UsageError

MOST_LISTED = 12


def nearest(
    name: str,
    known: Iterable[str],
    likeness: float = 0.6,
    most: int = 1,
    prefix: str = "",
) -> str:
    """`did you mean 'x'?`, or nothing if no known name is as like as that (0 to 1). The
    prefix is put before what is suggested."""
    import difflib

    close = difflib.get_close_matches(str(name), list(known), most, likeness)
    if not close:
        return ""
    return f"did you mean {' or '.join(repr(prefix + other) for other in close)}?"


def nearest_or_all(name: str, known: Iterable[str]) -> str:
    """The nearest name, or what names there are."""
    names = sorted(known)
    if not names:
        return "there are none"
    more = ", ..." if len(names) > MOST_LISTED else ""
    listed = f"there are: {', '.join(names[:MOST_LISTED])}{more}"
    return nearest(name, names, 0.4) or listed


def unknown(
    what: str, name: str, known: Iterable[str], others: Iterable[str] = ()
) -> str:
    """The message for a name that does not exist, with the nearest one that does;
    `others` are of another kind, and meant only where they are very like it."""
    known = list(known)
    close = nearest(name, [*known, *others], 0.8)
    return f"there is no {what} '{name}'; {close or nearest_or_all(name, known)}"


def check_names(given: Iterable[str], known: Iterable[str]) -> None:
    """Refuse tuning parameters that the program does not have."""
    names = set(known)
    for name in given:
        if name not in names:
            raise UsageError(unknown("parameter", name, names))
