"""Feed damaged files to everything that reads files; only usage errors may come out.

    python -m benchmarks.campaign.mutations FOLDER --count 1000000
    python -m benchmarks.campaign.mutations FOLDER npy text --count 100000 --first 50

Values in all forms (`npy`, `binary`, `text`, `gzip`), literals of a command line
(`literal`, `shape`), tuning files (`tuning`), test blocks in programs and in files of
their own (`spec`), hand-written kernels (`kernels`), printed core (`core`), programs
with damaged tokens (`program`) and with mistakes that parse (`checked`), entries of the
cache (`entry`), and generated modules as they are kept there (`module`). A finding is
an exception that is no located error, one whose message does not begin with the name of
the file, or a reader that takes more than two seconds. Seeds are blocks of 1,000 files;
`state.jsonl` in FOLDER says which are done, and the same seed gives the same damage.
"""

from __future__ import annotations

import argparse
import gzip
import io
import json
import random
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from types import FrameType

import numpy as np

from benchmarks.campaign.state import AGREES, DISAGREES, Record, State
from benchmarks.fuzz import complaint_about as complaint_about_program
from benchmarks.fuzz import damage, mistake
from minifut.benchmarking.kernel_file import read_kernel_file
from minifut.cache import decoded, encoded
from minifut.errors import UsageError
from minifut.host_modules import HostModule, decoded_module
from minifut.ir.parser import parse_program
from minifut.parameters.file import read_tuning
from minifut.testing.blocks import RandomValues, ValuesText, read_bare_spec, read_spec
from minifut.testing.judge import literal_values, random_values
from minifut.testing.posix import posix_regex
from minifut.values.binary import write_binary
from minifut.values.npy import read_npy
from minifut.values.reader import read_file, read_literal, read_values
from minifut.values.text import read_scalar_or_type
from minifut.values.types import DTYPES

ROOT = Path(__file__).resolve().parents[2]
BLOCK = 1000
"""files of one seed"""
SLOW, STUCK = 2, 60
"""seconds of the processor, and by the clock, that no reader may take"""


class TooSlow(BaseException):
    """A reader took more than `SLOW` seconds."""


def _arrays() -> list[np.ndarray]:
    rng = np.random.default_rng(1)
    shapes = [(), (3,), (2, 3), (0, 2), (40, 5)]
    return [
        np.asarray(rng.integers(0, 2, shape)).astype(dtype)
        for dtype in DTYPES.values()
        for shape in shapes
    ]


def _npy(array: np.ndarray) -> bytes:
    stream = io.BytesIO()
    np.save(stream, np.asfortranarray(array) if array.ndim > 1 else array)
    return stream.getvalue()


TEXTS = [
    b"[[1i32, 2], [3, 4]] -1.5f32 true 0x1.8p3f64 empty([0][3]f64) -100i8 0b101u8",
    b'"text \\n\\x41\\65" ["ab", "cd"] [empty([0]i32)] f32.nan -f64.inf 1e-3 1_000i64',
    b"[" + b", ".join(b"%di32" % n for n in range(200)) + b"]  -- comment\n[1.5, -2e9]",
]
LITERALS = [b"[1, 2, 3]", b"-100i8", b"1.5e3f32", b'"a\\"b"', b"[true,false]", b"0x1F"]
SHAPES = [b"[10][20]f32", b"i32", b"[0]bool", b"5i64", b"-f32.inf", b"empty([0]u8)"]
TUNING = [b"main.tile = 32\n-- note\nmain.map_outer=1_000\nx = -3\n", b"a=0\nb=1\n"]
SPECS = [
    b"-- ==\n-- entry: sum\n-- input { [1, 2, 3] } output { 6 }\n"
    b"-- random input { [100]f32 i32 } auto output\n-- input @ x.in error: a[b-c]+\n",
    b'-- ==\n-- tags { a b }\n-- "one" script input { f 1 } output @ y\n'
    b"-- structure gpu { Map 1 }\n-- warning: unused\n",
    b"-- ==\n-- error: [[:digit:]]+ (x|y)\n",
]
KERNELS = [
    path.read_bytes()
    for path in sorted((ROOT / "benchmarks" / "hand_written").glob("*.cl"))[:3]
]


