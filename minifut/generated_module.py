"""Generated modules as Python objects.

generated_program(text).kernels      (Kernel("main_mapped", "__kernel ..."), ...)
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

LOADED = 32
"""generated modules that are kept as Python objects"""


@lru_cache(LOADED)
def generated_program(text: str) -> Any:
    """What a generated module says about its program."""
    namespace: dict[str, Any] = {"__name__": "minifut_generated"}
    exec(compile(text, "<generated module>", "exec"), namespace)
    return namespace["program"]
