"""Branches that become choices, and those that must stay."""

from __future__ import annotations

from minifut.ir.scalars import operator
from minifut.ir.traverse import walk
from minifut.ir.types import I32
from minifut.kernel_ir import nodes as kc
from minifut.kernel_ir.builder import CodeBuilder
from minifut.kernel_passes.if_convert import if_convert
from minifut.names import Name, NameSource


def run(statements: list[kc.Statement], values: dict[Name, int]) -> dict[Name, int]:
    """The variables after straight-line code and branches."""

    def value(exp: kc.Expression) -> int:
        match exp:
            case kc.Variable(name, _):
                return values[name]
            case kc.Literal(number, _):
                return int(number)
            case kc.SizeValue(size, _):
                return size.evaluate(values)
            case kc.Select(condition, then, otherwise, _):
                return value(then) if value(condition) else value(otherwise)
            case kc.Binary("+", left, right, _):
                return value(left) + value(right)
            case kc.Binary("<", left, right, _):
                return value(left) < value(right)
        raise AssertionError(exp)

    for statement in statements:
        match statement:
            case kc.Declare(kc.Variable(name, _), None):
                values.setdefault(name, 0)
            case kc.Declare(kc.Variable(name, _), init) if init is not None:
                values[name] = value(init)
            case kc.Assign(kc.Variable(name, _), exp):
                values[name] = value(exp)
            case kc.Branch(condition, then, otherwise):
                if value(condition):
                    run(list(then.statements), values)
                elif otherwise is not None:
                    run(list(otherwise.statements), values)
            case _:
                raise AssertionError(statement)
    return values


def test_nested_branches_mean_the_same() -> None:
    k = CodeBuilder(NameSource(), "test")
    x, y, z = (k.variable(base, kc.LONG) for base in "xyz")
    with k.nested() as code:
        with k.branch(x < 5):
            k.assign(y, y + x)
            k.assign(y, y + y)
            with k.branch(y < 6):
                k.assign(x, y + 1)
            with k.otherwise():
                k.assign(z, k.size_value(k.as_size(y) + 7))
        with k.otherwise():
            t = k.declare("t", x + z)
            k.assign(z, t + 1)
        with k.branch(z < 3):
            k.assign(z, z + x)
    made = if_convert(k, code)
    assert not any(isinstance(n, kc.Branch) for s in made for n in walk(s))
    for a in range(8):
        for b in range(4):
            given = {x.name: a, y.name: b, z.name: a ^ b}
            before, after = run(code, dict(given)), run(made, dict(given))
            assert [after[v.name] for v in (x, y, z)] == [
                before[v.name] for v in (x, y, z)
            ]


def test_what_may_fault_stays_behind_its_branch() -> None:
    k = CodeBuilder(NameSource(), "test")
    x = k.variable("x", kc.INT)
    memory = kc.Memory(Name("m", -1), I32)
    divided = kc.Operation(operator("quot", I32), (x, x), kc.INT)
    for exp in (k.load(memory, 3), divided, x // x):
        with k.nested() as code, k.branch(x.differs(0)):
            k.assign(x, exp)
        assert isinstance(if_convert(k, code)[0], kc.Branch)
    with k.nested() as code, k.branch(x.differs(0)):
        k.store(memory, 0, x)
    assert isinstance(if_convert(k, code)[0], kc.Branch)
