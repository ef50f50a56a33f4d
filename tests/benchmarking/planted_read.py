"""minifut's command in the simulator, with kernels that leave element 1 of each array
unwritten: what reads it reads uninitialised memory."""

from __future__ import annotations

import re
from typing import Any

from benchmarks.campaign import shadow_memory
from minifut.opencl.runtime import builds

STORE = re.compile(r"^( *)((?!failure)\w+\[([^\]\[]*)\] = [^;]*;)$", re.MULTILINE)
BUILD = builds.build


def build(session: Any, handle: Any, text: str, *rest: Any) -> Any:
    """`builds.build` of kernels that do not store element 1."""
    planted = STORE.sub(r"\1if ((\3) != 1) \2", text)
    return BUILD(session, handle, planted, *rest)


if __name__ == "__main__":
    builds.build = build
    shadow_memory.main_followed()
