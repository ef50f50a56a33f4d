"""Random differentiable functions, as Futhark texts.

A function has two arrays and a number, binds some values by random constructs and gives
some of them. All that can grow is squashed, so that differences stay accurate; what has
kinks (extremes, branches) is met away from them but with a probability of nothing.

    python -m tests.passes.differentiate.random_functions 0 1000        interpreted
    python -m tests.passes.differentiate.random_functions 0 20 gpu      on the device
"""

from __future__ import annotations

import random
import sys
import traceback
from collections.abc import Callable

import numpy as np

import minifut
from tests.passes.differentiate.derivatives import check, entries

SIZE = 4
TYPES = [f"[{SIZE}]f64", f"[{SIZE}]f64", "f64"]

UNARY = (
    "f64.sin {0}",
    "f64.tanh {0}",
    "f64.exp (- f64.abs {0})",
    "f64.sqrt (1 + {0} * {0})",
    "f64.atan {0}",
    "f64.log (2 + {0} * {0})",
    "({0} ** 2)",
    "(-{0})",
    "f64.erf {0}",
)
BINARY = (
    "({0} + {1})",
    "({0} - 0.5 * {1})",
    "f64.sin ({0} * {1})",
    "({0} / (1.5 + {1} * {1}))",
    "f64.max {0} {1}",
    "f64.min {0} {1}",
    "f64.atan2 {0} (2 + {1} * {1})",
    "(if {0} < {1} then {0} * {1} else f64.cos {1})",
)
OPERATORS = (
    ("(+)", "0"),
    ("(*)", "1"),
    ("f64.max", "(-1000)"),
    ("f64.min", "1000"),
    ("(\\p q -> p + q + 0.1 * p * q)", "0"),
)


