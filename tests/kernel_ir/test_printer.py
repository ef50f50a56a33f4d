"""Printed kernel code reads back as it was, and means the same."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

import pytest

from minifut.errors import UsageError
from minifut.ir import forms
from minifut.kernel_ir import nodes as kc
from minifut.kernel_ir.printer import CLASSES, show
from minifut.kernel_ir.program import KernelProgram
from minifut.kernel_ir.reader import read_program
from minifut.kernel_ir.verify import verify_program
from minifut.names import Name
from minifut.opencl.module import text_of
from tests.kernel_ir.programs import FILES, LOWERING_RULES, lowered, lowered_examples
from tests.kernel_ir.reading import read_kernels, read_statements
from tests.opencl.texts import kernel_text

SUM = dedent(
    """\
    kernel main_sum (
      buffer xs: global f32,
      buffer ys: global f32 written,
      scalar n: i64,
      scalar a: f32,
      local_buffer shared: local f32 count n + 4
    ) groups (16) can_fail fresh {
      array parts: private f32 count 4
      let mine: i64 = get_local_id(0i32)
      let total: f32x4 = vector f32x4(0.0f32)
      for i: i64 = 0i64 to size(2 * n) by 4i64 parallel {
        let next: f32x4 = xs[i] as f32x4
        total = add_f32(total, next)
      }
      unroll r below 2i64 {
        let acc@(r): f32 = lane(total, 3)
      }
      static_if (n < 8i64) {
        acc@(0) = acc@(1)
      } else {
        acc@(size(r + 1)) = select(true, a, -f32.inf)
      }
      if !((mine == 0i64)) {
        fail 3 (a, mine) goto meet
      }
      store streaming ys[mine] = acc@(0)
      label meet
      barrier local
      prefetch xs[(mine + 128i64)]
    }"""
)


def test_text_reads_back() -> None:
    (kernel,) = read_kernels(SUM)
    assert show(kernel) == SUM
    assert kernel.parameters[0].memory.space == "global"
    loop = kernel.body.statements[3]
    assert isinstance(loop, kc.For) and loop.parallel and not loop.points
    assert "ys + mine" in kernel_text(kernel)


def read_back(program: KernelProgram, renumber: bool) -> KernelProgram:
    text = show(program, renumber)
    again = read_program(text)
    assert show(again, renumber) == text
    return again


@pytest.mark.sweep
@pytest.mark.parametrize("schedule", ["cpu", "gpu"])
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_programs_are_well_formed_and_read_back(path: Path, schedule: str) -> None:
    program = lowered(path, schedule)
    verify_program(program)
    if schedule == "cpu":  # numbers depend on names alone
        read_back(program, renumber=True)
    again = read_back(program, renumber=False)
    assert text_of(again, "p") == text_of(program, "p")


@pytest.mark.sweep
@pytest.mark.parametrize("name", LOWERING_RULES)
def test_examples_of_rules_are_well_formed_and_read_back(name: str) -> None:
    for program in lowered_examples(name):
        verify_program(program)
        read_back(program, renumber=True)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("kernel k () groups (1) { let x = 3i64 }", "column 30), a name with its type"),
        ("kernel k () groups (1) { store xs[0i64] = 1i64 }", "a memory instead of xs"),
        ("kernel k () groups (1) { return", "an expression was expected"),
        (
            "kernel k () groups (1) { array a: private i64 count ceil_div(1) }",
            "two operands of a size",
        ),
        (
            "kernel k () groups (1) { array a: private i64 count floor_div(1, 2, 3) }",
            "two operands of a size",
        ),
        (
            "kernel k () groups (1) { array a: private i64 count min() }",
            "two operands of a size",
        ),
        ("kernel k () groups (1) { call () = f() at 1 }", "a function instead of f"),
    ],
)
def test_what_is_wrong_is_located(text: str, message: str) -> None:
    with pytest.raises(UsageError) as caught:
        read_kernels(text)
    assert message in str(caught.value)


def test_names_like_words_of_forms_are_numbered() -> None:
    variable = kc.Variable(Name("if", 0), kc.LONG)
    text = show(kc.Assign(variable, kc.Literal(1, kc.LONG)))
    assert text == "if_1 = 1i64"
    assert show(read_statements(text), renumber=False) == text


def test_every_node_has_a_form_that_tells_it_from_the_others() -> None:
    for union in (kc.Statement, kc.HostStatement, kc.Parameter):
        members = [c for c in forms.options_of(union) if hasattr(c, "printed")]
        told = len(forms.alternatives(union)) + len(forms.followed(union))
        assert told == len(members)
    blocks = {kc.Block, kc.HostBlock}
    nodes = {c for c in forms.options_of(kc.Statement) if c not in blocks}
    assert nodes <= set(CLASSES)
