"""Tables whose entries are removed at the end of a scope."""

from __future__ import annotations

from typing import Any


class Journal:
    """The entries made into tables, with what they replaced."""

    def __init__(self) -> None:
        self.replaced: list[tuple[Any, Any, Any]] = []

    def put(self, table: Any, key: Any, value: Any) -> None:
        """Enter a value into a table until the end of the scope."""
        self.replaced.append((table, key, table.get(key)))
        table[key] = value

    def undo(self, mark: int) -> None:
        """Remove all but the first `mark` entries."""
        while len(self.replaced) > mark:
            table, key, old = self.replaced.pop()
            if old is None:
                del table[key]
            else:
                table[key] = old
