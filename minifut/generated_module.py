"""Generated modules as Python objects.

generated_program(text).kernels      (Kernel("main_mapped", "__kernel ..."), ...)

What Python compiles a text to is kept in the cache folder for the next process.
"""

from __future__ import annotations

import marshal
import sys
from functools import lru_cache
from types import CodeType
from typing import Any

from minifut.cache import load_bytes, store_bytes

KIND = "code"

LOADED = 32
"""generated modules that are kept as Python objects"""


@lru_cache(LOADED)
def generated_program(text: str) -> Any:
    """What a generated module says about its program."""
    namespace: dict[str, Any] = {"__name__": "minifut_generated"}
    exec(_code(text), namespace)
    return namespace["program"]


def _code(text: str) -> CodeType:
    key = key_of(text)
    kept = load_bytes(KIND, key)
    if kept is not None:
        try:
            code = marshal.loads(kept)
        except (ValueError, EOFError, TypeError):
            code = None
        if isinstance(code, CodeType):
            return code
    code = compile(text, "<generated module>", "exec")
    store_bytes(KIND, key, marshal.dumps(code))
    return code


def key_of(text: str) -> str:
    """What code depends on: the text, and the release of Python."""
    return f"{sys.implementation.name} {sys.version}\0{text}"
