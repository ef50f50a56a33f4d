"""`make demo`: runs the examples one after the other and sums up.

Each example compiles a Futhark program, runs it on real input, draws a picture and
checks the result against NumPy or scikit-learn; here only their verdicts are counted.
"""

from __future__ import annotations

import sys
import time

import diffusion
import digits
import principal_components

EXAMPLES = (principal_components, diffusion, digits)


def main() -> int:
    failed = 0
    started = time.perf_counter()
    for number, example in enumerate(EXAMPLES, 1):
        title = (example.__doc__ or "").split("\n")[0]
        print(f"[{number}/{len(EXAMPLES)}] {title}", flush=True)
        failed += bool(example.main())
        print(flush=True)
    seconds = time.perf_counter() - started
    if failed:
        print(f"{failed} of {len(EXAMPLES)} examples FAILED ({seconds:.1f} s)")
        return 1
    print(f"all {len(EXAMPLES)} examples agree with their references ({seconds:.1f} s)")
    return 0


if __name__ == "__main__":
    sys.exit(main())
