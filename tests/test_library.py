"""Programs as Python values: entry points like functions, arrays of other libraries,
device arrays and pickles."""

from __future__ import annotations

import array
import inspect
import os
import pickle
import pydoc
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minifut

SOURCE = """
-- | The sum of a * x + y.
-- A second line.
entry axpy [n] (a: f32) (xs: [n]f32) (ys: [n]f32): [n]f32 = map2 (\\x y -> a*x + y) xs ys

entry rows [n][m] (xss: [n][m]i32): [n]i32 = map (reduce (+) 0) xss

entry tuning (x: i32): i32 = x + 1

entry pair (p: (i32, bool)): (i32, bool) = p
"""

BACKENDS = [
    pytest.param("opencl", marks=pytest.mark.device),
    "interpreter",
]


@pytest.fixture(scope="module", params=BACKENDS)
def program(request: pytest.FixtureRequest) -> minifut.Program:
    return minifut.compile(SOURCE, backend=request.param)


@pytest.fixture(scope="module")
def on_device() -> minifut.Program:
    return minifut.compile(SOURCE)


XS = np.arange(4, dtype=np.float32)
WANTED = 2 * XS + XS


# --- entry points as functions --------------------------------------------------------


def test_the_signature_has_names_types_and_sizes(program: minifut.Program) -> None:
    signature = inspect.signature(program.axpy)
    assert list(signature.parameters) == ["a", "xs", "ys"]
    assert signature.parameters["xs"].annotation == "[n]f32"
    assert signature.return_annotation == "[n]f32"
    assert repr(program.rows) == "<entry rows (xss: [n][m]i32): [n]i32>"


@pytest.mark.parametrize("name", ["as", "lambda", "x'"])
def test_parameters_that_python_cannot_name(name: str) -> None:
    text = f"entry main ({name}: i32): i32 = {name} + 1"
    main = minifut.compile(text, backend="interpreter").main
    assert list(inspect.signature(main).parameters) == ["argument_0"]
    assert main(2) == main(**{name: 2}) == 3


@pytest.mark.filterwarnings("error")
def test_numbers_beyond_a_float_are_infinite(program: minifut.Program) -> None:
    """Silently, as the scalars of calls; lists too."""
    assert program.axpy(1e300, [1e300], [-1.0]).tolist() == [np.inf]


@pytest.mark.parametrize(
    "backend", ["interpreter", pytest.param("opencl", marks=pytest.mark.device)]
)
def test_a_parameter_called_self(backend: str) -> None:
    text = "entry less (x: i32) (self: i32): i32 = x - self"
    program = minifut.compile(text, backend=backend)
    assert program.less(3, self=1) == program.less(self=1, x=3) == 2


def test_help_of_a_program_says_what_it_is(program: minifut.Program) -> None:
    shown = pydoc.plain(pydoc.render_doc(program))
    assert "Entry points by name, also as attributes" in shown


def test_help_shows_the_comment_above_the_entry(program: minifut.Program) -> None:
    shown = pydoc.plain(pydoc.render_doc(program.axpy))
    assert "The sum of a * x + y." in shown
    assert "A second line." in shown
    assert program.axpy.__name__ == "axpy"


def test_arguments_by_name(program: minifut.Program) -> None:
    for result in (
        program.axpy(2.0, ys=XS, xs=XS),
        program.axpy(a=2.0, ys=XS, xs=XS),
    ):
        np.testing.assert_array_equal(result, WANTED)


@pytest.mark.parametrize(
    ("given", "named", "message"),
    [
        ((2.0, XS), {}, "without a value: ys"),
        ((2.0, XS, XS), {"a": 1.0}, "argument a is given twice"),
        ((2.0, XS), {"a": 1.0}, "argument a is given twice"),
        ((2.0, XS, XS), {"z": 1.0}, "there is no parameter 'z'"),
        ((2.0, XS), {"yz": XS}, "there is no parameter 'yz'; did you mean 'ys'"),
        ((2.0, XS, XS, XS), {}, "3 arguments expected"),
    ],
)
def test_wrong_calls(
    program: minifut.Program, given: Any, named: Any, message: str
) -> None:
    with pytest.raises(minifut.ArgumentError, match=message) as failure:
        program.axpy(*given, **named)
    assert isinstance(failure.value, TypeError)
    assert isinstance(failure.value, ValueError)


def test_names_of_attributes_are_reached_by_brackets(
    program: minifut.Program, caplog: pytest.LogCaptureFixture
) -> None:
    assert program["tuning"](np.int32(1)) == 2
    assert not callable(program.tuning)
    minifut.compile(SOURCE, backend="interpreter")
    assert "prog['tuning']" in caplog.text


# --- arguments ------------------------------------------------------------------------


class Interface:
    def __init__(self, values: np.ndarray) -> None:
        self.__array_interface__ = values.__array_interface__
        self.kept = values


class Exporter:
    def __init__(self, values: np.ndarray) -> None:
        self.values = values

    def __dlpack__(self, **options: Any) -> Any:
        return self.values.__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)


