"""The rule that makes steps in aligned blocks; see the package."""

from __future__ import annotations

from minifut.ir.core import If, Loop, Stm
from minifut.ir.traverse import rename
from minifut.passes.block_steps.emitter import BlockStepsEmitter
from minifut.passes.block_steps.reads import body_in_blocks
from minifut.passes.block_steps.states import RepeatedMap, find_steps
from minifut.passes.remove_checks.rules import FactContext
from minifut.rewrite.rule import Declined, Outcome, rule

PAPER = "Bailey, FFTs in external or hierarchical memory (1990)"


@rule(Loop, paper=PAPER)
def make_steps_in_blocks(statement: Stm, context: FactContext) -> Outcome:
    r"""Make the steps that stay within aligned blocks in one kernel.

    before:
        given (n: i64, k: i64, a: [2 * n]i64)
        let b: [2 * n]i64 = loop (p: [2 * n]i64 = a) for t: i64 < k do {
          let bit: i64 = and_i64(t, 1i64)
          return segmap grid (i < 2 * n) -> (i64) {
            let j: i64 = xor_i64(i, bit)
            let x: i64 = p[j]
            let y: i64 = p[i]
            return returns add_i64(x, y)
          }
        }
    after:
        let large: bool = at_least(16 * n, "block_steps" "threshold" ("cpu" = 131072,
            "gpu" = 4611686018427387904) bounds 0 4611686018427387904 guards
            "steps that stay within aligned blocks are made at once, block by block")
        let b: [2 * n]i64 = if large then {
          let extent: i64 = size(2 * n)
          let neg: i64 = neg_i64(extent)
          let divisor: i64 = and_i64(extent, neg)
          let share: i64 = quot_i64(extent, 16i64)
          let max_1: i64 = max_i64(share, 1i64)
          let clz: i32 = clz_i64(max_1)
          let converted: i64 = convert_i32_i64(clz)
          let sub: i64 = sub_i64(63i64, converted)
          let share_1: i64 = shl_i64(1i64, sub)
          let most: i64 = min_i64(share_1, 32768i64)
          let max_2: i64 = max_i64(divisor, 1i64)
          let block: i64 = min_i64(max_2, most)
          let going: bool = lt_i64(0i64, k)
          let (array: [2 * n]i64, state: i64, x: bool) = loop (array_1: [2 * n]i64 = a,
              state_1: i64 = 0i64, going_1: bool = going) while going_1 do {
            let bit: i64 = and_i64(state_1, 1i64)
            let converted_1: u64 = convert_i64_u64(bit)
            let converted_2: u64 = convert_i64_u64(block)
            let below: bool = lt_u64(converted_1, converted_2)
            let (array_2: [2 * n]i64, state_2: i64, x_1: bool) = if below then {
              let (run: i64, run_1: i64, run_2: bool, run_3: bool) = loop (run_4: i64 =
                  0i64, run_5: i64 = state_1, run_6: bool = true, run_7: bool = true)
                  while run_7 do {
                let bit_1: i64 = and_i64(run_5, 1i64)
                let converted_3: u64 = convert_i64_u64(bit_1)
                let converted_4: u64 = convert_i64_u64(block)
                let below_1: bool = lt_u64(converted_3, converted_4)
                let (run_8: i64, run_9: i64, run_10: bool, run_11: bool) = if below_1
                    then {
                  let count_1: i64 = add_i64(run_4, 1i64)
                  let next: i64 = add_i64(run_5, 1i64)
                  let more: bool = lt_i64(next, k)
                  return count_1, next, more, more
                } else {run_4, run_5, run_6, false}
                return run_8, run_9, run_10, run_11
              }
              let part: i64 = min_i64(block, 2048i64)
              let q: [2 * n]i64 = segmap grid (i < 2 * n) for run blocksteps of
                  (array_1) in block by part (state_3: i64 = state_1) do {
                let bit_2: i64 = and_i64(state_3, 1i64)
                let converted_5: u64 = convert_i64_u64(bit_2)
                let converted_6: u64 = convert_i64_u64(part)
                let below_2: bool = lt_u64(converted_5, converted_6)
                let next_1: i64 = add_i64(state_3, 1i64)
                let more_1: bool = lt_i64(next_1, k)
                return below_2, next_1, bit_2
              } giving (bit_3: i64) -> (i64) {
                let j: i64 = xor_i64(i, bit_3)
                let x_2: i64 = array_1[j]
                let y: i64 = array_1[i]
                return returns add_i64(x_2, y)
              }
              return q, run_1, run_2
            } else {
              let q_1: [2 * n]i64 = segmap grid (i_1 < 2 * n) -> (i64) {
                let j_1: i64 = xor_i64(i_1, bit)
                let x_3: i64 = array_1[j_1]
                let y_1: i64 = array_1[i_1]
                return returns add_i64(x_3, y_1)
              }
              let next_2: i64 = add_i64(state_1, 1i64)
              let more_2: bool = lt_i64(next_2, k)
              return q_1, next_2, more_2
            }
            return array_2, state_2, x_1
          }
          return array
        } else {
          return loop (p: [2 * n]i64 = a) for t: i64 < k do {
            let bit_4: i64 = and_i64(t, 1i64)
            return segmap grid (i_2 < 2 * n) -> (i64) {
              let j_2: i64 = xor_i64(i_2, bit_4)
              let x_4: i64 = p[j_2]
              let y_2: i64 = p[i_2]
              return returns add_i64(x_4, y_2)
            }
          }
        }
    declines: points read other blocks
        like before, with
        let j: i64 = xor_i64(i, bit)
        => let j: i64 = sub_i64(i, bit)
    declines: points read their own elements only
        like before, with
        let x: i64 = p[j]
        => let x: i64 = p[i]
    """
    loop = statement.exp_of(Loop)
    steps = find_steps(loop, context.facts)
    if not isinstance(steps, RepeatedMap):
        return steps
    unchecked, needs = body_in_blocks(steps, context.facts)
    if not needs:
        return Declined("points read their own elements only")
    build = context.builder(statement)
    emitter = BlockStepsEmitter(steps, unchecked, sorted(needs, key=str))
    large = emitter.is_large(build)
    with build.body() as inner:
        made = emitter.loop(inner)
        in_blocks = inner.finish(*[made[at] for at in range(len(made))])
    with build.body() as plain:
        names = plain.let_many(loop, [bound.name.base for bound in statement.pattern])
    as_before = rename(plain.finish(*names), build.names)
    build.bind(statement.pattern, If(large, in_blocks, as_before))
    return tuple(build.statements)
