"""No name of a program is a word of OpenCL's, of Python's, or of generated modules."""

from __future__ import annotations

import builtins
import importlib.util
import keyword
import re
from pathlib import Path

import numpy as np
import pytest

import minifut
from minifut import stages
from minifut.errors import Source
from minifut.ir.opencl_words import is_opencl_word
from minifut.ir.scalar_helpers import HALF
from minifut.ir.scalar_opencl import spelling
from minifut.ir.scalars import all_operators
from minifut.names import Name
from minifut.opencl.c_expressions import ExpressionPrinter, is_word

OPENCL_WORDS = """
    M_PI M_E FLT_MAX INT_MAX CHAR_BIT HUGE_VALF CLK_LOCAL_MEM_FENCE image2d_t sampler_t
    CL_VERSION_1_2 MAXFLOAT NAN INFINITY NULL I cl_khr_fp64 kernel global constant
    private float4 int16 uchar as_int convert_float4 vload16 vstore_half atomic_add
    get_global_id barrier async_work_group_copy mem_fence work_group_barrier linux unix
    i386 restrict inline half ulong size_t event_t fma clamp mix select shuffle2 printf
    native_sin half_exp popcount failure LANES GROUP KEEP PREFETCH STREAM WORK_ITEMS
    REASSOCIATE PARALLEL minifut_fail0 loose_int16 div_i32 fun_main main
"""
HOST_WORDS = """
    run kernels rt program PRELUDE np wrap_i32 ceil_div covering quiet TEXT_cpu_fun_main
    program_cpu None print len range type object id self entry_main
"""
FUTHARK_WORDS = """
    None assert case def do else entry false for if import in include let local loop match
    module open then true type unsafe val while with
"""
OPENCL, HOST = OPENCL_WORDS.split(), HOST_WORDS.split()
FUTHARK = set(FUTHARK_WORDS.split())


def of_futhark(words: list[str]) -> list[str]:
    """Those that a program may use."""
    return sorted(set(words) - FUTHARK)


WORDS = of_futhark(
    [*OPENCL, *HOST, *keyword.softkwlist[1:], *("class", "lambda", "yield")]
)


@pytest.mark.parametrize("word", [w for w in OPENCL if w != "main"][:70])
def test_words_of_opencl_are_known(word: str) -> None:
    own = ("div_i32", "minifut_fail0", "loose_int16", "fun_main")
    assert is_opencl_word(word) or word in own


@pytest.mark.parametrize(
    "word", ["xs", "x", "A", "Total", "m_pi", "imageWidth", "x_t1"]
)
def test_other_words_stay_as_they_are(word: str) -> None:
    assert not is_opencl_word(word)


PARTS = [WORDS[i : i + 40] for i in range(0, len(WORDS), 40)]


