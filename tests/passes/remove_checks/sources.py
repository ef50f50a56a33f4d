"""Random small programs that guard, clamp and wrap their indices, rightly or not.

Each is one map whose body reads an array at an index made of the position, sizes and a
number from outside; conditions are around it that may or may not make it safe. The
interpreter says which runs must fail.
"""

from __future__ import annotations

import random

HEAD = "entry main [n] [m] (k: i64) (q: i32) (xs: [n]i32) (ys: [n][m]i32) ="
SCALARS = ("k", "n", "m", "(n - 1)", "(m - 1)", "(n / 2)", "(i64.i32 q)")


def random_source(seed: int) -> str:
    """The text of a program with an entry `main`."""
    choice = random.Random(seed)
    form = choice.choice((_vector, _matrix, _loop, _early))
    return f"{HEAD}\n  {form(choice)}\n"


def _vector(choice: random.Random) -> str:
    body = _guarded(choice, _read(choice, ("i",)), ("i",))
    return f"tabulate n (\\i -> {body})"


def _matrix(choice: random.Random) -> str:
    body = _guarded(choice, _read(choice, ("i", "j")), ("i", "j"))
    return f"tabulate_2d n m (\\i j -> {body})"


def _loop(choice: random.Random) -> str:
    bound = choice.choice(("i", "i + 1", "n - i", f"({_index(choice, ('i',))})"))
    low = choice.choice(("0", "1", "k", "i"))
    body = _guarded(choice, _read(choice, ("i", "j")), ("i", "j"))
    return (
        f"tabulate n (\\i -> loop s = 0i32 for j in ({low} ..< {low} + i64.min 5 ({bound})) do"
        f" s + ({body}))"
    )


def _early(choice: random.Random) -> str:
    """A check outside of the map, of which the map may or may not make use."""
    condition = _condition(choice, ("k",))
    body = _read(choice, ("i",))
    return f"let _ = assert ({condition}) 0i32 in tabulate n (\\i -> {body})"


def _read(choice: random.Random, names: tuple[str, ...]) -> str:
    if choice.random() < 0.5:
        return f"xs[{_index(choice, names)}]"
    return f"ys[{_index(choice, names)}, {_index(choice, names)}]"


def _guarded(choice: random.Random, body: str, names: tuple[str, ...]) -> str:
    for _ in range(choice.randrange(3)):
        condition = _condition(choice, names)
        other = choice.choice(("7", _read(choice, names)))
        body = f"(if {condition} then {body} else {other})"
    return body


def _condition(choice: random.Random, names: tuple[str, ...], depth: int = 2) -> str:
    if depth and choice.random() < 0.5:
        word = choice.choice(("&&", "||"))
        left, right = (_condition(choice, names, depth - 1) for _ in range(2))
        return f"({left} {word} {right})"
    if depth and choice.random() < 0.15:
        return f"!({_condition(choice, names, depth - 1)})"
    word = choice.choice(("<", "<=", "==", "!=", ">", ">="))
    right = choice.choice(("0", "1", *SCALARS))
    return f"{_index(choice, names, 1)} {word} {right}"


def _index(choice: random.Random, names: tuple[str, ...], depth: int = 2) -> str:
    if depth == 0 or choice.random() < 0.2:
        return choice.choice((*names, *names, *SCALARS, str(choice.randrange(3))))
    one = _index(choice, names, depth - 1)
    number = str(choice.randrange(1, 4))
    other = choice.choice((*SCALARS, *names))
    return "(" + choice.choice((
        f"{one} + {number}", f"{one} - {number}", f"{one} + {other}", f"{one} - {other}",
        f"{one} * {number}", f"{one} / {number}", f"{one} % {number}", f"{one} >> {number}",
        f"{one} & {number}", f"{one} % {other}", f"{one} / {other}", f"{one} * {other}",
        f"i64.max 0 {one}", f"i64.min (n - 1) {one}", f"i64.min {other} {one}",
        f"i64.max 0 (i64.min (m - 1) {one})", f"{number} - {one}",
        f"i64.i32 (i32.i64 {one})", f"i64.i32 (i32.i64 {one} + q)", f"i64.abs {one}",
        f"(if {one} < {other} then {one} else {other})", f"{one} // {number}",
        f"{one} %% {number}", f"{one} << {number}",
    )) + ")"  # fmt: skip