def read_blocks(path: Path, data: bytes) -> None:
    """Everything that is in test blocks."""
    text = data.decode("utf-8", "replace")
    for spec in (read_spec(path.name, text), _bare(path.name, text)):
        expressions = [
            spec.compile_error or "",
            *(w for b in spec.blocks for w in b.warnings),
        ]
        for expression in expressions:
            posix_regex(expression)
        for case in (case for block in spec.blocks for case in block.cases):
            if isinstance(case.input, ValuesText):
                literal_values(case.input, path.parent)
            elif isinstance(case.input, RandomValues):
                random_values(case.input)


def _bare(name: str, text: str):  # type: ignore[no-untyped-def]
    return read_bare_spec(name, text.replace("-- ", ""))


def _literal(data: bytes, expected: str | None) -> None:
    text = data.decode("utf-8", "replace")
    read_literal(text, f"argument 1 ({text[:40]})", expected)


PROGRAMS = [
    path.read_bytes()
    for path in sorted((ROOT / "examples").glob("*.fut"))
    if path.stat().st_size < 1500
]
CORE = [
    path.read_bytes()
    for path in sorted((ROOT / "tests" / "lowering" / "groups").glob("*.ir"))
    if path.stat().st_size < 1500
]
MODULE = HostModule("program = None", {"main": "What it does."}, {"/a.fut": "0123"})
ENTRY = encoded(b"data", "kind", "key")


class Finding(Exception):
    """What is wrong with how a reader took a damaged file."""


def _program(data: bytes, stage: str) -> None:
    complaint = complaint_about_program(data.decode("utf-8", "replace"), "x", stage)
    if complaint is not None:
        raise Finding(complaint)


def _entry(data: bytes) -> None:
    if decoded(data, "kind", "key") not in (None, b"data"):
        raise Finding("damage was taken for an entry")


def _module(data: bytes) -> None:
    module = decoded_module(data)
    if module is not None:
        module.is_current()


Reader = Callable[[Path, bytes], object]
TARGETS: dict[str, tuple[list[bytes], str, Reader]] = {
    "npy": ([_npy(a) for a in _arrays()], "x.npy", lambda path, _: read_npy(path)),
    "binary": (
        [write_binary(a) for a in _arrays()],
        "x.bin",
        lambda path, data: read_values(data, path.name),
    ),
    "text": (TEXTS, "x.in", lambda path, data: read_values(data, path.name, wrap=True)),
    "gzip": (
        [gzip.compress(text, mtime=0) for text in TEXTS],
        "x.gz",
        lambda path, _: read_values(read_file(path), str(path)),
    ),
    "literal": (LITERALS, "x", lambda _, data: _literal(data, "f32")),
    "shape": (SHAPES, "x", lambda _, data: read_scalar_or_type(data.decode("latin1"))),
    "tuning": (TUNING, "x.fut.tuning", lambda path, _: read_tuning(path)),
    "spec": (SPECS, "x.fut", read_blocks),
    "kernels": (KERNELS, "x.cl", lambda path, _: read_kernel_file(path)),
    "core": (
        CORE,
        "x.ir",
        lambda _, data: parse_program(data.decode("utf-8", "replace")),
    ),
    "program": (PROGRAMS, "x.fut", lambda _, data: _program(data, "parser")),
    "checked": (PROGRAMS, "x.fut", lambda _, data: _program(data, "checker")),
    "entry": ([ENTRY], "x", lambda _, data: _entry(data)),
    "module": (
        [json.dumps(asdict(MODULE)).encode()],
        "x",
        lambda _, data: _module(data),
    ),
}
UNNAMED = ("literal", "shape", "spec", "core")
FROM_FILES = ("npy", "gzip", "tuning", "kernels")
"""that open the file themselves"""
"""whose messages name the value instead of a file"""

PIECES = [
    *(b"9" * n for n in (1, 5, 20, 400, 5000)),
    *(b"-1", b"1e999", b"0x", b"_", b"1_", b"0x_._p_", b"\\55555555", b"\\xD800", b'"'),
    *(b"[" * n for n in (1, 70, 3000)),
    *(b"]", b"(", b")", b"{", b"}", b",", b"'", b"\\", b"\0", b"\xff", b"\xed\xa0\x80"),
    *(b"empty([0]i32)", b"empty([9999999999999999999]i8)", b"f32.nan", b"i64", b"0L"),
    *(b"\xff" * 8, b"\0" * 8, b"\x7f" + b"\xff" * 7, b"--", b"=", b"$", b"[[:alpha:]"),
]  # fmt: skip


