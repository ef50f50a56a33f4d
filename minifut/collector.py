"""Python's collector of cycles, which traverses long-lived objects again and again.

Imports and compilation make many small objects that stay, hardly ever in cycles: at its
usual thresholds the collector takes a quarter of the time of a compilation and a tenth
of that of imports.
"""

from __future__ import annotations

import gc

RARELY = (1_000_000, 20, 100)
"""thresholds of commands, and of any process while it compiles"""


def collect_rarely() -> None:
    """From now on, look for cycles rarely."""
    gc.set_threshold(*RARELY)
