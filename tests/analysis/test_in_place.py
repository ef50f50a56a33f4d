"""Which updates happen in place: those that nothing could notice, and most of those."""

from __future__ import annotations

import pytest

from minifut import stages
from minifut.analysis.in_place import in_place_updates
from minifut.errors import Source
from minifut.ir.core import Manifest, Stm
from minifut.ir.kernels import SegMap, WriteReturns
from minifut.ir.parser import parse_program
from minifut.ir.traverse import walk


def found(
    body: str, parameters: str = "", results: int = 1
) -> tuple[set[str], set[str]]:
    """The bases of updates in place and of copied loop parameters."""
    types = ", ".join(f"r{n}: [n]i64" for n in range(results))
    program = parse_program(f"fun main(n: i64{parameters}) -> ({types}) {{{body}}}")
    answer = in_place_updates(program.functions[0])
    return {str(n) for n in answer.updates}, {str(n) for n in answer.copied}


FRESH = "let a: [n]i64 = replicate([n], 0i64)\n"


def test_an_array_that_is_not_read_again() -> None:
    assert found(FRESH + "let b: [n]i64 = a with [0i64] = 1i64 return b") == (
        {"b"},
        set(),
    )


def test_an_array_that_is_returned_as_well() -> None:
    body = FRESH + "let b: [n]i64 = a with [0i64] = 1i64 return a, b"
    assert found(body, results=2) == (set(), set())


def test_a_view_that_is_read_later() -> None:
    body = (
        FRESH
        + """
    let v: [n]i64 = a[0i64 :+ n by 1i64]
    let b: [n]i64 = a with [0i64] = 1i64
    let x: i64 = v[0i64]
    let c: [n]i64 = b with [1i64] = x
    return c"""
    )
    updates, _ = found(body)
    assert "b" not in updates


def test_a_value_that_overlaps_the_array() -> None:
    body = (
        FRESH
        + """
    let v: [2]i64 = a[1i64 :+ 2 by 1i64]
    let b: [n]i64 = a with [0i64 :+ 2 by 1i64] = v
    return b"""
    )
    assert found(body) == (set(), set())


@pytest.mark.parametrize(("mark", "updates"), [("", set()), ("*", {"b"})])
def test_parameters_only_if_unique(mark: str, updates: set[str]) -> None:
    body = "let b: [n]i64 = xs with [0i64] = 1i64 return b"
    assert found(body, f", xs: {mark}[n]i64") == (updates, set())


LOOP = """
    let r: [n]i64 = loop (p: [n]i64 = START) for i: i64 < n do {
      let q: [n]i64 = p with [i] = i
      return q }
"""


def test_a_loop_over_a_fresh_array() -> None:
    assert found(FRESH + LOOP.replace("START", "a") + "return r") == ({"q"}, set())


def test_a_loop_from_an_array_that_is_needed_later() -> None:
    body = FRESH + LOOP.replace("START", "a") + "return r, a"
    assert found(body, results=2) == ({"q"}, {"p"})


def test_a_loop_from_somebody_elses_array() -> None:
    body = LOOP.replace("START", "xs") + "return r"
    assert found(body, ", xs: [n]i64") == ({"q"}, {"p"})


def test_a_loop_that_reads_its_start_inside() -> None:
    body = (
        FRESH
        + """
    let r: [n]i64 = loop (p: [n]i64 = a) for i: i64 < n do {
      let x: i64 = a[i]
      let q: [n]i64 = p with [0i64] = x
      return q }
    return r"""
    )
    assert found(body) == ({"q"}, {"p"})


def test_nested_loops_copy_once_outside() -> None:
    body = """
    let r: [n]i64 = loop (p: [n]i64 = xs) for i: i64 < n do {
      let s: [n]i64 = loop (q: [n]i64 = p) for j: i64 < n do {
        let t: [n]i64 = q with [j] = i
        return t }
      return s }
    return r"""
    assert found(body, ", xs: [n]i64") == ({"t"}, {"p"})


def test_parameters_that_change_places_are_copied_together() -> None:
    body = """
    let (r: [n]i64, s: [n]i64) = loop (p: [n]i64 = xs, q: [n]i64 = ys)
      for i: i64 < n do {
        let t: [n]i64 = p with [i] = i
        return q, t }
    return r, s"""
    updates, copied = found(body, ", xs: [n]i64, ys: [n]i64", results=2)
    assert (updates, copied) == ({"t"}, {"p", "q"})


def test_an_array_for_two_parameters_is_never_written() -> None:
    body = """
    let (r: [n]i64, s: [n]i64) = loop (p: [n]i64 = xs, q: [n]i64 = ys)
      for i: i64 < n do {
        let t: [n]i64 = p with [i] = i
        return t, t }
    return r, s"""
    updates, _ = found(body, ", xs: *[n]i64, ys: *[n]i64", results=2)
    assert updates == set()


def test_an_array_from_outside_a_loop_is_kept() -> None:
    body = (
        FRESH
        + """
    let r: i64 = loop (p: i64 = 0i64) for i: i64 < n do {
      let b: [n]i64 = a with [0i64] = i
      let x: i64 = b[0i64]
      return x }
    let c: [n]i64 = replicate([n], r)
    return c"""
    )
    assert found(body) == (set(), set())


