r"""Pass: choices between integer constants by the value of an integer are shifts.

    match c case 'A' -> 0 case 'C' -> 1 case 'G' -> 2 case _ -> 3
  →
    (0xefdc >> (2 * min (c - 'A') 7)) & 3

The constants of all values from the least to the greatest of the cases, and behind them
that of all others, are bits of one word. Else the device's compiler makes a switch of
the cases, which is no vector and is mispredicted where data is not alike; in lanes each
case is a comparison and a masked assignment.

Conditions: at least two cases, all results are integers or truth values that are known,
and `WORD` bits suffice for each.

Source: the tables of bits of LLVM's SimplifyCFG; Warren, Hacker's Delight (2012).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from minifut.ir.builder import Builder, constant
from minifut.ir.core import Atom, Body, Constant, Exp, If, Match, Program, ScalarOp, Stm
from minifut.ir.node import immutable
from minifut.ir.types import BOOL, SCALARS, U32, U64, ScalarType
from minifut.names import Name, NameSource
from minifut.rewrite.context import StatementContext, with_values
from minifut.rewrite.rule import Declined, Outcome, rule
from minifut.rewrite.strategy import outermost, rewrite
from minifut.rewrite.trace import Trace

WORD = 64
FEWEST = 2
"""cases; of one the device's compiler makes a select"""


def choose_by_shifts(
    program: Program, names: NameSource, trace: Trace | None = None
) -> Program:
    """Make choices between constants shifts of words of bits."""
    return rewrite(program, outermost(choose_by_shift), names, trace)


@immutable
class ConstantCases:
    """The results by the value of the scrutinee, `default` where it has no case."""

    scrutinee: Name
    cases: Mapping[int, tuple[Constant, ...]]
    default: tuple[Constant, ...]


@rule((If, Match), paper="Warren, Hacker's Delight (2012)")
def choose_by_shift(statement: Stm, context: StatementContext) -> Outcome:
    """A choice between constants, by cases or by comparisons of one number.

    before:
        given (c: u8)
        let k: i64 = match (c) case (65u8) {0i64} case (67u8) {1i64} default {3i64}
    after:
        let from: u8 = sub_u8(c, 65u8)
        let at: u8 = min_u8(from, 3u8)
        let place: u64 = convert_u8_u64(at)
        let shift: u64 = shl_u64(place, 1u64)
        let moved: u64 = shr_u64(220u64, shift)
        let bits: u64 = and_u64(moved, 3u64)
        let number: i64 = convert_u64_i64(bits)
        let k: i64 = number
    before:
        given (c: i32)
        let one: bool = eq_i32(c, 40i32)
        let d: i32 = if one then {1i32} else {
          let other: bool = eq_i32(c, 41i32)
          return if other then {-1i32} else {0i32}
        }
    after:
        let one: bool = eq_i32(c, 40i32)
        let from: u32 = convert_i32_u32(c)
        let offset: u32 = sub_u32(from, 40u32)
        let at: u32 = min_u32(offset, 2u32)
        let shift: u32 = shl_u32(at, 1u32)
        let moved: u32 = shr_u32(18u32, shift)
        let bits: u32 = and_u32(moved, 3u32)
        let signed: i32 = convert_u32_i32(bits)
        let moved_back: i32 = add_i32(signed, -1i32)
        let d: i32 = moved_back
    declines: it is no choice between constants by one number
        like before, with
        then {1i32} => then {c}
    declines: the constants need more than a word
        like before, with
        41i32 => 141i32
    declines: there are few cases
        given (c: u8)
        let k: i64 = match (c) case (65u8) {0i64} default {3i64}
    """
    choice = _choice(statement.exp, context)
    if choice is None:
        return Declined("it is no choice between constants by one number")
    if len(choice.cases) < FEWEST:
        return Declined("there are few cases")
    columns = list(zip(choice.default, *choice.cases.values(), strict=True))
    first, last = min(choice.cases), max(choice.cases)
    count = last - first + 2
    widths = [_width(column) for column in columns]
    if count * max(widths) > WORD:
        return Declined("the constants need more than a word")
    build = context.builder(statement)
    at = _position(build, choice.scrutinee, first, count - 1)
    atoms = []
    for number, (column, width) in enumerate(zip(columns, widths, strict=True)):
        least = min(int(c.value) for c in column)
        word = 0
        for place in range(count):
            value = choice.cases.get(first + place, choice.default)[number].value
            word |= (int(value) - least) << place * width
        small = count * width <= U32.bits and column[0].type.bits <= U32.bits
        bits = _bits(build, word, width, at, U32 if small else U64)
        atoms.append(_value(build, bits, least, column[0].type))
    return with_values(statement, tuple(build.statements), tuple(atoms))


