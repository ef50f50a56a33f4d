"""The verifier of kernel code finds faults; of what lowering makes see test_printer."""

from __future__ import annotations

import pytest

from minifut.errors import InternalError
from minifut.ir.node import replace
from minifut.kernel_ir.verify import verify_kernel, verify_program
from tests.kernel_ir.programs import FILES, lowered
from tests.kernel_ir.reading import read_kernels

PARAMETERS = "buffer xs: global f32, buffer ys: global f32 written, scalar n: i64"


def kernel(body: str, group: int = 16) -> str:
    return f"kernel k ({PARAMETERS}) groups ({group}) {{ {body} }}"


FAULTS = [
    ("store ys[m] = 1.0f32", "m is not visible"),
    ("{ let m: i64 = 1i64 } store ys[m] = 1.0f32", "m is not visible"),
    ("let m: i64 store ys[m] = 1.0f32", "m has no value here"),
    ("let m: i64 if (n < 3i64) { m = n } store ys[m] = 1.0f32", "m has no value"),
    (
        "let b: bool = (n < 3i64) let m: i64 let k: i64 = select(b, n, m)",
        "m has no value",
    ),
    ("let m: i64 = n m: i32 = 1i32", "m is i64 and not i32"),
    ("let x: f32 = 1i64", "a value of i64 for one of f32"),
    ("let x: f32x4 = 1.0f32", "a value of f32 for one of f32x4"),
    ("let x: f32x4 = xs[n] as f32x8", "a value of f32x8 for one of f32x4"),
    ("let x: f32 = add_f32(xs[n], n)", "i64 for f32 of add_f32"),
    ("let v: f32x4 = xs[n] as f32x4 let x: f32 = lane(v, 4)", "there is no lane 4"),
    ("let v: f32x4 = vector f32x4(1.0f32, 2.0f32)", "as many values as lanes"),
    ("let b: i64 = (n + xs[n])", "i64 + f32"),
    ("store ys[xs[n]] = 1.0f32", "f32 is no index"),
    ("store ys[n] = n", "i64 does not go to elements of f32"),
    ("store zs: global f32[n] = 1.0f32", "zs is not visible as global"),
    ("array a: private f32 count 4 prefetch a[n]", "a is private memory"),
    ("array a: local f32 count 4 part b: global f32 = a[n]", "a is local memory"),
    ("let w: u32 shuffle up w = 1f32 of 1i32 within 32i32", "f32 is no word"),
    ("let w: u32 shuffle up w = 1u64 of 1i32 within 32i32", "u64 for one of u32"),
    (
        "let w: u32 = 0u32 if (get_local_id(0i32) < n) "
        "{ shuffle idx w = w of 1i32 within 32i32 }",
        "control flow that may diverge",
    ),
    (
        "let w: u32 = 0u32 parallel_region { shuffle idx w = w of 1i32 within 32i32 }",
        "a barrier in a parallel region",
    ),
    ("if (n < 3i64) { fail 1 () goto meet }", "there is no label meet"),
    (
        "if (n < 3i64) { fail 1 () goto meet } barrier local label meet",
        "that jump to meet meet no barrier",
    ),
    (
        "for i: i64 = 0i64 to n by 1i64 { barrier local "
        "if (n == i) { fail 1 () goto meet } } label meet",
        "that jump to meet meet no barrier",
    ),
    ("label meet if (n < 3i64) { fail 1 () goto meet }", "jumps go back to meet"),
    ("parallel_region { barrier local }", "a barrier in a parallel region"),
    ("if (get_local_id(0i32) < n) { barrier local }", "control flow that may diverge"),
    (
        "let m: i64 = get_local_id(0i32) for i: i64 = 0i64 to m by 1i64 "
        "{ barrier local }",
        "control flow that may diverge",
    ),
    (
        "let m: i64 = 0i64 while (m < n) { barrier local "
        "if (get_local_id(0i32) == m) { m = n } m = (m + 1i64) }",
        "control flow that may diverge",
    ),
    (
        "let m: i64 = 0i64 fetch_group m of n for n if (m < n) { barrier local }",
        "control flow that may diverge",
    ),
    (
        "for i: i64 = 0i64 to n by 1i64 { barrier local "
        "if (get_local_id(0i32) == i) { break } }",
        "control flow that may diverge",
    ),
    (
        "if (get_local_id(0i32) < n) { return } barrier local",
        "control flow that may diverge",
    ),
]


@pytest.mark.parametrize(("body", "message"), FAULTS)
def test_a_fault_is_found(body: str, message: str) -> None:
    (found,) = read_kernels(kernel(body))
    with pytest.raises(InternalError) as caught:
        verify_kernel(found)
    assert message in str(caught.value)


SOUND = [
    "if (n < 3i64) { barrier local }",
    "let m: i64 if (n < 3i64) { m = n } else { m = 2i64 } store ys[m] = 1.0f32",
    "let m: i64 if (n < 3i64) { m = n } else { return } store ys[m] = 1.0f32",
    "let v: i32x4 = vector i32x4(1i32) let w: i32x4 let u: i32x4 = select(v, v, w)",
    "let v: i32x4 = vector i32x4(1i32) let w: i64x4 "
    "let u: i64x4 = select(i64x4(v), vector i64x4(1i64), w)",
    "unroll r below 4i64 { let a@(r): f32 = 0.0f32 } store ys[n] = a@(3)",
    "if (get_local_id(0i32) < n) { fail 1 () goto meet } label meet barrier local",
    "parallel_region { let m: i64 = n } store ys[m] = 1.0f32",
    "for i: i64 = 0i64 to n by 1i64 { barrier local if (n == i) { break } }",
    "for i: i64 = 0i64 to n by 1i64 { if (get_local_id(0i32) == i) { break } } "
    "barrier local",
]


@pytest.mark.parametrize("body", SOUND)
def test_what_is_sound_passes(body: str) -> None:
    (found,) = read_kernels(kernel(body))
    verify_kernel(found)


def test_single_work_items_meet_nobody() -> None:
    (found,) = read_kernels(kernel("if (get_local_id(0i32) < n) { barrier local }", 1))
    verify_kernel(found)


def test_kernels_of_a_verified_program_are_not_examined_again() -> None:
    program = lowered(FILES[0], "cpu")
    faulty = read_kernels(kernel("store ys[m] = 1.0f32"))
    changed = replace(program, kernels=(*program.kernels, *faulty))
    with pytest.raises(InternalError):
        verify_program(changed, verified=program)
    verify_program(changed, verified=changed)
