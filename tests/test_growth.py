"""The work of compilation grows with a program, not with a power of its size: each
construct of the language n times and 2n times, and the calls that the compiler makes for
both, which are the same on every machine."""

from __future__ import annotations

import re
import subprocess
import sys
from cProfile import Profile
from pathlib import Path

import pytest

from minifut import stages
from minifut.errors import Source

MOST = 2.0**1.4
"""what twice the program may cost"""

SCALAR = "entry main (x: i32) = "
ARRAY = "entry main [n] (xs: [n]i32) = "
MAP = "entry main [n] (xs: [n]i32) = map (\\x -> "
ROWS = "entry main [m] [n] (xss: [m][n]i32) = map (\\xs -> "
INDICES = "entry main [n] (xs: *[n]i32) (is: [n]i64) = "

CHAINS = {
    "lets": (24, SCALAR, "x * x + $", "x"),
    "lets of threads": (24, MAP, "x * x + $", "x) xs"),
    "maps": (24, ARRAY, "map (\\x -> x * x + $) xs", "xs"),
    "maps and scans": (12, ARRAY, "scan (+) 0 (map (* $) xs)", "xs"),
    "maps and reductions": (12, ARRAY, "map (* ($ + i32.sum xs)) xs", "xs"),
    "scans of rows": (10, ROWS, "scan (+) $ xs", "xs) xss"),
    "histograms": (
        10, INDICES, "reduce_by_index xs (+) $ is (map i32.i64 is)", "xs"
    ),
    "scatters": (10, INDICES, "scatter xs is (map (\\i -> i32.i64 i + $) is)", "xs"),
    "filters": (8, ARRAY, "filter (> $) xs", "xs"),
    "ifs": (24, SCALAR, "if x > $ then x * x else x + $", "x"),
    "ifs of threads": (24, MAP, "if x > $ then x * x else x + $", "x) xs"),
    "ifs of arrays": (12, ARRAY, "if xs[0] > $ then map (+ $) xs else xs", "xs"),
    "parallel ifs": (10, ROWS, "if xs[0] > $ then map (+ $) xs else xs", "xs) xss"),
    "loops": (10, ARRAY, "loop xs for i < 3 do map (+ $) xs", "xs"),
    "loops of threads": (10, MAP, "loop x for i < 3 do x * x + $", "x) xs"),
    "updates": (24, ARRAY.replace(": ", ": *"), "xs with [$] = xs[$] + 1", "xs"),
    "updates of rows": (12, ROWS, "copy xs with [$] = xs[$] + 1", "xs) xss"),
    "slices": (12, ARRAY, "xs[1:]", "xs"),
    "concatenations to all": (50, ARRAY + "let ys = xs in ", "ys ++ xs", "ys"),
    "doublings": (12, ARRAY, "xs ++ xs", "xs"),
    "rotations": (10, ARRAY, "rotate $ (reverse xs)", "xs"),
    "asserts": (24, MAP, "assert (x != $) (x + 1)", "x) xs"),
    "derivatives": (12, "entry main (x: f64) = vjp (\\x -> ", "x * x + $", "x) x 1"),
}  # fmt: skip
"""a step again and again: how often, what precedes, the step, and its result"""