def test_branches_are_apart() -> None:
    body = (
        FRESH
        + """
    let c: bool = lt_i64(n, 3i64)
    let r: [n]i64 = if c then {
        let b: [n]i64 = a with [0i64] = 1i64
        return b } else {
        let d: [n]i64 = a with [0i64] = 2i64
        let e: i64 = a[0i64]
        let f: [n]i64 = d with [0i64] = e
        return f }
    return r"""
    )
    updates, _ = found(body)
    assert "b" in updates and "d" not in updates


def test_a_kernel_that_reads_what_it_writes_needs_a_copy() -> None:
    def text(read: str) -> str:
        return (
            FRESH
            + f"""
        let r: [n]i64 = segmap grid (i < n) -> (i64) {{
          let x: i64 = {read}
          return writes a [n] with ((i) = x) }}
        return r"""
        )

    assert found(text("add_i64(i, 1i64)")) == ({"r"}, set())
    assert found(text("a[i]")) == (set(), set())


def test_rows_of_a_lambda_belong_to_the_array() -> None:
    body = """
    let r: [n]i64 = segmap grid (i < n) -> (i64) {
      let row: [n]i64 = xss[i]
      let b: [n]i64 = row with [0i64] = 1i64
      let x: i64 = b[0i64]
      return returns x }
    return r"""
    assert found(body, ", xss: *[n][n]i64") == (set(), set())


def test_a_copy_of_what_is_not_needed_again_is_none() -> None:
    """`copy` in the source requires nothing: only the start of the loop is made."""
    source = """
entry main (n: i64): [n]bool =
  (loop (s, i) = (replicate n true, 2i64) while i * i < n do
     (if s[i] then scatter (copy s) (tabulate i (* i)) (replicate i false) else s,
      i + 1)).0
"""
    checked = stages.check(Source("test.fut", source))
    (function,) = stages.to_kernels(stages.to_core(checked)).functions
    nodes = list(walk(function))
    assert not any(isinstance(node, Manifest) for node in nodes)
    writes = [
        bound.name
        for node in nodes
        if isinstance(node, Stm) and isinstance(node.exp, SegMap)
        for bound, result in zip(node.pattern, node.exp.body.result, strict=True)
        if isinstance(result, WriteReturns)
    ]
    answer = in_place_updates(function)
    assert writes and set(writes) <= answer.updates and not answer.copied


def overwritten(body: str, parameters: str = "", results: int = 1) -> dict[str, str]:
    """The bases of results of maps, and of the arrays that they are written over."""
    types = ", ".join(f"r{n}: [n]i64" for n in range(results))
    program = parse_program(f"fun main(n: i64{parameters}) -> ({types}) {{{body}}}")
    answer = in_place_updates(program.functions[0]).overwritten
    return {str(result): str(array) for result, array in answer.items()}


def a_map(read: str = "a[i]", name: str = "b", more: str = "") -> str:
    return f"""
    let {name}: [n]i64 = segmap grid (i < n) -> (i64) {{
      let x_{name}: i64 = {read}
      {more}
      return returns x_{name} }}"""


def test_a_map_overwrites_what_its_points_read_last() -> None:
    assert overwritten(FRESH + a_map() + "return b") == {"b": "a"}
    assert overwritten(FRESH + a_map() + "return a, b", results=2) == {}
    assert overwritten(a_map("xs[i]") + "return b", ", xs: [n]i64") == {}
    assert overwritten(a_map("xs[i]") + "return b", ", xs: *[n]i64") == {"b": "xs"}
    chain = FRESH + a_map() + a_map("b[i]", "c") + "return c"
    assert overwritten(chain) == {"b": "a", "c": "b"}


@pytest.mark.parametrize(
    "more",
    [
        "let y: i64 = a[0i64]",
        "let v: [n]i64 = reshape([n], a)",
        "let y: i64 = w[i]",
        'let () = assert(true, ["no"], [])',
    ],
)
def test_a_map_that_reads_other_elements_or_may_fail_overwrites_nothing(
    more: str,
) -> None:
    views = "let w: [n]i64 = a[0i64 :+ n by 1i64]\n"
    assert overwritten(FRESH + views + a_map(more=more) + "return b") == {}


def test_a_loop_copies_what_its_maps_overwrite_once() -> None:
    body = f"""
    let r: [n]i64 = loop (a: [n]i64 = xs) for t: i64 < n do {{
      {a_map()}
      return b }}
    return r"""
    assert overwritten(body, ", xs: [n]i64") == {"b": "a"}
    assert found(body, ", xs: [n]i64") == (set(), {"a"})
    assert found(body, ", xs: *[n]i64") == (set(), set())


def test_one_array_is_overwritten_by_one_result() -> None:
    body = (
        FRESH
        + """
    let (b: [n]i64, c: [n]i64) = segmap grid (i < n) -> (i64, i64) {
      let x: i64 = a[i]
      let y: i64 = add_i64(x, 1i64)
      return returns x, returns y }
    return b, c"""
    )
    assert overwritten(body, results=2) == {"b": "a"}