def _choice(exp: Exp, context: StatementContext) -> ConstantCases | None:
    """The cases of a match or of a chain of branches, if all results are known."""
    if isinstance(exp, Match) and len(exp.scrutinees) == 1:
        (scrutinee,) = exp.scrutinees
        default = _known(exp.default)
        if not isinstance(scrutinee, Name) or default is None:
            return None
        cases: dict[int, tuple[Constant, ...]] = {}
        for case in exp.cases:
            (value,), results = case.values, _known(case.body)
            if value is None or results is None or not value.type.is_integer:
                return None
            cases.setdefault(int(value.value), results)
        return ConstantCases(scrutinee, cases, default)
    if isinstance(exp, If):
        return _of_branches(exp, context.definition(exp.condition))
    return None


def _of_branches(exp: If, condition: Exp | None) -> ConstantCases | None:
    """The same of a branch on a comparison."""
    compared, then = _comparison(condition), _known(exp.then)
    if compared is None or then is None:
        return None
    scrutinee, value = compared
    rest = _known(exp.otherwise)
    if rest is not None:
        return ConstantCases(scrutinee, {value: then}, rest)
    match exp.otherwise.statements:
        case (Stm((test,), other), Stm(pattern, If() as inner)) if (
            inner.condition == test.name
            and exp.otherwise.result == tuple(p.name for p in pattern)
        ):
            left = _of_branches(inner, other)
            if left is not None and left.scrutinee == scrutinee:
                cases = {**left.cases, value: then}
                return ConstantCases(scrutinee, cases, left.default)
    return None


def _comparison(exp: Exp | None) -> tuple[Name, int] | None:
    """The number that is compared with a constant, and the constant."""
    match exp:
        case ScalarOp(operator, (Name() as name, Constant(value, type_))) | ScalarOp(
            operator, (Constant(value, type_), Name() as name)
        ) if operator.name == "eq" and type_.is_integer:
            return name, int(value)
    return None


def _known(body: Body) -> tuple[Constant, ...] | None:
    """The results of a body that are integers or truth values, known and all it has."""
    results: Sequence[Atom] = body.result
    found = [atom for atom in results if isinstance(atom, Constant)]
    if body.statements or not found or len(found) < len(results):
        return None
    whole = all(c.type.is_integer or c.type == BOOL for c in found)
    return tuple(found) if whole else None


def _width(column: Sequence[Constant]) -> int:
    """How many bits each needs, a power of two."""
    numbers = [int(c.value) for c in column]
    bits = max(1, (max(numbers) - min(numbers)).bit_length())
    return 1 << (bits - 1).bit_length()


def _position(build: Builder, scrutinee: Name, first: int, others: int) -> Name:
    """Where among the cases a number is, or `others` if it has none."""
    unsigned = SCALARS[f"u{build.scalar_type(scrutinee).bits}"]
    number = build.convert(scrutinee, unsigned)
    if first:
        number = build.op("sub", number, constant(unsigned.nearest(first), unsigned))
    return build.op("min", number, constant(others, unsigned))


def _bits(build: Builder, word: int, width: int, at: Name, type_: ScalarType) -> Atom:
    """The bits of the word at a position, in a type that has the word."""
    place = build.convert(at, type_)
    if width > 1:
        place = build.op("shl", place, constant(width.bit_length() - 1, type_))
    moved = build.op("shr", constant(word, type_), place)
    return build.op("and", moved, constant((1 << width) - 1, type_))


def _value(build: Builder, bits: Atom, least: int, type_: ScalarType) -> Atom:
    """The number that is so much above the least one."""
    if type_ == BOOL:
        none = constant(0, build.scalar_type(bits))
        return build.op("ne", bits, none) if not least else constant(True, BOOL)
    value = build.convert(bits, type_)
    return build.op("add", value, constant(least, type_)) if least else value
