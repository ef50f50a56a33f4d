"""Direct calls give what general ones give, and leave to them what is not plain."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import minifut
from minifut.errors import MinifutError
from minifut.opencl import runtime as rt
from minifut.opencl.runtime import instance
from minifut.opencl.runtime.direct import direct_text
from minifut.opencl.runtime.entry import Converter

TEXT = """
entry twice [n] (xs: [n]f32): [n]f32 = map (2 *) xs
entry product [n] [m] (a: [n][m]f64) (x: [m]f64): [n]f64 =
  map (\\row -> f64.sum (map2 (*) row x)) a
entry four (xs: [4]i32): i32 = i32.sum xs
entry any (xs: []u8) (ys: []u8): (i64, i64) = (length xs, length ys)
entry same (xs: []i64): ([]i64, []i64) = (xs, xs)
entry numbers (a: i8) (b: u64) (c: f32) (d: f64) (e: bool) (h: f16) =
  (a, b, c, d, e, h)
entry none: i32 = 7
entry at (xs: []f32) (i: i64): f32 = xs[i]
entry consume (xs: *[]f32): *[]f32 = xs with [0] = 1
entry record (r: {a: f32}): f32 = r.a
"""
XS = np.arange(6, dtype=np.float32)
A = np.arange(12.0).reshape(3, 4)
CALLS: list[tuple[str, tuple[Any, ...]]] = [
    ("twice", (XS,)),
    ("twice", (XS[::2],)),
    ("twice", (XS[:0],)),
    ("twice", (XS.astype(">f4"),)),
    ("twice", ([1.0, 2.0],)),
    ("twice", (A,)),
    ("twice", (A[0],)),
    ("twice", (np.float32(3),)),
    ("twice", (np.frombuffer(XS.tobytes(), np.float32),)),
    ("twice", (np.frombuffer(b"0" + XS.tobytes(), np.float32, offset=0, count=2),)),
    ("product", (A, A[0])),
    ("product", (A.T, A[0])),
    ("product", (np.asfortranarray(A), A[0])),
    ("product", (A, A[0, :3])),
    ("four", (np.ones(4, np.int32),)),
    ("four", (np.ones(5, np.int32),)),
    ("any", (np.zeros(3, np.uint8), np.zeros(2, np.uint8))),
    ("same", (np.arange(3),)),
    ("numbers", (1, 2, 3.5, 4.5, True, 0.5)),
    ("numbers", (-128, 2**64 - 1, np.float32(3.5), np.float64(4), False, 1.0)),
    ("numbers", (128, 2, 3.5, 4.5, True, 0.5)),
    ("numbers", (np.int8(1), 2, 3, np.float32(4), np.bool_(True), np.float16(1))),
    ("numbers", (1, -1, 3.5, 4.5, True, 0.5)),
    ("numbers", (1, 2, 1e39, 1e308, True, 1e9)),
    ("numbers", (1, 2, float("inf"), float("-inf"), True, float("nan"))),
    ("numbers", (1, 2, float("nan"), float("nan"), 1, 0.5)),
    ("numbers", (True, 2, 3.5, 4.5, True, 0.5)),
    ("none", ()),
    ("none", (1,)),
    ("at", (XS, 2)),
    ("at", (XS, 6)),
    ("at", (XS, "a")),
    ("consume", (XS,)),
    ("record", ({"a": np.float32(1)},)),
]


@pytest.mark.device
def test_results_and_errors_are_those_of_general_calls(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    program = minifut.compile(TEXT)
    monkeypatch.setattr(instance, "direct_call", lambda *_: None)
    general = minifut.compile(TEXT + "-- not the program that is kept")
    for name, arguments in CALLS:
        found, wanted = (outcome(p[name], arguments) for p in (program, general))
        assert found == wanted, (name, arguments)


def outcome(entry: Any, arguments: tuple[Any, ...]) -> list[Any]:
    """The types and bytes of what a call gives, or the text of its error."""
    try:
        results = entry(*arguments)
    except MinifutError as error:
        return [type(error), str(error)]
    several = results if isinstance(results, tuple) else (results,)
    return [(type(r), r.dtype, r.shape, r.tobytes()) for r in map(checked, several)]


def checked(result: Any) -> Any:
    if isinstance(result, np.ndarray):
        assert result.flags.writeable and result.flags.c_contiguous
    return result


def entry_of(text: str) -> rt.Entry:
    return entries(text)[0]


def entries(text: str) -> tuple[rt.Entry, ...]:
    from minifut.generated_module import generated_program

    program = minifut.compile(text)
    assert program.recipe is not None
    return tuple(generated_program(program.recipe.text).entries)  # type: ignore[attr-defined]


@pytest.mark.device
def test_the_text_of_a_call() -> None:
    text = direct_text(
        entry_of("entry f [n] (xs: [n]f32) (k: i32): [n]f32 = map (+ f32.i32 k) xs")
    )
    assert text is not None
    assert text.split("    with lock:")[0] == (
        "def direct(argument_0=MISSING, argument_1=MISSING, /, *more, device=False):\n"
        "    if more:\n"
        "        return general((argument_0, argument_1, ), more, device)\n"
        "    if not (device is False or device is True):\n"
        "        return general((argument_0, argument_1, ), more, device)\n"
        "    block_0 = None\n"
        "    if argument_0.__class__ is ndarray:\n"
        "        array_0 = argument_0\n"
        "        if not (array_0.dtype is f32_ and array_0.ndim == 1 and "
        "array_0.flags.carray and 0 < array_0.nbytes <= most):\n"
        "            return general((argument_0, argument_1, ), more, device)\n"
        "    elif argument_0.__class__ is device_arrays.kind:\n"
        "        array_0 = argument_0.minifut_view\n"
        "        if array_0 is None:\n"
        "            array_0 = argument_0\n"
        "            block_0 = block_of(argument_0, pool, f32_, 1)\n"
        "            if block_0 is None:\n"
        "                return general((argument_0, argument_1, ), more, device)\n"
        "        elif not (array_0.dtype is f32_ and array_0.ndim == 1):\n"
        "            return general((argument_0, argument_1, ), more, device)\n"
        "    else:\n"
        "        return general((argument_0, argument_1, ), more, device)\n"
        "    size_0,  = array_0.shape\n"
        "    if not (argument_1.__class__ is int and "
        "-2147483648 <= argument_1 <= 2147483647):\n"
        "        return general((argument_0, argument_1, ), more, device)\n"
        "    key = (size_0, argument_1, )\n"
    )
    assert "leaf_0 = block_0 or Block(argument_0.minifut_block.buffer if " in text
    assert "else Buffer(context, flags, 0, array_0), array_0.nbytes, array_0)" in text


@pytest.mark.device
def test_arrays_of_the_device_are_plain(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the general call, unless commands of the user's are to be waited for."""
    prog = minifut.compile(TEXT)
    d = prog.to_device(XS)
    monkeypatch.setattr(Converter, "leaves_of", lambda *_: pytest.fail("general"))
    twice = prog.twice(d, device=True)
    assert twice.get().tolist() == prog.twice(d).tolist() == (2 * XS).tolist()
    assert prog.twice(prog.twice(twice, device=True)).tolist() == (8 * XS).tolist()
    assert prog.at(twice, 5) == 10
    monkeypatch.undo()
    twice += 1
    assert np.asarray(twice).tolist() == (2 * XS + 1).tolist()
    assert prog.twice(twice).tolist() == (4 * XS + 2).tolist()
    for part in (twice[1:], twice[::2], twice.reshape(2, 3), prog.twice(twice)):
        wanted, found = (outcome(prog.twice, (x,)) for x in (np.asarray(part), part))
        assert wanted == found
    with pytest.raises(MinifutError, match="expected"):
        prog.twice(prog.to_device(A))


