"""A module as the compiler would generate it, written by hand."""

from __future__ import annotations

from typing import Any

from minifut.opencl import runtime as rt

TEXT = """
kernel void axpy(global int *failure, global const float *x, global float *y, long n,
                 float a) {
  if (failure[0]) return;
  long i = get_global_id(0);
  if (i >= n) return;
  if (x[i] < 0.0f) { minifut_fail2(failure, 1, i, n); return; }
  y[i] = a * x[i] + 1.0f; }
kernel void add_one(global int *failure, global float *x, long n) {
  if (failure[0]) return;
  long i = get_global_id(0);
  if (i < n) x[i] = x[i] + TILE; }
kernel void spin(global int *failure, global float *x, long n) {
  if (failure[0]) return;
  float s = x[0];
  for (long i = 0; i < n; i++) s = s * 0.999f + x[i & 3];
  x[0] = s; }
"""


def _axpy(run: Any, n: int, xs: Any, a: float) -> tuple[Any, ...]:
    ys = run.allocate(4 * n)
    run.kernels[0](n, xs.buffer, ys.buffer, n, a)
    return ((ys, (n,)),)


def _add_one(run: Any, n: int, xs: Any) -> tuple[Any, ...]:
    run.kernels[1](n, xs.buffer, n)
    return ((xs, (n,)),)


def _twice(run: Any, n: int, xs: Any) -> tuple[Any, ...]:
    return (xs, (n,)), (xs, (n,))


def _spin(run: Any, n: int, xs: Any, rounds: int) -> tuple[Any, ...]:
    run.kernels[2](1, xs.buffer, rounds)
    return ((xs, (n,)),)


def _first(run: Any, n: int, xs: Any) -> tuple[Any, ...]:
    return (run.read(xs, 0, "f32"),)


def _huge(run: Any, n: int) -> tuple[Any, ...]:
    return ((run.allocate(n), (n,)),)


def _scalars(run: Any, a: int, b: float, c: bool) -> tuple[Any, ...]:
    return a, b, c


def _matrix(run: Any, n: int, m: int, xs: Any, ys: Any) -> tuple[Any, ...]:
    return n, m


def _constant(run: Any) -> tuple[Any, ...]:
    return ((run.constants[0][0], (3,)),)


def _constants(run: Any) -> tuple[Any, ...]:
    block = run.allocate(12)
    run.fill(block, 0, 12, b"\1")
    return ((block, (3,)),)


_LEAF = rt.EntryLeaf("f32", ("n",))
_XS, _YS = rt.Value("xs", "[]f32", (_LEAF,)), rt.Value("", "[]f32", (_LEAF,))
_SCALARS = tuple(
    rt.Value(name, text, (rt.EntryLeaf(text),))
    for name, text in (("a", "i8"), ("b", "f32"), ("c", "bool"))
)
_LONG = rt.Value("n", "i64", (rt.EntryLeaf("i64"),))

PROGRAM = rt.Program(
    name="handwritten",
    schedule="cpu",
    kernels=(
        rt.Kernel("axpy", ("buffer", "buffer", "i64", "f32"), TEXT, 64, (("TILE", 0),)),
        rt.Kernel("add_one", ("buffer", "i64"), TEXT, 64, (("TILE", 0),)),
        rt.Kernel("spin", ("buffer", "i64"), TEXT, 1, (("TILE", 0),)),
    ),
    failures=(
        rt.Failure(
            ("Index [", rt.Hole("i64"), "] of ", rt.Hole("i64"), " is negative."),
            ("a.fut:3:4", "a:1:1"),
        ),
    ),
    parameters=(
        rt.Parameter("main_tile", "tile_size", {"cpu": 1, "gpu": 1}, (1, 64)),
    ),
    constants=_constants,
    entries=(
        rt.Entry("axpy", _axpy, ("n",), (_XS, _SCALARS[1]), (_YS,)),
        rt.Entry(
            "add_one", _add_one, ("n",),
            (rt.Value("xs", "*[]f32", (_LEAF,), unique=True),), (_YS,),
        ),
        rt.Entry("twice", _twice, ("n",), (_XS,), (_YS, _YS)),
        rt.Entry(
            "spin", _spin, ("n",),
            (rt.Value("xs", "*[]f32", (_LEAF,), unique=True), _LONG), (_YS,),
        ),
        rt.Entry(
            "first", _first, ("n",), (_XS,), (rt.Value("", "f32", (rt.EntryLeaf("f32"),)),)
        ),
        rt.Entry(
            "huge", _huge, (), (_LONG,),
            (rt.Value("", "[]u8", (rt.EntryLeaf("u8", (None,)),)),),
        ),
        rt.Entry("scalars", _scalars, (), _SCALARS, _SCALARS),
        rt.Entry(
            "matrix", _matrix, ("n", "m"),
            (
                rt.Value("xss", "[][]f32", (rt.EntryLeaf("f32", ("n", "m")),)),
                rt.Value("ys", "[]i32", (rt.EntryLeaf("i32", ("m",)),)),
            ),
            (_LONG, _LONG),
        ),
        rt.Entry(
            "hide", _twice, ("n",), (_XS,),
            (rt.Value("", "pair", (_LEAF, _LEAF), kind="opaque"),),
        ),
        rt.Entry(
            "reveal", lambda run, n, a, b: ((a, (n,)), (b, (n,))), ("n",),
            (rt.Value("p", "pair", (_LEAF, _LEAF), kind="opaque"),),
            (
                rt.Value(
                    "", "([]f32, []f32)", (_LEAF, _LEAF), kind="tuple",
                    parts=(_YS, _YS),
                ),
            ),
        ),
        rt.Entry(
            "constant", _constant, (), (),
            (rt.Value("", "[]i32", (rt.EntryLeaf("i32", (None,)),)),),
        ),
    ),
)  # fmt: skip
