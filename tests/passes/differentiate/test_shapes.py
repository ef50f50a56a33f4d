"""How many SOACs and arrays gradients have: adjoints that nothing needs, and values
that the return sweep does not use, are not computed."""

from __future__ import annotations

from typing import Any

import pytest

from minifut import stages
from minifut.errors import Source
from minifut.gradients.derivative import Derivative
from minifut.ir.accumulators import WithAcc
from minifut.ir.core import Index, Iota, Loop, Rearrange, Reshape, Scratch, Update
from minifut.ir.kernels import CollectiveCopy
from minifut.ir.soacs import SOAC_EXPRESSIONS, Hist, Screma
from minifut.ir.traverse import children, walk
from minifut.ir.types import ArrayType, shape_of
from minifut.names import Name
from minifut.passes.differentiate.entries import DerivativeMode
from minifut.passes.pipeline import PipelineOptions

VIEWS = (Index, Iota, Rearrange, Reshape)


def counted(text: str) -> tuple[int, int]:
    """The SOACs that the host runs after fusion, and the arrays that it makes."""
    source = Source("test.fut", f"entry main {text}")
    core = stages.to_core(stages.check(source))
    program = stages.to_kernels(core, PipelineOptions(stop_after="fuse"))
    soacs = arrays = 0
    waiting: list[Any] = [function.body for function in program.functions]
    while waiting:
        node = waiting.pop()
        for statement in getattr(node, "statements", ()):
            exp = statement.exp
            soacs += isinstance(exp, SOAC_EXPRESSIONS)
            if isinstance(exp, (*SOAC_EXPRESSIONS, WithAcc)) or not children(exp):
                types = [p.type for p in statement.pattern]
                made = sum(isinstance(t, ArrayType) for t in types)
                arrays += 0 if isinstance(exp, VIEWS) else made
            if not isinstance(exp, SOAC_EXPRESSIONS):
                waiting.append(exp)
        if not hasattr(node, "statements"):
            waiting += children(node)
    return soacs, arrays


GRADIENTS = {
    "sum": (
        "[n] (xs: [n]f64) = vjp f64.sum xs 1",
        (0, 1),
    ),
    "dot": (
        "[n] (xs: [n]f64) (ys: [n]f64)"
        " = vjp (\\(a, b) -> f64.sum (map2 (*) a b)) (xs, ys) 1",
        (0, 0),
    ),
    "product": (
        "[n] (xs: [n]f64) = vjp f64.product xs 1",
        (2, 1),
    ),
    "minimum": (
        "[n] (xs: [n]f64) = vjp f64.minimum xs 1",
        (2, 1),
    ),
    "running sums": (
        "[n] (xs: [n]f64) (w: [n]f64) = vjp (scan (+) 0) xs w",
        (1, 1),
    ),
    "histogram": (
        "[n][k] (is: [n]i64) (xs: [n]f64) (w: [k]f64)"
        " = vjp (\\xs -> hist (+) 0 k is xs) xs w",
        (1, 1),
    ),
    "gather": (
        "[n][m] (xs: [n]f64) (is: [m]i64) (w: [m]f64)"
        " = vjp (\\xs -> #[unsafe] map (\\i -> xs[i]) is) xs w",
        (1, 2),
    ),
    "sums of squares": (
        "[n][m] (xss: [n][m]f64) (w: [n]f64)"
        " = vjp (map (\\xs -> f64.sum (map (\\x -> x * x) xs))) xss w",
        (1, 1),
    ),
    "least squares": (
        "[n][d] (w: [d]f64) (xs: [n][d]f64) (ys: [n]f64)"
        " = vjp (\\w -> f64.sum (map2 (\\x y ->"
        " (f64.sum (map2 (*) w x) - y) ** 2) xs ys)) w 1",
        (2, 3),
    ),
    "stencil": (
        "[n] (xs: [n]f64) (w: [n]f64)"
        " = vjp (\\xs -> loop xs for _i < 10 do"
        " map2 (\\a b -> a * 0.5 + b * 0.5) xs (rotate 1 xs)) xs w",
        (2, 2),
    ),
    "nearest": (
        "[n][k][d] (cs: [k][d]f64) (ps: [n][d]f64)"
        " = vjp (\\cs -> f64.sum (map (\\p -> f64.minimum (map (\\c ->"
        " f64.sum (map2 (\\x y -> (x - y) ** 2) c p)) cs)) ps)) cs 1",
        (2, 3),
    ),
    "dead": (
        "[n] (xs: [n]f64) (ys: [n]f64) (w: [n]f64)"
        " = (vjp (\\(a, b) -> map2 (\\x y -> f64.exp x * f64.sin y) a b) (xs, ys) w).0",
        (1, 1),
    ),
}
"""programs, with the SOACs and arrays of their gradients"""


@pytest.mark.parametrize("name", GRADIENTS)
def test_a_gradient_has_this_many_soacs_and_arrays(name: str) -> None:
    text, expected = GRADIENTS[name]
    assert counted(text) == expected