@pytest.mark.device
@pytest.mark.parametrize("count", [6, 20000])
def test_parts_of_device_arrays_keep_their_memory(count: int) -> None:
    """Also when the array that they are parts of is forgotten."""
    prog = minifut.compile(TEXT)
    ones = np.ones(count, np.float32)
    for _ in range(20):
        d, few = prog.to_device(ones), prog.to_device(ones.reshape(2, -1))
        r = prog.twice(d, device=True)
        parts = d[1:3], few.T, r[1:3], r.reshape(-1, 2)
        wanted = [1, 1, 2, 2]
        del d, few, r
        later = [prog.twice(9 * ones, device=bool(k % 2)) for k in range(6)]
        for part, each in zip(parts, wanted, strict=True):
            assert set(np.asarray(part).ravel().tolist()) == {each}
        assert all(np.asarray(each)[0] == 18 for each in later)


@pytest.mark.device
def test_commands_of_users_end_before_their_memory_is_used_again() -> None:
    prog = minifut.compile(TEXT)
    for number in range(300):
        d = prog.to_device(XS) if number % 2 else prog.twice(XS, device=True)
        d += 1
        del d
        found, copy = prog.twice(XS), XS + 0
        assert np.array_equal(found, 2 * XS) and np.array_equal(copy, XS)


