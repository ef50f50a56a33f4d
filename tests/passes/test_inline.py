"""Inlining leaves programs that verify and mean the same."""

from __future__ import annotations

from minifut.ir.dialect import SOACS
from minifut.ir.interpret import run
from minifut.ir.parser import names_after, parse_program
from minifut.ir.verify import verify
from minifut.passes.inline import inline

CHAIN = """
entry "main" = main sizes 0 ("x" "i64" "array" 1) -> ("" "i64" "array" 1)

fun least (x: i64) -> (result: i64) {
  let y: i64 = add_i64(x, 1i64)
  return y
}

fun middle (x: i64) -> (result: i64) {
  let a: i64 = apply least(x)
  let y: i64 = mul_i64(a, a)
  return y
}

fun main (x: i64) -> (result: i64) {
  let a: i64 = apply middle(x)
  let b: i64 = apply middle(a)
  let y: i64 = add_i64(a, b)
  return y
}
"""


def test_a_function_is_copied_with_what_was_copied_into_it() -> None:
    program = parse_program(CHAIN)
    after = inline(program, names_after(program))
    verify(after, SOACS)
    assert [function.name.base for function in after.functions] == ["main"]
    assert run(after, "main", [2])[0] == run(program, "main", [2])[0] == 109


CONSTANT = CHAIN.replace(
    "\nfun", "\nconstants {\n  let c: i64 = apply middle(2i64)\n}\n\nfun", 1
).replace("add_i64(a, b)", "add_i64(a, c)")


def test_functions_use_what_a_call_in_a_constant_gives() -> None:
    program = parse_program(CONSTANT)
    after = inline(program, names_after(program))
    verify(after, SOACS)
    assert [function.name.base for function in after.functions] == ["main"]
    assert run(after, "main", [2])[0] == run(program, "main", [2])[0] == 18