class Maker:
    """Makes one function; `scalars` and `vectors` are the names so far."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.scalars = ["a"]
        self.vectors = ["xs", "ys"]
        self.lines: list[str] = []

    def scalar(self) -> str:
        return self.random.choice(self.scalars)

    def vector(self) -> str:
        return self.random.choice(self.vectors)

    def place(self) -> int:
        return self.random.randrange(SIZE)

    def places(self, low: int = 0, high: int = SIZE) -> str:
        return str([self.random.randrange(low, high) for _ in range(SIZE)])

    def operator(self) -> tuple[str, str]:
        return self.random.choice(OPERATORS)

    def unary(self, x: str) -> str:
        return f"({self.random.choice(UNARY).format(x)})"

    def binary(self, x: str, y: str) -> str:
        return f"({self.random.choice(BINARY).format(x, y)})"

    def squashed(self, vector: str) -> str:
        return f"(map f64.tanh ({vector}))"

    # --- constructs ---

    def new_scalar(self) -> str:
        operator, neutral = self.operator()
        x, y, v = self.scalar(), self.scalar(), self.vector()
        body = self.binary("s", self.unary(y))
        choices: list[Callable[[], str]] = [
            lambda: self.unary(x),
            lambda: self.binary(x, y),
            lambda: f"{v}[{self.place()}]",
            lambda: f"f64.tanh (reduce {operator} {neutral} {self.squashed(v)})",
            lambda: f"f64.tanh (f64.sum {v} * {x})",
            lambda: (
                f"(loop s = {x} for _i < {self.random.randrange(4)} do f64.tanh {body})"
            ),
            lambda: f"(loop s = {x} for v in {v} do f64.tanh (s * v + {y}))",
            lambda: (
                f"(loop (s, i) = ({x}, 0i64) while i < 3 do (f64.tanh {body}, i + 1)).0"
            ),
            lambda: f"(if {x} > {y} then {self.unary(x)} else {v}[0] * {y})",
            lambda: f"#[stripmine(1)] loop s = {x} for _i < 7 do f64.tanh {body}",
        ]
        return self.random.choice(choices)()

    def new_vector(self) -> str:
        operator, neutral = self.operator()
        v, w, x = self.vector(), self.vector(), self.scalar()
        p, q = self.binary("p", "q"), self.unary("p")
        row = self.binary("p", f"{w}[(i + 1) % {SIZE}]")
        choices: list[Callable[[], str]] = [
            lambda: f"map (\\p -> {q}) {v}",
            lambda: f"map2 (\\p q -> {p}) {v} {w}",
            lambda: f"map (\\p -> {self.binary('p', x)}) {v}",
            lambda: f"map (\\i -> let p = {v}[i] in {row}) (iota {SIZE})",
            lambda: f"map (\\p -> f64.tanh (f64.sum (map (\\q -> {p}) {w}))) {v}",
            lambda: f"map (\\p -> (loop s = p for _i < 2 do f64.sin (s * {x}))) {v}",
            lambda: self.squashed(f"scan {operator} {neutral} {self.squashed(v)}"),
            lambda: (
                "map (.1) (scan (\\(a0, b0) (a1, b1) -> (a0 * a1, b0 * a1 + b1)) (1, 0)"
                f" (zip {self.squashed(v)} {self.squashed(w)}))"
            ),
            lambda: f"map (\\i -> {v}[i]) {self.places()}",
            lambda: f"scatter (copy {v}) {self.permutation()} {w}",
            lambda: self.squashed(
                f"reduce_by_index (copy {v}) {operator} {neutral}"
                f" {self.places(-1, SIZE + 1)} {self.squashed(w)}"
            ),
            lambda: self.squashed(
                f"flatten (reduce_by_index_2d (unflatten (copy {v} :> [2 * 2]f64))"
                f" {operator} {neutral} (zip {self.places(-1, 3)} {self.places(0, 2)})"
                f" {self.squashed(w)}) :> [{SIZE}]f64"
            ),
            lambda: f"(copy {v} with [{self.place()}] = {x})",
            lambda: f"reverse {v}",
            lambda: f"rotate 1 {v}",
            lambda: f"({v}[:2] ++ {w}[:2]) :> [{SIZE}]f64",
            lambda: f"replicate {SIZE} ({self.unary(x)})",
            lambda: self.squashed(
                f"reduce (map2 {operator}) (replicate {SIZE} {neutral})"
                f" [{self.squashed(v)}, {self.squashed(w)}, {self.squashed(v)}]"
            ),
            lambda: f"(if {x} > 0.1 then {v} else map (* {x}) {w})",
            lambda: (
                f"loop r = copy {v} for i < {SIZE} do"
                f" r with [i] = f64.tanh (r[(i + 1) % {SIZE}] * {w}[i] + {x})"
            ),
            lambda: f"loop r = copy {v} for i < {SIZE} do {self.updated('i', 'r')}",
            lambda: (
                f"loop r = copy {v} for i < 2 do let r = {self.updated('i', 'r')} in"
                f" loop r for j < {SIZE - 1} do {self.updated('j', 'r')}"
            ),
            lambda: (
                f"loop r = {v} for _i < 3 do map2 (\\p q -> f64.tanh {p}) (rotate 1 r) {w}"
            ),
            lambda: f"map f64.sum (transpose (map (\\q -> map (\\p -> {p}) {v}) {w}))",
            lambda: (
                f"flatten (transpose (unflatten ({v} :> [2 * 2]f64))) :> [{SIZE}]f64"
            ),
        ]
        return self.random.choice(choices)()

    def updated(self, i: str, array: str) -> str:
        """The array with an update in one branch or both."""
        value = self.unary(f"({array}[{i}] * {self.vector()}[{self.place()}])")
        update = f"{array} with [({i} + {self.place()}) % {SIZE}] = {value}"
        other = self.random.choice([array, f"{array} with [{i}] = {self.scalar()}"])
        return f"(if {array}[{i}] > {self.scalar()} then {update} else {other})"

    def permutation(self) -> str:
        """Indices that are all different, some of them out of bounds."""
        return str(self.random.sample(range(-1, SIZE + 1), SIZE))

    def function(self) -> str:
        for number in range(self.random.randrange(3, 9)):
            if self.random.random() < 0.4:
                self.lines.append(f"  let s{number} = {self.new_scalar()}")
                self.scalars.append(f"s{number}")
            else:
                made = self.new_vector()
                self.lines.append(f"  let v{number}: [{SIZE}]f64 = {made}")
                self.vectors.append(f"v{number}")
        head = f"def f (xs: [{SIZE}]f64, ys: [{SIZE}]f64, a: f64) =\n"
        last = f"  in map (* {self.scalars[-1]}) {self.vectors[-1]}\n"
        return head + "\n".join(self.lines) + "\n" + last


def check_function(seed: int, schedule: str | None = None) -> None:
    """One function at a random point, interpreted or (with a schedule) on the device."""
    point = np.random.default_rng(seed)
    arguments = (point.normal(size=SIZE), point.normal(size=SIZE), point.normal())
    text = Maker(seed).function()
    run = schedule and minifut.compile(entries(text, TYPES), schedule=schedule)
    check(text, TYPES, arguments, seed=seed, run=run or None, tolerance=1e-4)


def main(first: int, last: int, schedule: str | None = None) -> None:
    """Check many, and show those that fail."""
    failed = 0
    for seed in range(first, last):
        try:
            check_function(seed, schedule)
        except Exception:
            failed += 1
            print(f"--- {seed}\n{Maker(seed).function()}")
            print("\n".join(traceback.format_exc().splitlines()[-6:]), flush=True)
    print(f"{last - first} functions, {failed} failed")


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), *sys.argv[3:])