@pytest.mark.device
def test_results_that_are_arguments_are_copied() -> None:
    prog = minifut.compile(TEXT)
    for given in (np.arange(3), prog.to_device(np.arange(3))):
        for device in (False, True):
            one, other = prog.same(given, device=device)
            one[0] = 7
            copies = np.asarray(given), np.asarray(other)
            assert [c.tolist() for c in copies] == [[0, 1, 2]] * 2
            assert np.asarray(one).tolist() == [7, 1, 2]


@pytest.mark.device
def test_copies_to_the_host_leave_nothing_to_wait_for() -> None:
    d = minifut.compile(TEXT).to_device(A)
    one, other = np.array(d), d.get()
    one[0, 0] = 5
    assert other.tolist() == A.tolist() == np.from_dlpack(d).tolist()
    assert not d.events


@pytest.mark.device
@pytest.mark.parametrize("size", [6, 1 << 16])
def test_arrays_of_the_device_are_shown_to_numpy_without_a_copy(size: int) -> None:
    """For reading; what is enqueued on the array afterwards is not seen."""
    prog = minifut.compile(TEXT)
    xs = np.arange(size, dtype=np.float32)
    shown = []
    for number in range(60):  # among them, results that are lent
        result = prog.twice(xs + number, device=True)
        shown.append(np.asarray(result))
        assert np.shares_memory(shown[-1], np.asarray(result))
        assert not np.shares_memory(shown[-1], np.array(result))
    for number, array in enumerate(shown):
        assert (array == 2 * (xs + number)).all()
    with pytest.raises(ValueError, match="read-only"):
        shown[0][0] = 1
    assert prog.twice(shown[0]).tolist() == (4 * xs).tolist()
    for d in (prog.to_device(xs), result):
        before = np.asarray(d)
        wanted = before.copy()
        assert not np.asarray(d, np.float64).flags.writeable
        d += 1
        assert before.tolist() == wanted.tolist()
        assert np.asarray(d).tolist() == (wanted + 1).tolist()
        with pytest.raises(ValueError, match="has to be copied"):
            d.__array__(copy=False)


@pytest.mark.device
def test_large_copies_to_the_host_have_memory_of_their_own() -> None:
    """Memory of the pool, which kernels and other copies have again once they are
    forgotten, and not before."""
    prog = minifut.compile(TEXT)
    xs = np.arange(1 << 16, dtype=np.float32)
    d = prog.twice(xs, device=True)
    one, other = d.get(), np.array(d)
    one[:] = 5
    later = [prog.twice(np.full_like(xs, 8)) for _ in range(3)]
    assert (one == 5).all() and all((each == 16).all() for each in later)
    assert (other == 2 * xs).all() and (d.get() == 2 * xs).all()
    session = prog.twice.function.__globals__["session"]  # type: ignore[attr-defined]
    in_use = session.pool.in_use
    del one
    assert session.pool.in_use < in_use


@pytest.mark.device
@pytest.mark.parametrize("entry", ["consume", "record"])
def test_other_parameters_have_no_direct_call(entry: str) -> None:
    found = {e.name: e for e in entries(TEXT)}
    assert direct_text(found[entry]) is None
    assert direct_text(found["twice"]) is not None


@pytest.mark.device
def test_results_on_the_device_have_what_arrays_of_pyopencl_have() -> None:
    program = minifut.compile("entry double (xs: [][]f32) = map (map (2 *)) xs")
    table = np.arange(6, dtype=np.float32).reshape(2, 3)
    given = program.to_device(table)
    assert "base_data" not in vars(given)  # completed when they are needed
    assert not hasattr(given, "unknown") and "base_data" not in vars(given)
    assert given.base_data is not None and "base_data" in vars(given)
    for ask in ("strides", "nbytes", "size", "ndim", "data", "offset", "events"):
        result = program.double(given, device=True)
        plain = type(result)(result.queue, table.shape, table.dtype)
        if ask != "data":
            assert getattr(result, ask) == getattr(plain, ask)
        assert program.double(result).tolist() == (4 * table).tolist()
        assert (result[1] + result[0]).get().tolist() == [6, 10, 14]


def test_a_parameter_may_have_the_name_of_an_option() -> None:
    program = minifut.compile(
        "entry f (device: i32) (x: i32) = device - x", backend="interpreter"
    )
    assert program.f(5, 2) == program.f(x=2, device=5) == program.f(5, x=2) == 3
