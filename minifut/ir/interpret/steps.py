"""A budget of steps for a run."""

from __future__ import annotations


class TooManySteps(Exception):
    """The interpreter has used up the steps that it was given."""


class Steps:
    """A budget: one step for a round of a loop or for a point of a SOAC."""

    def __init__(self, limit: int) -> None:
        self.limit = self.left = limit

    def take(self, count: int) -> None:
        """Use some. Raises `TooManySteps` when there are none left."""
        self.left -= count
        if self.left < 0:
            raise TooManySteps
