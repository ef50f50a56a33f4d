"""Parse trees of printed IR to nodes: one short function per rule of the grammar."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from minifut.errors import UsageError
from minifut.ir import accumulators, core, derivatives, kernels, soacs
from minifut.ir.core import Constant, Param, Stm
from minifut.ir.scalars import parse_operator
from minifut.ir.sizes import Size, ceil_div, maximum, minimum
from minifut.ir.types import BOOL, SCALARS, AccType, array_of
from minifut.names import Name

Parts = list[Any]


def build(tree: Any) -> Any:
    """The node for a parse tree; words stay strings. Depth is that of the nesting.
    Raises `UsageError` at a text or number that is none."""
    from lark import Token, Tree

    if isinstance(tree, Token):
        return str(tree)
    parts = [build(child) for child in tree.children]
    if isinstance(tree.data, str) and tree.data.startswith("_"):
        return parts[0]
    assert isinstance(tree, Tree)
    try:
        return RULES[str(tree.data)](parts)
    except (ValueError, KeyError) as problem:
        raise _refused(tree, problem) from problem


def _refused(tree: Any, problem: Exception) -> UsageError:
    """What follows the grammar, but stands for nothing."""
    from lark import Token

    token = next(tree.scan_values(lambda part: isinstance(part, Token)), None)
    place = "" if token is None else f" (line {token.line}, column {token.column})"
    return UsageError(f"this is not printed IR{place}: {problem}")


_TAGGED = re.compile(r"(.+)_([1-9][0-9]*)")


@cache
def name_of(text: str) -> Name:
    """The name printed as `text`."""
    tagged = _TAGGED.fullmatch(text)
    return Name(tagged[1], int(tagged[2])) if tagged else Name(text, 0)


# --- programs --------------------------------------------------------------------


def _program(parts: Parts) -> core.Program:
    entries = tuple(p for p in parts if isinstance(p, core.Entry))
    functions = tuple(p for p in parts if isinstance(p, core.Function))
    constants = next((p for p in parts if isinstance(p, tuple)), ())
    return core.Program(entries, constants, functions)


def _entry(parts: Parts) -> core.Entry:
    name, function, sizes, parameters, results, *rest = parts
    attributes = rest[0] if rest else ()
    return core.Entry(
        json.loads(name), function, int(sizes), parameters, results, attributes
    )


def _entry_type(parts: Parts) -> core.EntryType:
    name, text, kind = (json.loads(part) for part in parts[:3])
    unique = "unique" in parts[4:]
    inner = parts[-1] if isinstance(parts[-1], tuple) else ()
    slots = next((part for part in parts[4:] if isinstance(part, list)), [])
    return core.EntryType(
        name, text, kind, int(parts[3]), unique, inner, tuple(map(int, slots))
    )


def _statement(parts: Parts) -> Stm:
    *attributes, pattern, exp = parts
    return Stm(pattern, exp, tuple(attributes))


def _pattern(parts: Parts) -> tuple[Param, ...]:
    return (parts[0],) if isinstance(parts[0], Param) else parts[0]


def _long_body(parts: Parts) -> core.Body:
    count = sum(isinstance(part, Stm) for part in parts)
    return core.Body(tuple(parts[:count]), tuple(parts[count:]))


# --- atoms -----------------------------------------------------------------------

_NUMBER = re.compile(r"(.*?)((?:[iu]|f)(?:8|16|32|64))(\.inf|\.nan)?")


def number(text: str) -> Constant:
    """`5i32`, `-1.5f32`, `f32.nan`, `-f64.inf`."""
    found = _NUMBER.fullmatch(text)
    assert found is not None
    digits, name, special = found.groups()
    type_ = SCALARS[name]
    if special:
        return Constant(float(digits + special[1:]), type_)
    value = float(digits) if type_.is_float else int(digits)
    return Constant(type_.nearest(value), type_)


def _scalar_op(parts: Parts) -> core.ScalarOp:
    operator = parse_operator(parts[0])
    if operator is None:
        raise UsageError(f"this is not printed IR: no operator {parts[0]}")
    return core.ScalarOp(operator, tuple(parts[1:]))


def _ints(parts: Sequence[Any]) -> tuple[int, ...]:
    return tuple(int(part) for part in parts)


# --- expressions -----------------------------------------------------------------


def _match(parts: Parts) -> core.Match:
    scrutinees, *cases, default = parts
    return core.Match(scrutinees, tuple(cases), default)


def _loop(parts: Parts) -> core.Loop:
    *carried, form, body = parts
    parameters = tuple(parameter for parameter, _ in carried)
    return core.Loop(parameters, tuple(initial for _, initial in carried), form, body)


def _screma(parts: Parts) -> soacs.Screma:
    width, arrays, *folds, function = parts
    scans = tuple(f for f in folds if isinstance(f, soacs.Scan))
    reduces = tuple(f for f in folds if isinstance(f, soacs.Reduce))
    return soacs.Screma(width, arrays, scans, reduces, function)


def _scatter(parts: Parts) -> soacs.Scatter:
    width, arrays, *destinations, function = parts
    return soacs.Scatter(width, arrays, tuple(destinations), function)


def _hist(parts: Parts) -> soacs.Hist:
    width, arrays, *operators, function = parts
    return soacs.Hist(width, arrays, tuple(operators), function)


def _space(parts: Parts) -> kernels.SegSpace:
    return kernels.SegSpace(tuple(i for i, _ in parts), tuple(n for _, n in parts))


def _segmented(make: Callable[..., Any]) -> Callable[[Parts], Any]:
    def rule(parts: Parts) -> Any:
        level, space, *operators, types, body = parts
        return make(level, space, tuple(operators), body, types)

    return rule


def _segmap(parts: Parts) -> kernels.SegMap:
    level, space, types, body = parts
    return kernels.SegMap(level, space, body, types)


def _tuning(parts: Parts) -> kernels.Parameter:
    name, kind, *rest = parts
    defaults = tuple(value for word, value in rest if word == "default")
    bounds = next((value for word, value in rest if word == "bounds"), None)
    guards = next((value for word, value in rest if word == "guards"), "")
    return kernels.Parameter(
        json.loads(name), json.loads(kind), defaults, bounds, guards
    )


RULES: dict[str, Callable[[Parts], Any]] = {
    "program": _program,
    "entry": _entry,
    "entry_types": tuple,
    "entry_type": _entry_type,
    "slots": list,
    "attributes": lambda p: tuple(json.loads(part) for part in p),
    "constants": lambda p: p[0],
    "function": lambda p: core.Function(*p),
    "statements": tuple,
    "statement": _statement,
    "attribute": lambda p: p[0][2:-1],
    "pattern": _pattern,
    "parameters": tuple,
    "parameter": lambda p: Param(p[0], p[-1], len(p) == 3),
    "long_body": _long_body,
    "short_body": lambda p: core.Body((), tuple(p)),
    "lambda": lambda p: core.Lambda(p[0], p[2], p[1]),
    # types, sizes, atoms
    "types": tuple,
    "scalar_type": lambda p: SCALARS[p[0]],
    "array_type": lambda p: array_of(SCALARS[p[-1]], tuple(p[:-1])),
    "acc_type": lambda p: AccType(*p),
    "shape": tuple,
    "negated": lambda p: -p[0],
    "plus": lambda p: p[0] + p[1],
    "minus": lambda p: p[0] - p[1],
    "times": lambda p: p[0] * p[1],
    "size_constant": lambda p: Size.constant(int(p[0])),
    "size_name": lambda p: Size.of(p[0]),
    "ceil_div": lambda p: ceil_div(*p),
    "floor_div": lambda p: p[0] // p[1],
    "minimum": lambda p: minimum(*p),
    "maximum": lambda p: maximum(*p),
    "atoms": tuple,
    "names": tuple,
    "name": lambda p: name_of(p[0]),
    "number": lambda p: number(p[0]),
    "true": lambda _: Constant(True, BOOL),
    "false": lambda _: Constant(False, BOOL),
    "index": tuple,
    "range": lambda p: core.DimSlice(*p),
    "integers": _ints,
    # core
    "copy": lambda p: core.Copy(p[0]),
    "scalar_op": _scalar_op,
    "size_exp": lambda p: core.SizeExp(p[0]),
    "element": lambda p: core.Index(*p),
    "update": lambda p: core.Update(*p),
    "iota": lambda p: core.Iota(p[1], p[2], p[3], SCALARS[p[0]]),
    "replicate": lambda p: core.Replicate(*p),
    "scratch": lambda p: core.Scratch(SCALARS[p[0]], p[1]),
    "literal": lambda p: core.ArrayLiteral(tuple(p[:-1]), p[-1]),
    "rearrange": lambda p: core.Rearrange(*p),
    "reshape": lambda p: core.Reshape(*p),
    "concat": lambda p: core.Concat(int(p[0]), tuple(p[2:]), p[1]),
    "manifest": lambda p: core.Manifest(p[1], p[0]),
    "if": lambda p: core.If(*p),
    "match": _match,
    "case": lambda p: core.Case(tuple(p[:-1]), p[-1]),
    "any": lambda _: None,
    "loop": _loop,
    "carried": tuple,
    "for": lambda p: core.ForLoop(p[0], p[2], SCALARS[p[1]]),
    "while": lambda p: core.WhileLoop(p[0]),
    "apply": lambda p: core.Apply(*p),
    "assert": lambda p: core.Assert(*p),
    "message": tuple,
    "text": lambda p: json.loads(p[0]),
    "backtrace": lambda p: tuple(json.loads(part) for part in p),
    "trace": lambda p: core.Trace(json.loads(p[0]), p[1]),
    "opaque": lambda p: core.Opaque(p[0]),
    "with_acc": lambda p: accumulators.WithAcc(tuple(p[:-1]), p[-1]),
    "acc_input": lambda p: accumulators.AccInput(
        *(p if len(p) > 2 else (*p, (), None))
    ),
    "update_acc": lambda p: accumulators.UpdateAcc(*p),
    # soacs
    "map": _screma,
    "redomap": _screma,
    "scanomap": _screma,
    "screma": _screma,
    "scan": lambda p: soacs.Scan(*p),
    "reduce": lambda p: soacs.Reduce(*p),
    "commutative": lambda p: soacs.Reduce(p[0], p[1], commutative=True),
    "scatter": _scatter,
    "destination": lambda p: soacs.ScatterDestination(p[0], int(p[1]), int(p[2])),
    "hist": _hist,
    "jvp": lambda p: derivatives.Jvp(*p),
    "vjp": lambda p: derivatives.Vjp(*p),
    "custom_vjp": lambda p: derivatives.CustomVjp(*p),
    "bins": lambda p: soacs.HistOp(*p),
    # kernels
    "segmap": _segmap,
    "segred": _segmented(kernels.SegRed),
    "segscan": _segmented(kernels.SegScan),
    "seghist": _segmented(kernels.SegHist),
    "grid": lambda _: kernels.GRID,
    "group": lambda _: kernels.GROUP,
    "thread": lambda _: kernels.THREAD,
    "register": lambda _: kernels.REGISTER,
    "collective_copy": lambda p: kernels.CollectiveCopy(*p),
    "space": _space,
    "point": tuple,
    "operator": lambda p: kernels.SegBinOp(*p),
    "commutative_operator": lambda p: kernels.SegBinOp(p[0], p[1], p[2], True),
    "seg_bins": lambda p: kernels.SegHistOp(p[0], p[1], p[2], p[3], p[4]),
    "kernel_body": lambda p: kernels.KernelBody(p[0], tuple(p[1:])),
    "returns": lambda p: kernels.Returns(p[0]),
    "writes": lambda p: kernels.WriteReturns(p[0], p[1], tuple(p[2:])),
    "write": tuple,
    "tile": lambda p: kernels.TileReturns(tuple(p[1:]), p[0]),
    "regtile": lambda p: kernels.RegTileReturns(tuple(p[1:]), p[0]),
    "block": tuple,
    "register_block": tuple,
    "get_parameter": lambda p: kernels.GetParameter(p[0]),
    "at_least": lambda p: kernels.AtLeast(p[0], p[1]),
    "tuning": _tuning,
    "default": lambda p: ("default", (json.loads(p[0]), int(p[1]))),
    "bounds": lambda p: ("bounds", (int(p[0]), int(p[1]))),
    "guards": lambda p: ("guards", json.loads(p[0])),
}
