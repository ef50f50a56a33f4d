r"""Short loops over a small array or a table, in functions of SOACs, are written out.

    map (\x -> loop a = [x, x * x, 1] for i < 2 do
                 loop a for j < 2 - i do
                   if a[j] > a[j + 1] then swap j (j + 1) a else a) xs

All places in the array are known then, so that its elements are registers: of lanes in
vectors, of a thread on a GPU. Before, each was stored and loaded again at a place that
depends on the round. The elements of a literal that a loop goes over are constants:
shifts by known numbers, masks, coefficients of a polynomial.

Conditions: the loop passes on an array of at most `SMALL` elements, or reads a literal
of as many elements as it has rounds by its counter; the rounds are known, those of
inner loops in each round of the outer ones, and then all places in arrays that are
passed on; at most `LARGEST` statements when written out, without SOACs. Scalars are
enough where the counter decides what vectors have no cheap instruction for: by how much
others are shifted, or which branch is taken.
"""

from __future__ import annotations

from typing import Any, TypeAlias

from minifut.ir import builder, core, sizes, soacs, traverse
from minifut.ir.constant_folding import fold
from minifut.ir.core import Atom, Body, Constant, Param, Stm
from minifut.ir.node import replace
from minifut.ir.types import shape_of
from minifut.names import Name
from minifut.passes.simplify.loops import UNROLL
from minifut.rewrite.context import StatementContext
from minifut.rewrite.rule import Declined, Outcome, rule

SMALL = 16
"""elements of the array"""
LARGEST = 512
"""statements that are written out"""
LARGEST_FOR_TABLE = 128
"""the same where only constants are gained"""
TOO_MANY = LARGEST + 1
SHIFTS = ("shl", "shr")
NOT_KNOWN = Declined("an element is at a place that depends on data, or the rounds do")
Constants: TypeAlias = dict[Name, Constant]


@rule(core.Loop)
def mark_short_loop(statement: Stm, context: StatementContext) -> Outcome:
    """Mark a loop of few rounds over a small array, and those in it, to be written out.

    before:
        given (x: i32, xs: [3]i32)
        let ys: [3]i32 = loop (zs: [3]i32 = xs) for i: i64 < 2i64 do {
          let j: i64 = add_i64(i, 1i64)
          let z: i32 = zs[i]
          return zs with [j] = z
        }
    after:
        like before, with
        let ys => #[unroll] let ys
    declines: an element is at a place that depends on data, or the rounds do
        like before, with
        x: i32 => k: i64
        zs[i] => zs[k]
    before:
        given (x: i32)
        let masks: [2]i32 = [12i32, 10i32]: i32
        let y: i32 = loop (z: i32 = x) for i: i64 < 2i64 do {
          let mask: i32 = masks[i]
          return and_i32(z, mask)
        }
    after:
        like before, with
        let y => #[unroll] let y
    before:
        given (x: u32)
        let y: u32 = loop (z: u32 = 0u32) for i: i32 < 16i32 do {
          let k: u32 = convert_i32_u32(i)
          let s: u32 = shr_u32(x, k)
          let b: u32 = and_u32(s, 1u32)
          let d: u32 = shl_u32(z, 2u32)
          return or_u32(d, b)
        }
    after:
        like before, with
        let y => #[unroll] let y
    declines: nothing is gained by its counter
        given (x: i32)
        let y: i32 = loop (z: i32 = x) for i: i64 < 2i64 do {add_i32(z, 1i32)}
    """
    exp = statement.exp_of(core.Loop)
    if UNROLL in statement.attributes:
        return None
    small = any(map(_is_small, exp.parameters))
    if not (small or _goes_over_table(exp, context) or _decides_by_counter(exp)):
        return Declined("nothing is gained by its counter")
    if _written_out(exp, {}, set()) > (LARGEST if small else LARGEST_FOR_TABLE):
        return NOT_KNOWN
    return (_marked(statement),)


def _goes_over_table(exp: core.Loop, context: StatementContext) -> bool:
    """Whether its counter goes over a literal, of which it reads the elements."""
    if not isinstance(exp.form, core.ForLoop):
        return False
    for inner in exp.body.statements:
        read = inner.exp
        if isinstance(read, core.Index) and read.slice == (exp.form.index,):
            table = context.definition(read.array)
            if isinstance(table, core.ArrayLiteral):
                return exp.form.bound == builder.i64(len(table.rows))
    return False


def _decides_by_counter(exp: core.Loop) -> bool:
    """Whether the counter alone decides how far something else is shifted, or on a
    branch."""
    if not isinstance(exp.form, core.ForLoop):
        return False
    counted = {exp.form.index}

    def is_counted(atom: Atom) -> bool:
        return isinstance(atom, Constant) or atom in counted

    for inner in exp.body.statements:
        match inner.exp:
            case core.ScalarOp(_, operands) if all(map(is_counted, operands)):
                counted.add(inner.pattern[0].name)
            case core.ScalarOp(operator, (shifted, Name() as count)):
                if operator.name in SHIFTS and count in counted:
                    return not is_counted(shifted)
            case core.If(condition=Name() as condition) if condition in counted:
                return True
    return False


def _is_small(bound: Param) -> bool:
    shape = shape_of(bound.type)
    size = sizes.product(shape).as_constant
    return bool(shape) and size is not None and size <= SMALL


def _marked(node: Any) -> Any:
    node = traverse.map_children(node, _marked)
    if isinstance(node, Stm) and isinstance(node.exp, core.Loop):
        return replace(node, attributes=(*node.attributes, UNROLL))
    return node


def _written_out(exp: object, known: Constants, own: set[Name]) -> int:
    """The number of statements as which an expression is written out, given some
    scalars and the arrays that loops pass on (`own`); more than `LARGEST` if it cannot
    be, or if a place in such an array is not known even then."""
    match exp:
        case core.Loop(form=core.ForLoop(index, bound, type_), body=body):
            rounds = _value(bound, known)
            if rounds is None or rounds.value > LARGEST:
                return TOO_MANY
            own = own | {p.name for p in exp.parameters if shape_of(p.type)}
            total = 0
            for number in range(int(rounds.value)):
                total += _weight(body, known | {index: Constant(number, type_)}, own)
                if total > LARGEST:
                    break
            return total
        case core.If() | core.Match():
            return 1 + sum(_weight(body, known, own) for body in exp.branches)
        case core.Index(array, places) if array not in own:
            return 1
        case core.Index(_, places) | core.Update(_, places, _):
            fixed = all(
                not isinstance(place, core.DimSlice)
                and _value(place, known) is not None
                for place in places
            )
            return 1 if fixed else TOO_MANY
    return TOO_MANY if isinstance(exp, (core.Loop, *soacs.SOAC_EXPRESSIONS)) else 1


def _weight(body: Body, known: Constants, own: set[Name]) -> int:
    total = 0
    known, own = dict(known), set(own)
    for statement in body.statements:
        exp = statement.exp
        if isinstance(exp, core.ScalarOp):
            operands = [_value(operand, known) for operand in exp.operands]
            values = [value for value in operands if value is not None]
            if len(values) == len(operands):
                known[statement.pattern[0].name] = fold(exp.operator, *values)
                continue
        total += _written_out(exp, known, own)
        if total > LARGEST:
            break
        if isinstance(exp, core.Update | core.If | core.Match | core.Loop):
            own.update(p.name for p in statement.pattern if shape_of(p.type))
    return total


def _value(atom: Atom, known: Constants) -> Constant | None:
    return atom if isinstance(atom, Constant) else known.get(atom)
