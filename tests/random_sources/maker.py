"""Types, what is in scope, and the choices that statements are made of."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

FLOATS = ("f16", "f32", "f64")
ELEMENTS = ("i32", "i32", "i32", "i64", "f32", "f64", "u8", "i16", "bool")
EDGES = ("T.inf", "(-T.inf)", "T.nan", "(-0.0T)", "T.highest")
LIMITS = ("T.lowest", "T.highest")
DEEPEST = 3
"""bodies within bodies, from which on there are only scalars"""


@dataclass(frozen=True, slots=True)
class Type:
    """An array of scalars; one without dimensions is a scalar."""

    element: str
    dims: tuple[str, ...] = ()

    @property
    def row(self) -> Type:
        return Type(self.element, self.dims[1:])

    def of(self, size: str) -> Type:
        """An array of these."""
        return Type(self.element, (size, *self.dims))

    def __str__(self) -> str:
        return "".join(f"[{d}]" for d in self.dims) + self.element


I32, I64 = Type("i32"), Type("i64")


@dataclass(slots=True)
class Scope:
    """What a body may use, and its statements; `sizes` are those that its results may
    have."""

    values: list[tuple[str, Type]]
    sizes: tuple[str, ...]
    depth: int = 0
    lines: list[str] = field(default_factory=list)

    def inner(self, given: Sequence[tuple[str, Type]] = ()) -> Scope:
        return Scope([*self.values, *given], self.sizes, self.depth + 1)


@dataclass(frozen=True, slots=True)
class Map:
    """What a statement maps, for relations between programs."""

    arrays: tuple[str, ...]
    function: str
    type: Type


Statement = Callable[["Maker", Scope], None]


class Maker:
    """Chooses, and makes expressions and bodies; `statements` are what bodies have."""

    def __init__(self, seed: int, statements: Sequence[Statement]) -> None:
        self.random = random.Random(seed)
        self.statements = statements
        self.count = 0
        self.declarations: list[str] = []
        self.edges = 0.0
        """how many literals are edge values"""
        self.maps: dict[str, Map] = {}

    def declare(self, text: str) -> None:
        """Put a declaration before main, once."""
        if text not in self.declarations:
            self.declarations.append(text)

    # --- choices ---

    def fresh(self, base: str = "a") -> str:
        self.count += 1
        return f"{base}{self.count}"

    def chance(self, probability: float) -> bool:
        return self.random.random() < probability

    def one_of(self, *texts: str) -> str:
        return self.random.choice(texts)

    def element(self) -> str:
        return self.random.choice(ELEMENTS)

    def find(self, scope: Scope, wanted: Callable[[Type], bool]) -> str | None:
        """A value of a wanted type; recent ones are likelier."""
        found = [name for name, type_ in scope.values if wanted(type_)]
        return self.random.choice(found[-6:]) if found else None

    def array(self, scope: Scope, most: int = 4) -> tuple[str, Type] | None:
        """An array of at most so many dimensions."""
        found = [each for each in scope.values if 0 < len(each[1].dims) <= most]
        return self.random.choice(found[-8:]) if found else None

    def arrays(self, scope: Scope) -> tuple[list[str], list[Type]] | None:
        """One to three arrays of the same outer size."""
        first = self.array(scope)
        if first is None:
            return None
        same = [each for each in scope.values if each[1].dims[:1] == first[1].dims[:1]]
        more = self.random.choice((0, 0, 1, 2))
        taken = [first, *self.random.choices(same, k=more)]
        return [name for name, _ in taken], [type_ for _, type_ in taken]

    def depth_left(self, scope: Scope) -> int:
        """How many bodies there may still be within each other."""
        return DEEPEST - scope.depth

    def known_types(self, scope: Scope) -> list[Type]:
        """Types that a body may give: all their sizes are known outside."""
        types = [t for _, t in scope.values if set(t.dims) <= set(scope.sizes)]
        return [t for t in types if len(t.dims) < 3] or [I32]

    def known_type(self, scope: Scope) -> Type:
        return self.random.choice(self.known_types(scope))

    def result_type(self, scope: Scope) -> Type:
        return Type(self.element()) if self.chance(0.6) else self.known_type(scope)

    # --- expressions ---

    def literal(self, element: str) -> str:
        if element == "bool":
            return self.one_of("true", "false")
        if self.chance(self.edges):
            return self.one_of(*(EDGES if element in FLOATS else LIMITS)).replace(
                "T", element
            )
        number = self.random.randint(0, 7)
        return f"{number / 4}{element}" if element in FLOATS else f"{number}{element}"

    def scalar(self, scope: Scope, element: str) -> str:
        """An atom: something in scope, converted if need be, or a literal."""
        own = self.find(scope, lambda t: t == Type(element))
        if own is not None and self.chance(0.7):
            return own
        source = self.one_of("i32", "i64")
        other = self.find(scope, lambda t: t == Type(source))
        if other is None or element == "bool" or self.chance(0.4):
            return self.literal(element)
        if element in FLOATS:  # so small that sums are exact
            return f"({element}.{source} ({other} % 8))"
        return f"({element}.{source} {other})"

    def operation(self, scope: Scope, element: str) -> str:
        """A scalar expression."""
        a, b = self.scalar(scope, element), self.scalar(scope, element)
        if element == "bool":
            which = self.one_of("i32", "i64")
            c, d = self.scalar(scope, which), self.scalar(scope, which)
            return self.one_of(
                f"{c} < {d}", f"{c} == {d}", f"{a} && {b}", f"{a} || {b}", f"!{a}"
            )
        least, most = f"{element}.min {a} {b}", f"{element}.max {a} {b}"
        choices = [f"{a} + {b}", f"{a} - {b}", least, most]
        if element in FLOATS:
            choices.append(f"{a} * 0.5{element}")
        else:
            choices += [f"{a} {op} {b}" for op in "*&^"]
            choices += [f"{a} % 5{element}", f"{a} // 3{element}"]
            divisor = f"(if {b} == 0 then 1 else {b})"
            choices += [f"{a} / {divisor}", f"{a} %% {divisor}"]
            choices += [f"{a} << ({b} & 7)", f"{a} >> {b}"]
        if self.chance(0.2):
            condition = self.operation(scope, "bool")
            return f"if {condition} then {a} else {self.one_of(*choices)}"
        return self.one_of(*choices)

    def index(self, scope: Scope, size: str) -> str:
        """An index that is in bounds if the size is not zero."""
        return f"{self.scalar(scope, 'i64')} % {factor(size)}"

    def value(self, scope: Scope, type_: Type) -> str:
        """An atom of a type, if possible of what is there."""
        found = self.find(scope, lambda t: t == type_)
        if found is not None and self.chance(0.8):
            return found
        if not type_.dims:
            return f"({self.operation(scope, type_.element)})"
        size = factor(type_.dims[0])
        if self.chance(0.5):
            return f"(replicate {size} {self.value(scope, type_.row)})"
        index = self.fresh("k")
        inner = scope.inner([(index, I64)])
        return f"(tabulate {size} (\\{index} -> {self.value(inner, type_.row)}))"

    def operator(self, element: str) -> tuple[str, str]:
        """An associative operator and its neutral element."""
        if element == "bool":
            return self.random.choice((("(&&)", "true"), ("(||)", "false")))
        choices = [
            ("(+)", f"0{element}"),
            (f"{element}.max", f"{element}.lowest"),
            (f"{element}.min", f"{element}.highest"),
        ]
        if element == "f16":  # its sums are not exact
            return self.random.choice(choices[1:])
        if element not in FLOATS:
            choices += [("(*)", f"1{element}"), ("(^)", f"0{element}")]
        return self.random.choice(choices)

    # --- bodies ---

    def fill(self, scope: Scope, count: int) -> None:
        """Add so many statements, where there is something to make them of."""
        for _ in range(count):
            deep = scope.depth >= DEEPEST
            make = self.statements[0] if deep else self.random.choice(self.statements)
            make(self, scope)

    def body(self, scope: Scope, types: Sequence[Type], most: int = 3) -> str:
        """Statements, and results of these types: an expression."""
        self.fill(scope, self.random.randint(0, most))
        return finished(scope, [self.value(scope, type_) for type_ in types])

    def body_of(
        self, scope: Scope, types: Sequence[Type], most: int, result: str
    ) -> str:
        """Statements, and a result with `{}` for values of these types."""
        self.fill(scope, self.random.randint(0, most))
        values = [self.value(scope, type_) for type_ in types]
        return finished(scope, [result.format(*values)])

    def function(
        self, scope: Scope, takes: Sequence[Type], gives: Sequence[Type], most: int = 3
    ) -> str:
        """A function of at most so many statements."""
        names = [self.fresh("x") for _ in takes]
        inner = scope.inner(list(zip(names, takes, strict=True)))
        return f"(\\{' '.join(names)} -> {self.body(inner, gives, most)})"

    def bind(self, scope: Scope, type_: Type, text: str) -> str:
        name = self.fresh()
        scope.lines.append(f"let {name} = {text}")
        scope.values.append((name, type_))
        return name

    def bind_all(
        self, scope: Scope, types: Sequence[Type], text: str, unzip: bool = False
    ) -> list[str]:
        """Bind one value, or the parts of a tuple or of an array of tuples."""
        if len(types) == 1:
            return [self.bind(scope, types[0], text)]
        names = [self.fresh() for _ in types]
        if unzip:
            text = f"unzip{'' if len(types) == 2 else len(types)} ({text})"
        scope.lines.append(f"let ({', '.join(names)}) = {text}")
        scope.values += zip(names, types, strict=True)
        return names


def finished(scope: Scope, results: Sequence[str]) -> str:
    """The statements of a scope before its results."""
    whole = results[0] if len(results) == 1 else f"({', '.join(results)})"
    return " ".join([*scope.lines, f"in {whole}"]) if scope.lines else whole


def factor(size: str) -> str:
    """A size as an atom."""
    return f"({size})" if " " in size else size


def mapped(arrays: Sequence[str], function: str) -> str:
    """A map over so many arrays."""
    return f"map{'' if len(arrays) == 1 else len(arrays)} {function} {' '.join(arrays)}"
