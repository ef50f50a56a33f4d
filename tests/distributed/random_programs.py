"""Random programs for the planner: nests of maps, reductions, scans, histograms, filters
and loops over one size, with results that chunks must not change.

    entry main [n] (xs: [n]i32) (ys: [n]i32) (zs: [7]i32) =
      let a = map2 (\\x y -> x * 3 + y % 5) xs ys
      let s = reduce (+) 0 a
      let b = scan i32.max i32.lowest (map (+ s) a)
      in (b, s, zs)

Integers wrap, so that every grouping of an associative operator gives the same bits.
"""

from __future__ import annotations

import random

OPERATORS = [("(+)", "0"), ("i32.max", "i32.lowest"), ("i32.min", "i32.highest")]
BINS = 7


class Maker:
    """Names in scope by what they are: arrays over the size (`spread`), arrays that
    every chunk needs (`small`), and scalars."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.spread = ["xs", "ys"]
        self.small = ["zs"]
        self.scalars = ["3i32"]
        self.lines: list[str] = []

    def fresh(self, kind: list[str], text: str, indent: str = "  ") -> str:
        name = f"v{len(self.lines)}"
        self.lines.append(f"{indent}let {name} = {text}")
        kind.append(name)
        return name

    def pick(self, names: list[str]) -> str:
        return self.random.choice(names)

    def term(self, x: str, y: str) -> str:
        """A scalar of two elements, of a scalar, and maybe of a small array."""
        s, z = self.pick(self.scalars), self.pick(self.small)
        return self.random.choice(
            [
                f"{x} * 3 + {y} % 5",
                f"if {x} > {y} then {x} - {s} else {y}",
                f"{x} + {z}[i64.i32 (i32.abs ({y} % {BINS}))]",
                f"i32.sum (map (* {x}) {z}) + {y}",
                f"(loop t = {x} for i < 3 do t * {s} + i) - {y}",
            ]
        )

    def mapped(self) -> str:
        return f"map2 (\\x y -> {self.term('x', 'y')}) {self.two()}"

    def two(self) -> str:
        return f"{self.pick(self.spread)} {self.pick(self.spread)}"

    def step(self) -> None:
        operator, neutral = self.random.choice(OPERATORS)
        match self.random.choice(
            ["map", "map", "reduce", "scan", "hist", "rows", "loop"]
        ):
            case "map":
                self.fresh(self.spread, self.mapped())
            case "reduce":
                self.fresh(
                    self.scalars, f"reduce {operator} {neutral} ({self.mapped()})"
                )
            case "scan":
                self.fresh(self.spread, f"scan {operator} {neutral} ({self.mapped()})")
            case "hist":
                self.fresh(
                    self.small,
                    f"reduce_by_index (replicate {BINS} {neutral}) {operator} {neutral} "
                    f"(map (\\x -> i64.i32 x % {BINS + 1}) {self.pick(self.spread)}) "
                    f"({self.mapped()})",
                )
            case "rows":
                rows = f"map (\\x -> map (\\z -> x * z) {self.pick(self.small)})"
                self.fresh(
                    self.small,
                    f"map (reduce {operator} {neutral}) "
                    f"(transpose ({rows} {self.pick(self.spread)})) :> [{BINS}]i32",
                )
            case "loop":
                self.fresh(
                    self.spread,
                    f"loop a = {self.pick(self.spread)} for _i < 2 do "
                    f"let t = reduce {operator} {neutral} a in map (\\x -> x + t) a",
                )

    def program(self, steps: int) -> str:
        """The source of one entry point `main`."""
        for _ in range(steps):
            self.step()
        results = [self.spread[-1], self.scalars[-1], self.small[-1]]
        if self.random.random() < 0.4:
            last = self.pick(self.spread)
            self.fresh([], f"filter (\\x -> x % 3 == 1) {last}")
            results = [f"v{len(self.lines) - 1}", *results[1:]]
        body = "\n".join(self.lines)
        return (
            f"entry main [n] (xs: [n]i32) (ys: [n]i32) (zs: [{BINS}]i32) =\n"
            f"{body}\n  in ({', '.join(results)})\n"
        )
