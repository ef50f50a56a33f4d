"""Generated modules as Python objects.

generated_program(text).kernels      (Kernel("main_mapped", "__kernel ..."), ...)
"""

from __future__ import annotations

from functools import lru_cache
from types import CodeType
from typing import Any

from minifut.errors import NESTED_TOO_DEEPLY, UsageError

LOADED = 32
"""generated modules that are kept as Python objects"""


@lru_cache(LOADED)
def generated_program(text: str) -> Any:
    """What a generated module says about its program."""
    namespace: dict[str, Any] = {"__name__": "minifut_generated"}
    exec(host_code(text), namespace)
    return namespace["program"]


def host_code(module: str) -> CodeType:
    """The generated module as Python compiles it, which limits how deep loops nest."""
    try:
        return compile(module, "<generated module>", "exec")
    except SyntaxError as error:
        if "too many" in str(error):
            raise UsageError(f"the program {NESTED_TOO_DEEPLY}") from None
        raise
