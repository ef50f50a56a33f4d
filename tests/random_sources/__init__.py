"""Random well-typed source programs that fusion, flattening and versions have work in.

    def main [n][m] (xs: [n]i32) (yss: [n][m]i32) ... =
      let a1 = map2 (\\x ys -> let a2 = scan (+) 0 ys in reduce i32.max x a2) xs yss
      let (a3, a4) = loop (s, zs) = (0, xs) for i < 3 do (s + 1, map (+ s) zs)
      in (a1, a3, a4)

Bodies are rows of statements over what is in scope, so that results are used several
times; sizes are n, m, 3, and within bodies numbers that depend on the data. Integers
wrap and floats are few halves of small numbers, so that results are exact in whatever
order they are computed. No run fails: indices are guarded, and what a scatter writes
goes to different places.

`maker` chooses and makes bodies; the others make one kind of statement each. As a
program, this writes files: `python -m tests.random_sources FOLDER FIRST LAST`.
"""

from __future__ import annotations

from tests.random_sources.program import random_source

__all__ = ["random_source"]
