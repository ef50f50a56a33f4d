"""Random nests for tiling: two matrices, up to three reductions of their rows and
columns, one after the other, and what is done with their results.

    map2 (\\u cs -> map2 (\\v x -> let w = x + x
                                 let s0 = reduce (+) 0 (map2 (\\p q -> p * q + w) u v)
                                 let s1 = reduce f32.max .. (map2 (\\p q -> p - s0) u v)
                                 in (s1, s0 - x)) (transpose b) cs) a c

Types are mixed. Numbers are small and whole, so that results are exact in any order.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random
from typing import Any

import numpy as np

TYPES = {"f32": np.float32, "f64": np.float64, "i32": np.int32, "i64": np.int64}
UNZIP = {2: "unzip", 3: "unzip3"}


@dataclass
class Nest:
    """A program as it grows: the scalars that a point knows, with their types."""

    random: Random
    given: tuple[str, ...]
    known: dict[str, str] = field(default_factory=dict)
    lines: list[str] = field(default_factory=list)

    def grow(self) -> str:
        """Make the whole program."""
        a, b, c = self.given
        self.known = {"x": c}
        if self.random.random() < 0.4:
            self.lines.append("let w = x + x")
            self.known["w"] = c
        for number in range(self.random.randint(1, 3)):
            self.reduction(number)
        types = self.random.choices([*TYPES], k=self.random.randint(1, 3))
        results = ", ".join(self.scalar(type_) for type_ in types)
        many = UNZIP.get(len(types))
        shapes = ", ".join(f"[n][o]{type_}" for type_ in types)
        body = "\n         ".join(self.lines)
        return (
            f"def main [n][m][o] (a: [n][m]{a}) (b: [m][o]{b}) (c: [n][o]{c}): "
            f"({shapes}) =\n  map2 (\\u cs -> map2 (\\v x ->\n         {body}\n"
            f"         in ({results})) (transpose b) cs) a c"
            + (f"\n  |> map {many} |> {many}" if many else "")
        )

    def reduction(self, number: int) -> None:
        """One more, which may use what is known."""
        choose, type_ = self.random.choice, self.random.choice([*TYPES])
        p, q = (cast(n, t, type_) for n, t in zip("pq", self.given, strict=False))
        point = f"{p} {choose('*+-')} {q}"
        if self.random.random() < 0.5:
            point += f" + {self.known_scalar(type_)}"
        name, least = f"s{number}", f"{type_}.lowest"
        match choose(["sum", "sum", "max", "pair"]):
            case "sum":
                made = f"{name} = reduce (+) 0 (map2 (\\p q -> {point}) u v)"
            case "max":
                made = (
                    f"{name} = reduce {type_}.max {least} (map2 (\\p q -> {point}) u v)"
                )
            case _:
                made = (
                    f"({name}, t{number}) = reduce (\\(k, l) (i, j) -> "
                    f"(k + i, {type_}.max l j)) (0, {least}) "
                    f"(map2 (\\p q -> ({point}, {p})) u v)"
                )
                self.known[f"t{number}"] = type_
        self.lines.append(f"let {made}")
        self.known[name] = type_

    def scalar(self, type_: str) -> str:
        """Something of a type."""
        if self.random.random() < 0.4:
            return self.known_scalar(type_)
        left, right = self.known_scalar(type_), self.known_scalar(type_)
        return f"{left} {self.random.choice('+-')} {right}"

    def known_scalar(self, type_: str) -> str:
        name = self.random.choice([*self.known])
        return cast(name, self.known[name], type_)


def cast(name: str, type_: str, wanted: str) -> str:
    return name if type_ == wanted else f"{wanted}.{type_} {name}"


def random_nest(seed: int) -> tuple[str, list[list[Any]]]:
    """A program with arguments of several sizes."""
    random, numbers = Random(seed), np.random.default_rng(seed)
    given = tuple(random.choice([*TYPES]) for _ in range(3))
    a, b, c = (TYPES[type_] for type_ in given)

    def whole(shape: tuple[int, int], dtype: Any) -> np.ndarray:
        return numbers.integers(-3, 4, shape).astype(dtype)

    return Nest(random, given).grow(), [
        [whole((n, m), a), whole((m, o), b), whole((n, o), c)]
        for n, m, o in ((5, 9, 7), (9, 20, 33))
    ]
