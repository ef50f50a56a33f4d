"""The interpreter against NumPy, on programs made with the builder."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pytest

from minifut.errors import ProgramError, UsageError
from minifut.ir import core, kernels, soacs
from minifut.ir.builder import Builder, constant, i64
from minifut.ir.core import Param
from minifut.ir.entries import Entry, EntryType
from minifut.ir.interpret import Interpreter, run
from minifut.ir.sizes import Size, as_size
from minifut.ir.types import BOOL, F32, I32, I64, ArrayType, ScalarType, Type
from minifut.names import Name, NameSource

Make = Callable[..., Sequence[core.Atom]]


def program(make: Make, *types: Callable[[Size], Type], sizes: int = 1) -> core.Program:
    """An entry `main` over a size n and parameters whose types may mention it;
    `make(builder, n, *parameters)` emits the body and gives the results."""
    build = Builder(NameSource(), {})
    n = build.names.fresh("n")
    parameters = [Param(n, I64)]
    for type_ in types:
        parameters.append(Param(build.names.fresh("x"), type_(Size.of(n))))
    for parameter in parameters:
        build.scope[parameter.name] = parameter.type
    results = make(build, n, *[p.name for p in parameters[1:]])
    outer = tuple(Param(build.names.fresh("r"), t) for t in build.types(results))
    name = build.names.fresh("main")
    function = core.Function(name, tuple(parameters), outer, build.finish(*results))
    leaf = EntryType("", "", "array", 1)
    entry = Entry("main", name, sizes, (leaf,) * len(types), (leaf,) * len(results))
    return core.Program((entry,), (), (function,))


def vector(element: ScalarType) -> Callable[[Size], Type]:
    return lambda n: ArrayType(element, (n,))


def scalar(type_: ScalarType) -> Callable[[Size], Type]:
    return lambda _: type_


def adding(build: Builder, type_: ScalarType) -> core.Lambda:
    return build.function([type_, type_], lambda inner, a, b: inner.add(a, b))


def test_map_and_reduce_wrap_as_the_type_does() -> None:
    def make(build: Builder, n: Name, xs: Name) -> Sequence[core.Atom]:
        square = build.function([I32], lambda inner, x: inner.mul(x, x))
        (squares,) = build.map([xs], square)
        identity = build.function([I32], lambda inner, x: x)
        reduce = soacs.Reduce(adding(build, I32), (constant(0, I32),))
        total = build.let(soacs.redomap(as_size(n), (squares,), (reduce,), identity))
        return squares, total

    xs = np.array([1, 2, 70000, -5], np.int32)
    squares, total = run(program(make, vector(I32)), "main", [xs])
    np.testing.assert_array_equal(squares, xs * xs)
    assert total == np.sum(xs * xs, dtype=np.int32)
    assert total.dtype == np.int32


def test_a_reduction_of_nothing_is_the_neutral_element() -> None:
    def make(build: Builder, n: Name, xs: Name) -> Sequence[core.Atom]:
        identity = build.function([F32], lambda inner, x: x)
        reduce = soacs.Reduce(adding(build, F32), (constant(7.0, F32),))
        return (build.let(soacs.redomap(as_size(n), (xs,), (reduce,), identity)),)

    (total,) = run(program(make, vector(F32)), "main", [np.zeros(0, np.float32)])
    assert total == np.float32(7)


def test_a_scan_with_an_operator_on_pairs() -> None:
    def make(build: Builder, n: Name, xs: Name, ys: Name) -> Sequence[core.Atom]:
        def affine(
            inner: Builder, a: Name, b: Name, c: Name, d: Name
        ) -> Sequence[core.Atom]:
            return inner.mul(a, c), inner.add(inner.mul(b, c), d)

        operator = build.function([I32] * 4, affine)
        scan = soacs.Scan(operator, (constant(1, I32), constant(0, I32)))
        pair = build.function([I32, I32], lambda inner, a, b: (a, b))
        return build.let_many(soacs.scanomap(as_size(n), (xs, ys), (scan,), pair))

    xs, ys = np.array([2, 3, 4], np.int32), np.array([1, 1, 1], np.int32)
    first, second = run(program(make, vector(I32), vector(I32)), "main", [xs, ys])
    np.testing.assert_array_equal(first, [2, 6, 24])
    np.testing.assert_array_equal(second, [1, 4, 17])


def test_an_update_leaves_the_old_array_alone() -> None:
    def make(build: Builder, n: Name, xs: Name) -> Sequence[core.Atom]:
        changed = build.update(xs, [i64(0)], constant(9, I32))
        view = build.index(changed, core.DimSlice(i64(0), as_size(2), i64(1)))
        again = build.update(changed, [i64(1)], constant(8, I32))
        return xs, view, again

    xs = np.array([1, 2, 3], np.int32)
    old, view, new = run(program(make, vector(I32)), "main", [xs])
    np.testing.assert_array_equal(old, [1, 2, 3])
    np.testing.assert_array_equal(view, [9, 2])
    np.testing.assert_array_equal(new, [9, 8, 3])
    np.testing.assert_array_equal(xs, [1, 2, 3])


def test_an_array_updated_by_itself() -> None:
    def make(build: Builder, n: Name, xs: Name) -> Sequence[core.Atom]:
        last = build.size_atom(Size.of(n) - 1, "last")
        part = core.DimSlice(last, Size.of(n), constant(-1, I64))
        return (build.let(core.Update(xs, (part,), xs), "reversed"),)

    given = np.arange(5, dtype=np.int32)
    (result,) = run(program(make, lambda n: ArrayType(I32, (n,))), "main", [given])
    assert result.tolist() == [4, 3, 2, 1, 0] and given.tolist() == [0, 1, 2, 3, 4]


def test_a_loop_that_updates_is_not_quadratic() -> None:
    def make(build: Builder, n: Name, xs: Name) -> Sequence[core.Atom]:
        array, i = build.names.fresh("array"), build.names.fresh("i")
        build.scope[array] = ArrayType(I32, (Size.of(n),))
        build.scope[i] = I64
        inner = build.nested()
        old = inner.index(array, i)
        new = inner.update(array, [i], inner.add(old, constant(1, I32)))
        parameter = Param(array, build.scope[array])
        form = core.ForLoop(i, n, I64)
        return (build.let(core.Loop((parameter,), (xs,), form, inner.finish(new))),)

    made = program(make, vector(I32))
    xs = np.arange(200_000, dtype=np.int32)
    (result,) = run(made, "main", [xs])
    np.testing.assert_array_equal(result, xs + 1)


@pytest.mark.parametrize(
    ("start", "length", "stride"), [(0, 3, 1), (4, 5, -1), (4, 2, -2), (2, 0, -1)]
)
def test_slices(start: int, length: int, stride: int) -> None:
    def make(build: Builder, n: Name, xs: Name) -> Sequence[core.Atom]:
        part = core.DimSlice(i64(start), as_size(length), i64(stride))
        return (build.index(xs, part),)

    xs = np.arange(5, dtype=np.int32)
    (result,) = run(program(make, vector(I32)), "main", [xs])
    expected = [start + k * stride for k in range(length)]
    np.testing.assert_array_equal(result, expected)


def test_a_failing_check_is_located_in_lanes_too() -> None:
    def make(build: Builder, n: Name, xs: Name) -> Sequence[core.Atom]:
        def body(inner: Builder, x: Name) -> core.Atom:
            small = inner.op("lt", x, constant(3, I32))
            inner.check(small, ("value ", x, " is too large"), ("a.fut:3:7",))
            return inner.add(x, x)

        return build.map([xs], build.function([I32], body))

    made = program(make, vector(I32))
    with pytest.raises(ProgramError, match="value 5 is too large") as caught:
        run(made, "main", [np.array([1, 5, 7], np.int32)])
    assert caught.value.backtrace == ("a.fut:3:7",)
    (fine,) = run(made, "main", [np.array([1, 2], np.int32)])
    np.testing.assert_array_equal(fine, [2, 4])


def test_scatter_ignores_what_is_out_of_bounds() -> None:
    def make(build: Builder, n: Name, dest: Name, at: Name) -> Sequence[core.Atom]:
        function = build.function([I64], lambda inner, i: (i, constant(7, I32)))
        to = soacs.ScatterDestination(dest, 1, 1)
        return build.let_many(soacs.Scatter(as_size(n), (at,), (to,), function))

    dest, at = np.zeros(4, np.int32), np.array([0, -1, 4, 2], np.int64)
    made = program(make, vector(I32), vector(I64))
    (result,) = run(made, "main", [dest, at])
    np.testing.assert_array_equal(result, [7, 0, 7, 0])


def test_histogram() -> None:
    def make(build: Builder, n: Name, dest: Name, at: Name) -> Sequence[core.Atom]:
        function = build.function([I64], lambda inner, i: (i, constant(1, I32)))
        operator = soacs.HistOp(
            (as_size(n),), (dest,), (constant(0, I32),), adding(build, I32)
        )
        return build.let_many(soacs.Hist(as_size(n), (at,), (operator,), function))

    dest, at = np.array([10, 0, 0], np.int32), np.array([0, 0, 5], np.int64)
    (result,) = run(program(make, vector(I32), vector(I64)), "main", [dest, at])
    np.testing.assert_array_equal(result, [12, 0, 0])


def test_segmented_reduction_and_scan() -> None:
    def make(build: Builder, n: Name, xss: Name) -> Sequence[core.Atom]:
        results: list[core.Atom] = []
        for kind in (kernels.SegRed, kernels.SegScan):
            i, j = build.names.fresh("i"), build.names.fresh("j")
            build.scope[i] = build.scope[j] = I64
            inner = build.nested()
            value = inner.index(xss, i, j)
            body = kernels.KernelBody(
                tuple(inner.statements), (kernels.Returns(value),)
            )
            operator = kernels.SegBinOp(adding(build, I32), (constant(0, I32),))
            space = kernels.SegSpace((i, j), (as_size(n), as_size(3)))
            exp = kind(kernels.GRID, space, (operator,), body, (I32,))
            results += build.let_many(exp)
        return results

    xss = np.arange(12, dtype=np.int32).reshape(4, 3)
    made = program(make, lambda n: ArrayType(I32, (n, as_size(3))))
    sums, scans = run(made, "main", [xss])
    np.testing.assert_array_equal(sums, xss.sum(1))
    np.testing.assert_array_equal(scans, xss.cumsum(1))


def test_tiles_beyond_the_edge_are_cut() -> None:
    def make(build: Builder, n: Name) -> Sequence[core.Atom]:
        g = build.names.fresh("g")
        build.scope[g] = I64
        inner = build.nested()
        tile = inner.replicate([4], inner.convert(g, I32))
        result = kernels.TileReturns(((as_size(10), as_size(4)),), tile)
        body = kernels.KernelBody(tuple(inner.statements), (result,))
        space = kernels.SegSpace((g,), (as_size(3),))
        return build.let_many(kernels.SegMap(kernels.GRID, space, body, (I32,)))

    (result,) = run(program(make, sizes=1), "main", [])
    np.testing.assert_array_equal(result, [0] * 4 + [1] * 4 + [2] * 2)


def test_branches_choose_and_parameters_are_settable() -> None:
    parameter = kernels.Parameter("t", "threshold", (("cpu", 5), ("gpu", 9)))

    def make(build: Builder, n: Name, xs: Name) -> Sequence[core.Atom]:
        enough = build.let(kernels.AtLeast(Size.of(n), parameter), type=BOOL)
        branches = [core.Body((), (constant(k, I32),)) for k in (1, 2)]
        return (build.let(core.If(enough, *branches), type=I32),)

    made = program(make, vector(I32))
    xs = np.zeros(7, np.int32)
    assert run(made, "main", [xs]) == (1,)
    assert run(made, "main", [xs], {"t": 100}) == (2,)
    assert Interpreter(made, device_kind="gpu").run("main", [xs]) == (2,)


def test_arguments_are_checked() -> None:
    def make(build: Builder, n: Name, a: Name, b: Name) -> Sequence[core.Atom]:
        return a, b

    made = program(make, vector(I32), vector(I32))
    with pytest.raises(ProgramError, match="dimension 0 has size 2, expected 3"):
        run(made, "main", [np.zeros(3, np.int32), np.zeros(2, np.int32)])
    with pytest.raises(UsageError, match='no entry point "other"'):
        run(made, "other", [])
    with pytest.raises(UsageError, match="takes 2 values, 1 were given"):
        run(made, "main", [np.zeros(3, np.int32)])


def test_a_slice_out_of_bounds_that_nothing_checks_fails() -> None:
    def make(build: Builder, n: Name, xs: Name, start: Name) -> Sequence[core.Atom]:
        part = core.DimSlice(start, as_size(3), i64(1))
        return [build.index(xs, part)]

    compiled = program(make, vector(I32), scalar(I64))
    values = np.arange(5, dtype=np.int32)
    (part,) = run(compiled, "main", [values, 2])
    assert part.tolist() == [2, 3, 4]
    for start in (3, 9, -2):
        with pytest.raises(ProgramError, match="slice out of bounds"):
            run(compiled, "main", [values, start])