TEXTS = {
    "reductions": (12, ARRAY + "(<<i32.sum (map (+ $) xs)||, >>)"),
    "reductions of rows": (10, ROWS + "<<i32.sum (map (+ $) xs)|| + >>) xss"),
    "else ifs": (24, SCALAR + "<<if x == $ then $ else >>x"),
    "cases": (24, MAP + "match x <<case $ -> x * $ >>case _ -> 0) xs"),
    "constructors": (
        12,
        "type t = <<#c$ i32|| | >>\ndef f (x: t) = match x <<case #c$ y -> y + $ >>\n"
        f"{MAP}f (if x > 0 then #c0 x else #c1 x)) xs",
    ),
    "nested loops": (10, MAP + "<<loop x for i < 2 do >>x + 1) xs"),
    "loop parameters": (
        12,
        SCALAR + "loop (<<a$||, >>) = (<<x + $||, >>) for i < 99 do (<<a$ + i||, >>)",
    ),
    "records": (24, MAP + "let r = {<<f$ = x + $||, >>} in <<r.f$|| + >>) xs"),
    "nested records": (12, SCALAR + "let r = <<{a = >>x<<}>> in r<<.a>>"),
    "nested tuples": (12, SCALAR + "let r = <<(x, >>x<<)>> in r<<.1>>"),
    "results": (
        12, ARRAY + "let ys = map (\\x -> (<<x + $||, >>)) xs in (<<map (.$) ys||, >>)"
    ),
    "literals": (50, SCALAR + "[<<x + $||, >>]"),
    "concatenations": (100, ARRAY + "xs<< ++ xs>>"),
    "operators": (24, MAP + "<<x * $|| + >>) xs"),
    "parentheses": (24, SCALAR + "<<(>>x<< + 1)>>"),
    "lambdas": (12, SCALAR + "<<(\\x -> x * x) (>>x<<)>>"),
    "compositions": (12, SCALAR + "(<<(+ $)|| >-> >>) x"),
    "functions": (
        24, f"def f0 (x: i32) = x\n<<def f@ (x: i32) = f$ x * x\n>>{SCALAR}f%% x"
    ),
    "polymorphic functions": (
        12, f"def f0 't (x: t) = x\n<<def f@ 't (x: t) = f$ x\n>>{SCALAR}f%% x"
    ),
    "size parameters": (
        12,
        "def f <<[n$] >><<(a$: [n$]i32) >>= <<n$|| + >>\n"
        "entry main (x: []i32) = f<< x>>",
    ),
    "constants": (24, f"def c0 = 1i32\n<<def c@ = c$ * 3\n>>{SCALAR}x + c%%"),
    "entry points": (12, "<<entry f$ (xs: []i32) = map (+ $) xs\n>>"),
    "modules": (
        12,
        f"<<module m$ = {{ def f (x: i32) = x + $ }}\n>>{SCALAR}<<m$.f x|| + >>",
    ),
    "functors": (
        12,
        "module type s = { type t val f: t -> t }\n"
        "module p (a: s) = { type t = a.t def f (x: t) = a.f x }\n"
        "module m0 = { type t = i32 def f (x: i32) = x + 1 }\n"
        f"<<module m@ = p m$\n>>{SCALAR}m%%.f x",
    ),
}  # fmt: skip
"""how often, and a text where `<<ITEM||SEPARATOR>>` is repeated; `$` is the number of an
item, `@` the next one, `%%` how many there are"""

for _name, (_count, _before, _step, _result) in CHAINS.items():
    _array = _result.split(")")[0]
    TEXTS[_name] = (_count, f"{_before}<<let {_array} = {_step} in >>{_result}")


def program(text: str, count: int) -> str:
    """A text with its items repeated."""

    def repeated(found: re.Match[str]) -> str:
        item, _, separator = found[1].partition("||")
        numbered = (
            item.replace("$", str(i)).replace("@", str(i + 1)) for i in range(count)
        )
        return separator.join(numbered)

    return re.sub(r"<<(.*?)>>(?!>)", repeated, text, flags=re.S).replace(
        "%%", str(count)
    )


def calls(text: str) -> int:
    """How many calls it takes to compile a program."""
    profile = Profile()
    profile.enable()
    try:
        kernels = stages.to_kernels(stages.to_core(stages.check(Source("p.fut", text))))
        stages.to_host_module(kernels, "cpu", "program")
    finally:
        profile.disable()
    return sum(entry.callcount for entry in profile.getstats())


@pytest.mark.sweep
@pytest.mark.parametrize("construct", TEXTS)
def test_work_grows_with_the_program(construct: str) -> None:
    count, text = TEXTS[construct]
    calls(program(text, 2))  # what is prepared at the first use
    small, large = calls(program(text, count)), calls(program(text, 2 * count))
    assert large <= MOST * small


def test_compiling_takes_no_numpy(tmp_path: Path) -> None:
    """Its import takes as long as the check of a hundred lines."""
    source, made = tmp_path / "program.fut", tmp_path / "made.py"
    source.write_text(
        "entry main [n] (xs: [n]i32) = (i32.sum xs, scan (+) 0 xs, map (+ 1) xs)"
    )
    program = (
        "import sys\n"
        "import minifut.cli\n"
        "from click.testing import CliRunner\n"
        f"command = ['compile', {str(source)!r}, '-o', {str(made)!r}]\n"
        "assert CliRunner().invoke(minifut.cli.main, command).exit_code == 0\n"
        "print([m for m in ('numpy', 'pyopencl') if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"
