"""The state of elaboration: where statements go, and what is known.

One `Work` serves a whole program. It holds the builder of the body being made, the
places of the calls that led here (for backtraces), whether checks are wanted, and facts
about index variables that make checks needless.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from minifut.errors import CompileError, Location
from minifut.frontend.elaborate.values import Leaf, Value, scalar, size_of
from minifut.ir import core
from minifut.ir.builder import Builder
from minifut.ir.core import Atom, Constant
from minifut.ir.scalars import Operator, convert, operator
from minifut.ir.sizes import Size
from minifut.ir.types import I64, SCALARS, ScalarType, Type
from minifut.names import Name, NameSource

if TYPE_CHECKING:
    from minifut.frontend.elaborate.functions import Specialisations

LARGEST_TRACKED_SIZE = 8
"""terms of a polynomial beyond which an i64 is no longer tracked as a size"""
LARGEST_FACTOR = 1 << 40
"""arithmetic with greater factors is not about sizes, and wraps"""


class Work:
    """See the module."""

    def __init__(self, names: NameSource) -> None:
        self.names = names
        self.build = Builder(names, {})
        self.constants = self.build
        self.globals: set[Name] = set()
        self.calls: tuple[Location, ...] = ()
        self.location: Location | None = None
        self.unsafe = False
        self.attributes: tuple[str, ...] = ()
        self.below: dict[Name, Size] = {}
        """i64 variables known to lie in 0..bound-1"""
        self.literals: dict[Name, tuple[Atom, ...]] = {}
        """all elements of array literals that consist of constants"""
        self.iotas: dict[Name, Size] = {}
        """arrays known to be 0, 1, ... of that length"""
        self.sizes: set[Name] = set()
        """i64 variables known not to be negative"""
        self.assumed: list[Name] = []
        """those of them that were found out by a check, in order"""
        self.warn: Callable[[Location, str], None] = lambda _, __: None
        """tell the user of something dubious"""
        self.warns_of_checks = False
        self.specialisations: Specialisations | None = None
        self.has_accumulators = False
        self.prelude_value: Callable[[Name], object] = lambda _: None
        """a value of the prelude by its unique name"""

    # --- statements ---

    @property
    def place(self) -> Location | None:
        """Where statements are from: in the user's files if a call there led here."""
        return None if self.location is None else self.place_of(self.location)

    def place_of(self, location: Location) -> Location:
        """The location, or for one in the prelude that of the call that led there."""
        if location.in_prelude:
            return next((c for c in self.calls if not c.in_prelude), location)
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
        type_ = operands[0].type
        assert isinstance(type_, ScalarType)
        table = operator(name, type_)
        atoms = tuple(leaf.atom for leaf in operands)
        folded = fold_constants(table, atoms)
        if folded is not None:
            return scalar(folded, folded.type)
        return self.leaf(core.ScalarOp(table, atoms), name)

    def convert(self, leaf: Leaf, target: ScalarType) -> Leaf:
        """A scalar as another type; a signed integer is extended by zeros to a wider
        unsigned one."""
        source = leaf.type
        assert isinstance(source, ScalarType)
        if source == target:
            return leaf
        widens = source.kind == "int" and source.bits < target.bits
        if widens and target.kind == "uint":
            leaf = self.convert(leaf, SCALARS["u" + source.name[1:]])
            source = leaf.type
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
        """A check has been made: from here on the size is not negative."""
        name = size.as_name
        if name is not None and name not in self.sizes and not self.unsafe:
            self.sizes.add(name)
            self.assumed.append(name)

    @contextmanager
    def nested(self) -> Iterator[Builder]:
        """Statements go to an inner body for a while; it may not be run, so that what
        its checks find out is forgotten."""
        known = len(self.assumed)
        outer = self.build
        attributes = self.attributes
        self.build = outer.nested()
        self.build.attributes = self.attributes = ()
        try:
            yield self.build
        finally:
            self.build = outer
            self.attributes = attributes
            self.sizes.difference_update(self.assumed[known:])
            del self.assumed[known:]

    @contextmanager
    def at_top(self) -> Iterator[None]:
        """Statements go to the program's constants for a while."""
        saved = (self.build, self.calls, self.unsafe, self.attributes, self.location)
        self.build, self.calls, self.unsafe = self.constants, (), False
        self.attributes = ()
        start = len(self.constants.statements)
        try:
            yield
        finally:
            for statement in self.constants.statements[start:]:
                self.globals.update(p.name for p in statement.pattern)
            self.build, self.calls, self.unsafe, self.attributes, self.location = saved

    @contextmanager
    def apart(self, unsafe: bool) -> Iterator[Builder]:
        """Statements go to the body of another function for a while."""
        saved = self.calls, self.unsafe, self.location
        self.calls, self.unsafe = (), unsafe
        try:
            with self.nested() as build:
                yield build
        finally:
            self.calls, self.unsafe, self.location = saved

    @contextmanager
    def without_checks(self) -> Iterator[None]:
        """`#[unsafe]`: nothing is checked."""
        before, self.unsafe = self.unsafe, True
        try:
            yield
        finally:
            self.unsafe = before

    @contextmanager
    def attributed(self, attributes: tuple[str, ...]) -> Iterator[None]:
        """Statements of this body carry more attributes for a while."""
        before = self.attributes
        self.attributes = self.build.attributes = before + attributes
        try:
            yield
        finally:
            self.attributes = self.build.attributes = before

    def mark(self) -> int:
        """A point in time: names made later are `inner` to it."""
        return self.names.fresh("mark").tag

    def is_inner(self, size: Size, mark: int) -> bool:
        """Does it mention a name made since the mark (other than global ones)?"""
        return any(
            name.tag > mark and name not in self.globals for name in size.names()
        )

    # --- complaints ---

    def unsupported(self, what: str, hint: str | None = None) -> CompileError:
        """What the compiler cannot do, located."""
        return CompileError(
            self.location, f"{what} not supported", hint, anchor="not-supported"
        )

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
    from minifut.ir.scalar_meaning import fold

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