@pytest.mark.parametrize(("mode", "sums"), [("vjp", 1), ("grad", 0)])
def test_a_gradient_alone_has_no_product_for_the_value(
    mode: DerivativeMode, sums: int
) -> None:
    """The adjoints of the factors add multiples of rows to arrays."""
    text = (
        "entry main [n][m][p] (a: [n][m]f64) (b: [m][p]f64) ="
        " map (\\r -> map (\\c -> f64.sum (map2 (*) r c)) (transpose b)) a"
    )
    core = stages.to_core(stages.check(Source("test.fut", text)))
    program = stages.without_derivatives(Derivative("main", mode, (0, 1)).program(core))
    found = [n for n in walk(program) if isinstance(n, Screma) and n.is_redomap]
    assert len(found) == sums


def test_a_loop_over_arrays_that_grow_has_no_loop_inside() -> None:
    """The parameters of its rounds are read, not computed from the start."""
    text = (
        "entry main [n] (xs: [n]f64) = vjp (\\xs -> f64.sum (loop a = xs for i < n do"
        " map f64.sin a ++ [a[i]])) xs 1"
    )
    core = stages.to_core(stages.check(Source("test.fut", text)))
    program = stages.without_derivatives(core)
    loops = [node for node in walk(program) if isinstance(node, Loop)]
    assert loops
    for loop in loops:
        assert not any(isinstance(node, Loop) for node in walk(loop.body))


@pytest.mark.parametrize("levels", [1, 2, 3])
def test_a_reduction_in_maps_is_computed_once(levels: int) -> None:
    """Not once more for each map around it: the forward sweep keeps its results."""
    sizes = "".join(f"[n{level}]" for level in range(levels))
    body = "f64.tanh (f64.sum (map2 (\\w x -> f64.exp (w * x)) w x))"
    for _ in range(levels):
        body = f"map (\\x -> {body}) x"
    text = (
        f"entry main {sizes}[d] (w: [d]f64) (x: {sizes}[d]f64) (y: {sizes}f64) ="
        f" vjp2 (\\x -> {body}) x y"
    )
    core = stages.to_core(stages.check(Source("test.fut", text)))
    program = stages.without_derivatives(core)
    sums = [n for n in walk(program) if isinstance(n, Screma) and n.is_redomap]
    assert len(sums) == 1


def reductions_and_tapes(text: str) -> tuple[int, int]:
    """The reductions of a program without its derivatives, and the results of its maps
    that have three dimensions outside of all maps."""
    core = stages.to_core(stages.check(Source("test.fut", f"entry main {text}")))
    program = stages.without_derivatives(core)
    reductions = [n for n in walk(program) if isinstance(n, Screma) and n.reduces]
    statements = [s for f in program.functions for s in f.body.statements]
    types = [p.type for s in statements for p in s.pattern]
    return len(reductions), sum(len(shape_of(type_)) == 3 for type_ in types)


@pytest.mark.parametrize(("width", "reductions"), [("n", 1), ("12", 1), ("3", 2)])
def test_a_reduction_is_kept_that_takes_longer_than_its_result_is_read(
    width: str, reductions: int
) -> None:
    """A sum of a few elements is rather computed again."""
    size = "[n]" if width == "n" else ""
    text = (
        f"{size}[m] (xs: [m][{width}]f64) (y: [m]f64) ="
        " vjp2 (map (\\x -> f64.exp (f64.sum (map (\\e -> e * e) x)))) xs y"
    )
    assert reductions_and_tapes(text) == (reductions, 0)


def test_a_tape_has_no_more_dimensions_than_what_its_map_reads() -> None:
    """All triples of points are not kept, where two arrays of points are read."""
    triples = (
        "map (\\a -> f64.sum (map (\\b -> f64.sum (map (\\c ->"
        " f64.exp (f64.sum (map3 (\\e f g -> e * f * g) a b c))) xs)) xs)) xs"
    )
    text = f"[n][d] (xs: [n][d]f64) (y: [n]f64) = vjp2 (\\xs -> {triples}) xs y"
    reductions, tapes = reductions_and_tapes(text)
    assert tapes == 0 and reductions > 3


def test_a_reduction_in_a_loop_is_computed_once() -> None:
    """The return sweep reads its results, which are no larger than the parameters."""
    text = (
        "entry main [n] (a: [n][n]f64) (x: [n]f64) (y: [n]f64) = vjp2 (\\x -> loop x"
        " for _i < 10 do map f64.tanh (map (\\r -> f64.sum (map2 (*) r x)) a)) x y"
    )
    core = stages.to_core(stages.check(Source("test.fut", text)))
    program = stages.without_derivatives(core)
    forward, back = (node for node in walk(program) if isinstance(node, Loop))
    assert [n for n in walk(forward) if isinstance(n, Screma) and n.is_redomap]
    assert not any(isinstance(n, Screma) and n.reduces for n in walk(back))


