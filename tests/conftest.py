"""Random examples take as long as they take: a busy machine is no failure. Kernel code
is verified after each pass."""

from __future__ import annotations

import os

from hypothesis import settings

os.environ.setdefault("MINIFUT_DEBUG", "verify")

settings.register_profile("unhurried", deadline=None)
settings.load_profile("unhurried")