@pytest.mark.parametrize(
    "given",
    [
        memoryview(XS),
        array.array("f", XS),
        Interface(XS),
        Exporter(XS),
        XS.astype(">f4"),
        np.repeat(XS, 2)[::2],
        [0.0, 1.0, 2.0, 3.0],
    ],
    ids=lambda value: type(value).__name__,
)
def test_arrays_of_other_libraries(program: minifut.Program, given: Any) -> None:
    np.testing.assert_array_equal(program.axpy(2, given, XS), WANTED)


@pytest.mark.device
def test_ranges_and_fortran_order(on_device: minifut.Program) -> None:
    table = np.asfortranarray(np.arange(12, dtype=np.int32).reshape(3, 4))
    np.testing.assert_array_equal(on_device.rows(table), table.sum(1))
    np.testing.assert_array_equal(on_device.rows([range(3), range(3)]), [3, 3])


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (np.ma.masked_array(XS, XS > 1), "mask of a masked array would be lost"),
        (np.array(["a", "b", "c", "d"]), "does not hold numbers"),
        (XS.astype(np.float64), r"use .astype\(np.float32\)"),
        (object(), "gives no array: make one first"),
        ((x for x in XS), r"with np.array\(list\(..\), dtype\)"),
        ({"a": XS}, "each of its values may be one"),
        ("abcd", r"expected an array .* use text.encode\(\)"),
        (b"abcd", r"array of uint8; use np.frombuffer\(value, np.float32\) or a list"),
        (memoryview(XS.astype(np.float64)), r"use np.asarray\(value, np.float32\)"),
        (
            array.array("i", [1, 2]),
            r"array of int32; use np.asarray\(value, np.float32",
        ),
        ([[1.0], [2.0, 3.0]], "rows of different lengths must be padded"),
        (["a", "b"], "does not hold numbers"),
        (XS.astype(np.complex64), r"use .real.astype\(np.float32\)"),
    ],
)
@pytest.mark.device
def test_refused_arrays(on_device: minifut.Program, given: Any, message: str) -> None:
    with pytest.raises(minifut.ArgumentError, match=message):
        on_device.axpy(2, given, XS)


@pytest.mark.device
def test_bytes_are_arrays() -> None:
    program = minifut.compile(
        "entry total [n] (s: [n]u8): i64 = i64.sum (map i64.u8 s)"
    )
    assert program.total(b"abc") == sum(b"abc")


@pytest.mark.device
def test_types_that_are_proposed_are_there_in_every_numpy() -> None:
    program = minifut.compile("entry main [n] (bs: [n]bool): i64 = length bs")
    with pytest.raises(minifut.ArgumentError, match=r"use .astype\(bool\)"):
        program.main(np.array([1, 0]))
    with pytest.raises(minifut.ArgumentError, match=r"np.asarray\(value, bool\)"):
        program.main([1, 0])


class Scalar(Exporter):
    shape = ()


@pytest.mark.parametrize("kind", [np.asarray, Scalar])
def test_arrays_without_dimensions_are_scalars(
    program: minifut.Program, kind: Any
) -> None:
    given = kind(np.array(2.0, np.float32))
    np.testing.assert_array_equal(program.axpy(given, XS, XS), WANTED)


@pytest.mark.device
def test_single_elements_of_the_device_are_numbers(on_device: minifut.Program) -> None:
    numbers = on_device.to_device(np.arange(4, dtype=np.int32))
    assert (float(numbers[1]), int(numbers[2]), "abcd"[numbers[3]]) == (1, 2, "d")
    scale = on_device.to_device(XS)[2]
    np.testing.assert_array_equal(on_device.axpy(scale, XS, XS), WANTED)
    with pytest.raises(TypeError):
        float(numbers)


def test_what_the_module_offers_can_be_completed() -> None:
    assert {"ArgumentError", "compile", "Variant", "torch"} <= set(dir(minifut))
    assert all(hasattr(minifut, name) for name in minifut.__all__)


def test_wrong_arguments_show_no_internals(program: minifut.Program) -> None:
    with pytest.raises(minifut.ArgumentError) as failure:
        program.axpy(2, "abcd", XS)
    assert len(failure.traceback) == 2  # this line, and the entry point


def test_a_wrong_keyword_is_named_before_what_is_missing(
    program: minifut.Program,
) -> None:
    first = program.axpy.parameters[0].name
    with pytest.raises(minifut.ArgumentError, match="there is no parameter 'nope'"):
        program.axpy(XS, XS, nope=2)
    with pytest.raises(minifut.ArgumentError, match=f"did you mean '{first}'"):
        program.axpy(**{f"{first}_": 2}, xs=XS)