def check_parameters(words: list[str], schedule: str) -> None:
    """A program whose parameters have these names, on the device."""
    parameters = " ".join(f"({word}: i32)" for word in words)
    total = " + ".join(
        f"({word} // (x + {number + 1}))" for number, word in enumerate(words)
    )
    source = f"entry entry_main (xs: []i32) {parameters} = map (\\x -> {total}) xs"
    program = minifut.compile(source, schedule=schedule)
    values = [np.int32(1000 + number) for number in range(len(words))]
    xs = np.arange(5, dtype=np.int32)
    expected = sum(int(v) // (xs + n + 1) for n, v in enumerate(values))
    np.testing.assert_array_equal(program.entry_main(xs, *values), expected)


@pytest.mark.device
@pytest.mark.parametrize("schedule", ["cpu", "gpu"])
@pytest.mark.parametrize("words", PARTS, ids=range(len(PARTS)))
def test_parameters_may_have_any_name(words: list[str], schedule: str) -> None:
    check_parameters(words, schedule)


def header_words() -> list[str]:
    """All identifiers in the headers that PoCL and Clang give each kernel."""
    package = importlib.util.find_spec("pocl_binary_distribution")
    if package is None or package.origin is None:
        pytest.skip("PoCL is not installed as a package")
    found: set[str] = set()
    folder = Path(package.origin).parent / ".libs/share/pocl/include"
    for header in sorted(folder.glob("*.h")):
        text = header.read_text(errors="replace")
        code = re.sub(r"/\*.*?\*/|//[^\n]*|#\s*include[^\n]*", "", text, flags=re.S)
        found.update(re.findall(r"\b[A-Za-z]\w*", code))
    return of_futhark(sorted(found))


def written(word: str) -> str:
    """What a variable of that name is called in a kernel."""
    return ExpressionPrinter().names.text(Name(word, 1))


@pytest.mark.device
def test_parameters_may_have_the_names_of_all_headers() -> None:
    """Those that are written as they are do no harm; the others become none of them."""
    words = header_words()
    kept = [word for word in words if written(word) == word]
    assert len(words) > 2000 and not {*map(written, words)} & set(words) - set(kept)
    others = [word for word in kept if word not in ("map", "xs", "x")]
    for at in range(0, len(others), 100):
        check_parameters(others[at : at + 100], "cpu")


def test_what_operators_call_is_known() -> None:
    called = set(HALF)
    for operator in all_operators():
        found = spelling(operator)
        text = re.sub(r"\b\d\w*", "", found.text(*[""] * len(operator.operands)))
        called.update(re.findall(r"[A-Za-z_]\w*", text), found.helpers)
    assert all(map(is_word, called))


@pytest.mark.device
def test_variables_and_functions_may_have_any_name() -> None:
    words = WORDS[::3]
    functions = "".join(
        f"def {w} (x: i32) (y: i32) = x * y + {n}\n" for n, w in enumerate(words)
    )
    lines = "".join(f"let {w} = {w} x {n} " for n, w in enumerate(words))
    source = f"{functions}entry mine (xs: []i32) = map (\\x -> {lines} in {' + '.join(words)}) xs"
    xs = np.arange(4, dtype=np.int32)
    expected = sum(xs * n + n for n in range(len(words)))
    np.testing.assert_array_equal(minifut.compile(source).mine(xs), expected)


@pytest.mark.device
@pytest.mark.parametrize(
    "name", ["kernel", "float4", "INT_MAX", "run", "rt", "program", "abs"]
)
def test_entry_points_and_recursive_functions_may_have_any_name(name: str) -> None:
    source = f"entry {name} (n: i32) (xs: []i32) = map (\\x -> x + n) xs"
    program = minifut.compile(source)
    xs = np.arange(3, dtype=np.int32)
    np.testing.assert_array_equal(program.entry(name)(np.int32(2), xs), xs + 2)


def test_host_functions_hide_nothing_of_python() -> None:
    words = of_futhark([w for w in dir(builtins) if w.isalpha() and w.islower()])
    parameters = " ".join(f"({word}: i64)" for word in words)
    core = stages.to_core(
        stages.check(Source("a.fut", f"entry main {parameters} = 1i32"))
    )
    text = stages.to_host_module(stages.to_kernels(core), "cpu")
    text = text if isinstance(text, str) else text.text
    given = re.search(r"def main\(run, (.*)\)", text)
    assert given is not None and not set(given[1].split(", ")) & {
        *words,
        *keyword.kwlist,
    }


@pytest.mark.parametrize(
    "base",
    [
        "as",
        "as_",
        "read",
        "fun_x_f32",
        "image2d_i32",
        "minifut_a",
        "size_t",
        "load_f16",
    ],
)
def test_every_name_gets_a_text_that_is_no_word(base: str) -> None:
    """Also where the word is reserved with any number behind it."""
    names = ExpressionPrinter().names
    texts = [names.text(Name(base, tag)) for tag in range(3)]
    assert len(set(texts)) == 3
    assert not any(is_opencl_word(text) for text in texts)
