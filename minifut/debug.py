"""What a compilation prints and checks for debugging: one switch.

    MINIFUT_DEBUG=passes,rules minifut run prog.fut

    passes    each pass with its time, and the lines of printed IR that it left
    rules     the rules that each pass tried: which fired, which declined and why
    kernels   the OpenCL C of each kernel, when it is built
    verify    programs and kernel code are verified after each pass, not only the core
              at the end of a pipeline
    freeze    a pass that changes a node in place fails

Everything is written to standard error.
"""

from __future__ import annotations

import os
import sys
from functools import lru_cache

from minifut.errors import UsageError
from minifut.suggestions import unknown

VARIABLE = "MINIFUT_DEBUG"
TOPICS = ("passes", "rules", "kernels", "verify", "freeze")


def debugging(topic: str) -> bool:
    """Whether the switch names the topic."""
    return topic in _named(os.environ.get(VARIABLE, ""))


def require_known_topics() -> None:
    """Raise a `UsageError` if the switch names what does not exist."""
    for topic in sorted(_named(os.environ.get(VARIABLE, ""))):
        if topic not in TOPICS:
            raise UsageError(f"{VARIABLE}: {unknown('topic', topic, TOPICS)}")


def report(text: str) -> None:
    """Write to standard error, at once."""
    print(text, file=sys.stderr, flush=True)


@lru_cache(1)
def _named(text: str) -> frozenset[str]:
    return frozenset(word.strip() for word in text.split(",") if word.strip())