def damaged(data: bytes, rng: random.Random) -> bytes:
    """The data with one to four bytes or stretches wrong."""
    found = bytearray(data)
    for _ in range(rng.randint(1, 4)):
        at = rng.randrange(len(found) + 1)
        end = min(len(found), at + rng.choice((1, 1, 2, 8, 40)))
        match rng.randrange(7):
            case 0 if at < len(found):
                found[at] ^= 1 << rng.randrange(8)
            case 1 if at < len(found):
                found[at] = rng.randrange(256)
            case 2:
                found[at:at] = rng.choice(PIECES)
            case 3:
                found[at:end] = rng.choice(PIECES)
            case 4:
                del found[at:end]
            case 5:
                found[at:at] = found[at:end]
            case 6 if rng.random() < 0.3:
                del found[at:]
    return bytes(found)


def mutated(name: str, data: bytes, rng: random.Random) -> bytes:
    """The data with what is wrong that a reader is to find."""
    match name:
        case "program":
            return damage(data.decode(), rng).encode("utf-8", "replace")
        case "checked":
            return mistake(data.decode(), rng).encode("utf-8", "replace")
        case _:
            return damaged(data, rng)


def complaint_about(name: str, path: Path, data: bytes) -> str | None:
    """What went wrong that must not, None if nothing."""
    try:
        TARGETS[name][2](path, data)
    except UsageError as error:
        if name not in UNNAMED and path.name not in str(error):
            return f"no file is named: {error}"
        return None if str(error).strip() else "no message"
    except TooSlow:
        return f"slower than {SLOW} s"
    except Finding as finding:
        return str(finding)
    except Exception as error:
        lines = [f"{type(error).__name__}: {error}"[:300]]
        return "\n".join(lines + traceback.format_tb(error.__traceback__)[-3:])
    return None


def _too_slow(number: int, frame: FrameType | None) -> None:
    raise TooSlow


def fuzz(name: str, count: int, seed: int, folder: Path) -> list[tuple[bytes, str]]:
    """Damaged files for one reader: those with findings."""
    rng = random.Random(f"{name} {seed}")
    samples, file, _ = TARGETS[name]
    path = folder / file
    found = []
    before = {n: signal.signal(n, _too_slow) for n in (signal.SIGALRM, signal.SIGPROF)}
    try:
        for _ in range(count):
            data = mutated(name, rng.choice(samples), rng)
            if name in FROM_FILES:
                path.write_bytes(data)
            signal.setitimer(signal.ITIMER_PROF, SLOW)
            signal.alarm(STUCK)
            try:
                complaint = complaint_about(name, path, data)
            finally:
                signal.setitimer(signal.ITIMER_PROF, 0)
                signal.alarm(0)
            if complaint:
                found.append((data, complaint))
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, help="for the state, and the findings")
    parser.add_argument("readers", nargs="*", choices=[[], *TARGETS])
    parser.add_argument("--count", type=int, default=9000, help="of all readers")
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    options = parser.parse_args()
    readers = options.readers or list(TARGETS)
    state = State(options.folder)
    seeds = -(-options.count // len(readers) // BLOCK)
    kinds: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        for name in readers:
            for seed in state.left(name, options.first, seeds, again=True):
                start = time.perf_counter()
                found = fuzz(name, BLOCK, seed, Path(folder))
                took = round(time.perf_counter() - start, 2)
                why = found[0][1] if found else ""
                verdict = DISAGREES if found else AGREES
                state.add(Record(name, seed, verdict, BLOCK, 0, took, why))
                keep(name, seed, found, kinds, options.folder)
    print(state.summary())
    return 1 if kinds else 0


def keep(
    name: str,
    seed: int,
    found: list[tuple[bytes, str]],
    kinds: Counter[str],
    folder: Path,
) -> None:
    """Show the first findings of each kind, and write their files."""
    for number, (data, complaint) in enumerate(found):
        kind = f"{name}: {complaint.splitlines()[0][:60]}"
        kinds[kind] += 1
        if kinds[kind] <= 2:
            print(f"{name} {seed} {data[:120]!r}\n{complaint}\n", flush=True)
            (folder / f"{name}-{seed}-{number}").write_bytes(data)


if __name__ == "__main__":
    sys.exit(main())
