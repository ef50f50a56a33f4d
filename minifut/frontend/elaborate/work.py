"""The state of elaboration: where statements go, and what is known.

There is one `Work` for a whole program: the builder of the body being made, the
location and the mode in which statements are made, and facts about variables that make
checks needless.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from minifut.errors import CompileError, Location, error
from minifut.frontend.elaborate.values import Leaf, Value, scalar, size_of
from minifut.ir import core
from minifut.ir.builder import Builder
from minifut.ir.constant_folding import fold
from minifut.ir.core import Atom, Constant
from minifut.ir.node import immutable
from minifut.ir.scalars import Operator, convert, operator
from minifut.ir.sizes import Size
from minifut.ir.types import I64, SCALARS, ScalarType, Type
from minifut.names import Name, NameSource

if TYPE_CHECKING:
    from minifut.frontend.elaborate.environment import Term
    from minifut.frontend.elaborate.functions import Specialisations


LARGEST_TRACKED_SIZE = 8
"""terms of a polynomial beyond which an i64 is no longer tracked as a size"""
LARGEST_FACTOR = 1 << 40
"""arithmetic with greater factors is not about sizes, and wraps"""


@immutable
class Mode:
    """How statements are made: behind which calls, with checks or without (`unsafe`),
    in the function of a SOAC, warning of checks, with which attributes."""

    calls: tuple[Location, ...] = ()
    unsafe: bool = False
    in_soac: bool = False
    warns_of_checks: bool = False
    attributes: tuple[str, ...] = ()


class Work:
    """`warn` reports something dubious; `prelude_value` gives a value of the prelude by
    its unique name; see the module."""

    def __init__(
        self,
        names: NameSource,
        specialisations: Specialisations,
        warn: Callable[[Location, str], None],
        prelude_value: Callable[[Name], Term | None],
    ) -> None:
        self.names = names
        self.specialisations = specialisations
        self.warn = warn
        self.prelude_value = prelude_value
        self.build = Builder(names, {})
        self.constants = self.build
        self.location: Location | None = None
        self.mode = Mode()
        self.known = KnownVariables()
        self.has_accumulators = False

    # --- statements ---

    @property
    def place(self) -> Location | None:
        """Where statements are from: in the user's files if a call there led here."""
        return None if self.location is None else self.place_of(self.location)

    def place_of(self, location: Location) -> Location:
        """The location, or for one in the prelude that of the call that led there."""
        if location.in_prelude:
            return next((c for c in self.mode.calls if not c.in_prelude), location)
        return location

    def emit(self, exp: core.Exp, base: str, type_: Type | None = None) -> Name:
        """Bind the one result of an expression."""
        self.build.location = self.place
        return self.build.let(exp, base, type_)

    def leaf(self, exp: core.Exp, base: str = "x") -> Leaf:
        """An expression's one result as a leaf."""
        name = self.emit(exp, base)
        return scalar(name, self.build.scope[name])

    def op(self, name: str, *operands: Leaf) -> Leaf:
        """A scalar operator at the type of its first operand."""
        table = operator(name, operands[0].scalar_type)
        atoms = tuple(leaf.atom for leaf in operands)
        folded = fold_constants(table, atoms)
        if folded is not None:
            return scalar(folded, folded.type)
        return self.leaf(core.ScalarOp(table, atoms), name)

    def convert(self, leaf: Leaf, target: ScalarType) -> Leaf:
        """A scalar as another type; a signed integer is extended by zeros to a wider
        unsigned one."""
        source = leaf.scalar_type
        if source == target:
            return leaf
        widens = source.kind == "int" and source.bits < target.bits
        if widens and target.kind == "uint":
            leaf = self.convert(leaf, SCALARS["u" + source.name[1:]])
            source = leaf.scalar_type
        table = convert(source, target)
        folded = fold_constants(table, (leaf.atom,))
        if folded is not None:
            return scalar(folded, target)
        return self.leaf(core.ScalarOp(table, (leaf.atom,)), f"to_{target}")

    def size_leaf(self, size: Size, base: str = "size") -> Leaf:
        """A size as an i64."""
        self.build.location = self.place
        return Leaf(self.build.size_atom(size, base), I64, size)

    # --- nesting ---

    def assume_natural(self, size: Size) -> None:
        """A check has been made, where checks are: the size is not negative."""
        if not self.mode.unsafe:
            self.known.assume_natural(size)

    @contextmanager
    def under(self, mode: Mode) -> Iterator[None]:
        """Statements are made in another mode for a while."""
        before = self.mode, self.location
        self.mode = mode
        try:
            yield
        finally:
            self.mode, self.location = before

    @contextmanager
    def nested(self) -> Iterator[Builder]:
        """Statements go to an inner body for a while, which may not be run."""
        outer, mode = self.build, self.mode
        self.build = outer.nested()
        self.build.attributes = ()
        if mode.attributes:
            self.mode = replace(mode, attributes=())
        try:
            with self.known.forgetting_assumed():
                yield self.build
        finally:
            self.build, self.mode = outer, mode

    @contextmanager
    def at_top(self) -> Iterator[None]:
        """Statements go to the program's constants for a while."""
        build, self.build = self.build, self.constants
        start = len(self.constants.statements)
        mode = Mode(warns_of_checks=self.mode.warns_of_checks)
        try:
            with self.under(mode):
                yield
        finally:
            for statement in self.constants.statements[start:]:
                self.known.globals.update(p.name for p in statement.pattern)
            self.build = build

    @contextmanager
    def apart(self, unsafe: bool) -> Iterator[Builder]:
        """Statements go to the body of another function for a while."""
        mode = replace(self.mode, calls=(), unsafe=unsafe)
        with self.under(mode), self.nested() as build:
            yield build

    @contextmanager
    def without_checks(self) -> Iterator[None]:
        """`#[unsafe]`: nothing is checked."""
        before = self.mode
        self.mode = replace(before, unsafe=True)
        try:
            yield
        finally:
            self.mode = before

    @contextmanager
    def attributed(self, attributes: tuple[str, ...]) -> Iterator[None]:
        """Statements of this body carry more attributes for a while."""
        before = self.mode
        more = before.attributes + attributes
        self.mode = replace(before, attributes=more)
        self.build.attributes = more
        try:
            yield
        finally:
            self.mode = before
            self.build.attributes = before.attributes

    def mark(self) -> int:
        """A point in time: names made later are `inner` to it."""
        return self.names.fresh("mark").tag

    def is_inner(self, size: Size, mark: int) -> bool:
        """Does it mention a name made since the mark (other than global ones)?"""
        return any(
            name.tag > mark and name not in self.known.globals for name in size.names()
        )

    # --- complaints ---

    def unsupported(self, what: str, hint: str | None = None) -> CompileError:
        """What the compiler cannot do, located."""
        return error(self.location, f"{what} not supported", "not-supported", hint)

    def is_truth(self, value: Value) -> bool | None:
        """A boolean known now."""
        if isinstance(value, Leaf) and isinstance(value.atom, Constant):
            return bool(value.atom.value)
        return None