def test_no_entry_points_and_no_source() -> None:
    program = minifut.compile("def f (x: i32) = x", backend="interpreter")
    with pytest.raises(AttributeError, match="begin with `entry`, not `def`"):
        program.f(1)
    for wrong in (None, b"entry f = 1", 5):
        with pytest.raises(minifut.UsageError, match="a path or the text of a program"):
            minifut.compile(wrong)  # type: ignore[arg-type]
    with pytest.raises(minifut.UsageError, match="path of a program ends in"):
        minifut.compile(".")
    for word in ("matmul", "data/matmul.txt", r"data\matmul.txt"):
        with pytest.raises(minifut.UsageError, match=r"which ends in \.fut, nor its"):
            minifut.compile(word)


def test_no_backend_loses_a_mask(program: minifut.Program) -> None:
    masked = np.ma.masked_array(XS, XS > 1)
    with pytest.raises(minifut.ArgumentError, match="mask of a masked array"):
        program.axpy(2.0, masked, XS)


# --- arrays on the device -------------------------------------------------------------


@pytest.mark.device
def test_device_arrays_pass_from_call_to_call(on_device: minifut.Program) -> None:
    xs = on_device.to_device(XS)
    once = on_device.axpy(2, xs, xs, device=True)
    twice = on_device.axpy(2, once, xs, device=True)
    assert twice.shape == (4,)
    assert twice.dtype == np.float32
    assert "device array" in repr(twice)
    np.testing.assert_array_equal(np.asarray(twice), 2 * WANTED + XS)
    np.testing.assert_array_equal(np.from_dlpack(twice), 2 * WANTED + XS)
    np.testing.assert_array_equal(on_device.axpy(2, once, XS), 2 * WANTED + XS)


@pytest.mark.device
def test_empty_device_arrays(on_device: minifut.Program) -> None:
    empty = on_device.to_device(XS[:0])
    assert np.asarray(on_device.axpy(2, empty, empty, device=True)).shape == (0,)


def test_the_interpreter_has_no_device_memory() -> None:
    program = minifut.compile(SOURCE, backend="interpreter")
    with pytest.raises(minifut.UsageError, match="no device memory"):
        program.to_device(XS)


# --- pickles --------------------------------------------------------------------------


def test_programs_and_entry_points_can_be_pickled(program: minifut.Program) -> None:
    again = pickle.loads(pickle.dumps(program))
    np.testing.assert_array_equal(again.axpy(2.0, XS, XS), WANTED)
    entry = pickle.loads(pickle.dumps(program.axpy))
    np.testing.assert_array_equal(entry(2.0, XS, XS), WANTED)
    assert pickle.loads(pickle.dumps(program)) is again


@pytest.mark.device
def test_tuning_travels(on_device: minifut.Program) -> None:
    program = minifut.compile(SOURCE)
    name = next(n for n in program.tuning if n.endswith("lanes") or n)
    token = program.axpy.__dask_tokenize__()
    assert token == minifut.compile(SOURCE).axpy.__dask_tokenize__()
    low = program.tuning.tunables[name].bounds
    program.tuning[name] = program.tuning[name] if low is None else low[0]
    again = pickle.loads(pickle.dumps(program))
    assert dict(again.tuning) == dict(program.tuning)


@pytest.mark.device
def test_entry_points_work_in_a_spawned_process(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "import multiprocessing, numpy as np, minifut\n"
        "from concurrent.futures import ProcessPoolExecutor\n"
        "if __name__ == '__main__':\n"
        "    prog = minifut.compile('entry twice (xs: []i32) = map (*2) xs\\n')\n"
        "    spawn = multiprocessing.get_context('spawn')\n"
        "    with ProcessPoolExecutor(1, mp_context=spawn) as pool:\n"
        "        print(list(pool.map(prog.twice, [np.arange(3, dtype=np.int32)])))\n"
    )
    done = subprocess.run(
        [sys.executable, str(script)],
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, "PYTHONPATH": str(Path(minifut.__file__).parent.parent)},
    )
    assert "[0, 2, 4]" in done.stdout, done.stderr


# --- errors ---------------------------------------------------------------------------


def test_errors_show_no_internals() -> None:
    with pytest.raises(minifut.CompileError) as failure:
        minifut.compile("entry main (x: i32) = x + true")
    frames = list(inspect.getinnerframes(failure.tb))
    assert len(frames) <= 2
    assert isinstance(failure.value, ValueError)


def test_the_version_is_exported() -> None:
    assert minifut.__version__.count(".") == 2


def test_programs_have_entry_points_as_dicts_have_keys() -> None:
    text = "entry f (x: i32) = x\nentry g (x: i32) = x\nentry description (x: i32) = x"
    program = minifut.compile(text, backend="interpreter")
    assert list(program) == ["f", "g", "description"]
    assert "f" in program and "h" not in program and 0 not in program
    assert {name: program[name](1) for name in program} == dict.fromkeys(program, 1)


@pytest.mark.parametrize("error", [KeyboardInterrupt(), minifut.ProgramError("x")])
def test_tracebacks_end_at_the_call(error: BaseException) -> None:
    def waits() -> None:
        raise error

    point = minifut.EntryPoint("f", (), (), waits)
    with pytest.raises(type(error)) as caught:
        point()
    assert len(caught.traceback) == 2  # of this test and of the call