@pytest.mark.parametrize(
    ("step", "rank"),
    [
        ("a with [i, j] = a[i, j] * a[j, i]", 1),
        ("a with [:, i] = map (\\r -> r[i] * r[j]) a", 2),
        ("let a = a with [i] = map f64.sin a[i] in a with [j, i] = a[i, j]", 2),
        ("if a[i, j] > 0 then a with [i, j] = a[i, j] * a[j, i] else a", 1),
        ("if k[i] > 0 then a with [k[i]] = map f64.sin a[i] else a", 2),
        ("loop a for m < n do a with [m, i] = a[m, j] * a[m, i]", 2),
        ("loop a for m < i do a with [m, i] = a[m, j] * a[m, i]", 3),
        ("a with [k[i]] = map f64.sin a[i]", 2),
    ],
)
def test_a_loop_of_updates_keeps_what_is_overwritten(step: str, rank: int) -> None:
    """A tape has a dimension more than what a round overwrites; the whole array is kept
    only where its size differs from round to round."""
    text = (
        "entry main [n] (a: [n][n]f64) (k: [n]i64) (y: [n][n]f64) = vjp (\\a ->"
        f" loop a = copy a for i < n do let j = n - 1 - i in {step}) a y"
    )
    core = stages.to_core(stages.check(Source("test.fut", text)))
    program = stages.without_derivatives(core)
    made = [node for node in walk(program) if isinstance(node, Scratch)]
    assert max(len(scratch.shape) for scratch in made) == rank


def test_inner_loops_hand_back_the_array_that_they_undo() -> None:
    """Otherwise each round would copy it before it runs an inner loop again."""
    text = (
        "entry main [n] (a: [n]f64) = vjp (\\a -> f64.sum (loop a = copy a for _i < n do"
        " loop a for j < 4 do a with [j + 1] = a[j] * a[j + 1])) a 1"
    )
    core = stages.to_core(stages.check(Source("test.fut", text)))
    (function,) = stages.without_derivatives(core).functions
    loops = [s.exp for s in function.body.statements if isinstance(s.exp, Loop)]
    inner = [s.exp for s in loops[-1].body.statements if isinstance(s.exp, Loop)]
    assert len(inner) == 3
    assert all(loops[-1].body.result[0] not in loop.initial for loop in inner)


def test_an_unrolled_loop_has_no_tape() -> None:
    """Its rounds are statements before they are differentiated."""
    text = (
        "entry main (x: f64) (y: f64) ="
        " vjp (\\x -> #[unroll] loop a = x for i < 4 do f64.sin (a * f64.i64 i)) x y"
    )
    core = stages.to_core(stages.check(Source("test.fut", text)))
    program = stages.without_derivatives(core)
    assert not any(isinstance(node, (Loop, Update)) for node in walk(program))


def test_products_of_a_gradient_have_tiles_and_are_stored_as_they_are_wanted() -> None:
    text = """
entry main [n][m][p] (a: [n][m]f64) (b: [m][p]f64) =
  let product a b =
    map (\\row -> map (\\column -> f64.sum (map2 (*) row column)) (transpose b)) a
  in vjp (\\(a, b) -> f64.sum (map (\\x -> x * x) (flatten (product a b)))) (a, b) 1
"""
    core = stages.to_core(stages.check(Source("test.fut", text)))
    program = stages.to_kernels(core, PipelineOptions(stop_after="place-results"))
    # two operands of three products, in the version with a split dimension, too
    assert sum(isinstance(n, CollectiveCopy) for n in walk(program)) == 2 * 3 * 2
    (function,) = program.functions
    made = {p.name: s.exp for s in function.body.statements for p in s.pattern}
    results = [made[a] for a in function.body.result if isinstance(a, Name)]
    assert not any(isinstance(exp, Rearrange) for exp in results)


def test_the_adjoint_of_a_part_at_a_position_that_is_added_to_is_a_map() -> None:
    text = """
entry main [n] (h: i64) (xs: [n]f64) (w: [h]f64) =
  vjp (\\xs -> #[unsafe] map (\\i -> f64.sin xs[h + i]) (iota h)) xs w
"""
    core = stages.to_core(stages.check(Source("test.fut", text)))
    program = stages.to_kernels(core, PipelineOptions(stop_after="accumulate"))
    assert not any(isinstance(node, Hist | WithAcc) for node in walk(program))


def test_the_sum_of_two_products_is_on_a_tape_in_their_place() -> None:
    text = """
entry main [n][m] (a: [m][m]f64) (b: [m][m]f64) (c: [m]f64) (xs: [n][m][m]f64) =
  let product a b = map (\\x -> map (\\y -> f64.sum (map2 (*) x y)) b) a
  let step s x =
    map (map f64.tanh) (map (map2 (+) c) (map2 (map2 (+)) (product x a) (product s b)))
  in vjp (\\a -> f64.sum (flatten (loop s = a for x in xs do step s x))) a 1
"""
    core = stages.to_core(stages.check(Source("test.fut", text)))
    program = stages.to_kernels(core, PipelineOptions(stop_after="fuse"))
    assert sum(isinstance(node, Scratch) for node in walk(program)) == 1