def fold_constants(table: Operator, atoms: tuple[Atom, ...]) -> Constant | None:
    """The value of an operator on known integers and booleans."""
    if table.result.is_float and table.name != "convert":
        return None
    constants = [atom for atom in atoms if isinstance(atom, Constant)]
    if len(constants) < len(atoms) or any(c.type.is_float for c in constants):
        return None
    return fold(table, *constants)


def track(name: str, operands: tuple[Leaf, ...]) -> Size | None:
    """The size that an i64 operation computes, if it is worth remembering."""
    sizes = [size_of(leaf) for leaf in operands]
    if sum(len(s.terms) for s in sizes) > LARGEST_TRACKED_SIZE:
        return None
    match name, sizes:
        case "add", [a, b]:
            result = a + b
        case "sub", [a, b]:
            result = a - b
        case "mul", [a, b]:
            result = a * b
        case "neg", [a]:
            result = -a
        case "div", [a, b] if (b.as_constant or 0) > 0:
            result = a // b
        case _:
            return None
    degree = max((len(monomial) for monomial, _ in result.terms), default=0)
    largest = max((abs(c) for _, c in result.terms), default=0)
    is_plain = len(result.terms) <= LARGEST_TRACKED_SIZE and largest <= LARGEST_FACTOR
    return result if degree <= 4 and is_plain else None


class KnownVariables:
    """What is known of variables that elaboration made; all but those of `assumed`
    hold wherever a variable is in scope."""

    def __init__(self) -> None:
        self.globals: set[Name] = set()
        """constants of the program"""
        self.below: dict[Name, Size] = {}
        """i64 variables that are in 0..bound-1"""
        self.literals: dict[Name, tuple[Atom, ...]] = {}
        """all elements of array literals that consist of constants"""
        self.iotas: dict[Name, Size] = {}
        """arrays that are 0, 1, ... of that length"""
        self.sizes: set[Name] = set()
        """i64 variables that are not negative"""
        self.assumed: list[Name] = []
        """those of them that a check found out, in order"""

    def assume_natural(self, size: Size) -> None:
        """A check has been made: from here on the size is not negative."""
        name = size.as_name
        if name is not None and name not in self.sizes:
            self.sizes.add(name)
            self.assumed.append(name)

    @contextmanager
    def forgetting_assumed(self) -> Iterator[None]:
        """Remove afterwards what checks inside found out: they may not be run."""
        count = len(self.assumed)
        try:
            yield
        finally:
            self.sizes.difference_update(self.assumed[count:])
            del self.assumed[count:]
