"""The core: the part of the language that Soacs and Kernels share.

A-normal form: a body is a flat list of statements, each binding a pattern to one
expression whose operands are atoms; nesting happens only in `If`, `Match`, `Loop` and
the lambdas and kernel bodies of the dialects.

    let k: i64 = add_i64(n, 1i64)
    let xs: [k]f32 = replicate([k], 0f32)

Rules that everything relies on:

* Operators are total. What may fail precedes it as an `Assert`; `Index`, `Update`
  and slices are taken to be in bounds. So an `Assert` is never removed, and nothing but
  total operators may move up across one.
* Updates are functional: `Update` gives a new array. That it can be done in place is
  found by last-use analysis later, and guaranteed by uniqueness types.
* A pattern (and the parameters of a loop) binds from left to right: types may mention
  names bound earlier in the same pattern. So an unknown size is just another result,
  bound first:  let (k: i64, xs: [k]i32) = if c then {2i64, a} else {3i64, b}
* Names are unique in the whole program.

Three declarations say all about names. `introduces`: the fields that hold names being
bound; `binds`: which fields see the names that another field introduces; `calls`: the
fields that hold names of functions, which live apart from those of variables.
"""

from __future__ import annotations

from dataclasses import field
from math import copysign
from typing import TYPE_CHECKING, ClassVar, TypeAlias, TypeVar

from minifut.ir.entries import Entry
from minifut.ir.marks import WithBelow, WithMarks
from minifut.ir.node import immutable, node
from minifut.ir.scalars import Operator
from minifut.ir.sizes import Size
from minifut.ir.types import ScalarType, Type
from minifut.names import Name

if TYPE_CHECKING:
    from minifut.errors import Location
    from minifut.ir.expressions import Exp as Exp
else:
    Exp = object


@immutable
class Constant:
    """A scalar constant: `value` is a Python int, float or bool of that type."""

    value: int | float | bool
    type: ScalarType

    if not TYPE_CHECKING:  # which then would not know that `atom in names` is a name

        def __eq__(self, other: object) -> bool:
            """0.0 and -0.0 are two constants: dividing by them distinguishes them."""
            if not isinstance(other, Constant):
                return NotImplemented
            mine, its = self.value, other.value
            if mine is not its and mine != its:
                return False
            return self.type == other.type and (
                mine != 0 or copysign(1, mine) == copysign(1, its)
            )


Atom: TypeAlias = Name | Constant
ExpT = TypeVar("ExpT")


@node
class Param(WithMarks):
    """A bound name with its type. `unique` marks parameters that are consumed."""

    introduces: ClassVar = ("name",)
    name: Name
    type: Type
    unique: bool = False


@node
class Stm(WithBelow):
    """`let pattern = exp`. `attributes` are the user's (`sequential`, ...)."""

    binds: ClassVar = {"pattern": ("pattern",)}
    pattern: tuple[Param, ...]
    exp: Exp
    attributes: tuple[str, ...] = ()
    location: Location | None = field(default=None)

    def exp_of(self, kind: type[ExpT]) -> ExpT:
        """The expression, which is of this class."""
        assert isinstance(self.exp, kind)
        return self.exp


@node
class Body(WithBelow):
    """Statements in order, then the atoms that are the result."""

    binds: ClassVar = {"statements": ("statements", "result")}
    statements: tuple[Stm, ...]
    result: tuple[Atom, ...]


@node
class Lambda:
    """A function without a name; `results` are the types of its results. That which
    applies an operator to two scalars may be written as `add_i32`."""

    printed = "\\{parameters} -> {results} {body}"
    binds: ClassVar = {"parameters": ("results", "body")}
    parameters: tuple[Param, ...]
    body: Body
    results: tuple[Type, ...]


# --- expressions --------------------------------------------------------------


@node
class Copy:
    """An atom as an expression: another name for the same value."""

    printed = "{atom}"
    atom: Atom


@node
class ScalarOp:
    """A total scalar operator of the table in `ir.scalars`."""

    printed = "{operator}{operands}"
    operator: Operator
    operands: tuple[Atom, ...]


@node
class SizeExp:
    """A size computed as an i64."""

    printed = "size({size})"
    size: Size


@node
class DimSlice:
    """Elements start, start + stride, ... of one dimension, `length` of them."""

    printed = "{start} :+ {length} by {stride}"
    start: Atom
    length: Size
    stride: Atom


@node
class Index:
    """`array[slice]`: an atom per dimension fixes it, a `DimSlice` keeps it.

    Fewer entries than dimensions: the remaining ones are kept whole. All fixed: a
    scalar. A slice is a view; no copy is implied.
    """

    printed = "{array}[<,{slice}>]"
    array: Name
    slice: tuple[Atom | DimSlice, ...]


@node
class Update:
    """`array with [slice] = value`; the value is a scalar or has the slice's shape."""

    printed = "{array} with [<,{slice}>] = {value}"
    array: Name
    slice: tuple[Atom | DimSlice, ...]
    value: Atom


@node
class Iota:
    """start, start + stride, ...: `length` numbers of an integer type."""

    printed = "iota {element} ({length}, {start}, {stride})"
    length: Size
    start: Atom
    stride: Atom
    element: ScalarType


@node
class Replicate:
    """An array of `shape` with `value` (scalar or array) at every index."""

    printed = "replicate({shape}, {value})"
    shape: tuple[Size, ...]
    value: Atom


@node
class Scratch:
    """An array with unspecified contents, to be written before it is read."""

    printed = "scratch({element}, {shape})"
    element: ScalarType
    shape: tuple[Size, ...]


@node
class ArrayLiteral:
    """Scalars, or arrays of the same type `row`, as the rows of a new array."""

    printed = "[<,{rows}>]: {row}"
    rows: tuple[Atom, ...]
    row: Type


@node
class Rearrange:
    """The dimensions permuted: dimension i of the result is `permutation[i]` of the
    operand. A transposition is (1, 0)."""

    printed = "rearrange({permutation}, {array})"
    permutation: tuple[int, ...]
    array: Name


@node
class Reshape:
    """The same elements in row-major order under another shape of the same number of
    elements. Also used to give an array a shape that was checked to be equal."""

    printed = "reshape({shape}, {array})"
    shape: tuple[Size, ...]
    array: Name


@node
class Concat:
    """Arrays joined along dimension `dimension`, whose result size is `size`."""

    printed = "concat({dimension}, {size}, <,{arrays}>)"
    dimension: int
    arrays: tuple[Name, ...]
    size: Size


@node
class Manifest:
    """A fresh copy of the array, laid out with its dimensions in the order of
    `permutation` (identity: row-major)."""

    printed = "manifest({permutation}, {array})"
    array: Name
    permutation: tuple[int, ...]


@node
class If:
    """Both branches give as many results as the pattern binds."""

    printed = "if {condition} then {then} else {otherwise}"
    condition: Atom
    then: Body
    otherwise: Body

    @property
    def branches(self) -> tuple[Body, ...]:
        """The bodies, of which one is executed."""
        return self.then, self.otherwise


@node
class Case:
    """Taken when the scrutinees equal `values` (None: any)."""

    printed = "case {values} {body}"
    values: tuple[Constant | None, ...]
    body: Body


@node
class Match:
    """The first case whose values fit the scrutinees (scalars), else `default`."""

    printed = "match {scrutinees}<* {cases}> default {default}"
    scrutinees: tuple[Atom, ...]
    cases: tuple[Case, ...]
    default: Body

    @property
    def branches(self) -> tuple[Body, ...]:
        """The bodies, of which one is executed."""
        return (*[case.body for case in self.cases], self.default)


@node
class ForLoop:
    """`index` runs over 0, 1, ... below `bound`; both of type `type`."""

    printed = "for {index}: {type} < {bound}"
    introduces: ClassVar = ("index",)
    index: Name
    bound: Atom
    type: ScalarType


@node
class WhileLoop:
    """Runs as long as `condition`, a bool parameter of the loop, is true."""

    printed = "while {condition}"
    condition: Name


@node
class Loop:
    """Parameters start as `initial` and become the body's results each time round."""

    printed = "loop (<,{parameters} = {initial}>) {form} do {body}"
    binds: ClassVar = {"parameters": ("form", "body"), "form": ("body",)}
    parameters: tuple[Param, ...]
    initial: tuple[Atom, ...]
    form: ForLoop | WhileLoop
    body: Body


@node
class Apply:
    """A call of a function of the program."""

    printed = "apply {function}{arguments}"
    calls: ClassVar = ("function",)
    function: Name
    arguments: tuple[Atom, ...]


@node
class Assert:
    """Fails the run with the message unless the condition holds. Binds nothing.

    `message` mixes text with atoms whose values are shown. `backtrace` are
    `file:line:col` texts, innermost first.
    """

    printed = "assert({condition}, [<,{message}>], [<,{backtrace}>])"
    condition: Atom
    message: tuple[str | Atom, ...]
    backtrace: tuple[str, ...]


@node
class Trace:
    """The atom itself; its value is printed with `label` when it runs (`#[trace]`)."""

    printed = "trace({label}, {atom})"
    label: str
    atom: Atom


@node
class Opaque:
    """The atom itself; passes may not look through it (`#[opaque]`)."""

    printed = "opaque({atom})"
    atom: Atom


# --- programs -----------------------------------------------------------------


@node
class Function:
    """A first-order function; its result types may mention its parameters, and
    existential sizes come first as in patterns: `results` are parameters."""

    printed = "fun {name} {parameters} -> {results} {body}"
    binds: ClassVar = {"parameters": ("results", "body"), "results": ("results",)}
    calls: ClassVar = ("name",)
    name: Name
    parameters: tuple[Param, ...]
    results: tuple[Param, ...]
    body: Body


@node
class Program:
    """`constants` are statements whose names all functions see; evaluated once."""

    binds: ClassVar = {"constants": ("constants", "functions")}
    entries: tuple[Entry, ...]
    constants: tuple[Stm, ...]
    functions: tuple[Function, ...]


CORE_EXPRESSIONS = (
    Copy, ScalarOp, SizeExp, Index, Update, Iota, Replicate, Scratch, ArrayLiteral,
    Rearrange, Reshape, Concat, Manifest, If, Match, Loop, Apply, Assert, Trace, Opaque,
)  # fmt: skip
