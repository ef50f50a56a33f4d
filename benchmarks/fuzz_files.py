"""Feed damaged files to everything that reads files; only usage errors may come out.

    python benchmarks/fuzz_files.py --count 50000
    python benchmarks/fuzz_files.py npy text --count 100000 --seed 2 --save FOLDER

Values in all forms (`npy`, `binary`, `text`, `gzip`), literals of a command line
(`literal`, `shape`), tuning files (`tuning`), test blocks in programs and in files of
their own (`spec`), and hand-written kernels (`kernels`). A finding is an exception that
is no `UsageError`, one whose message does not begin with the name of the file, or a
reader that takes more than two seconds. The same seed gives the same damage.
"""

from __future__ import annotations

import argparse
import gzip
import io
import random
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import FrameType

import numpy as np

from minifut.benchmarking.kernel_file import read_kernel_file
from minifut.errors import UsageError
from minifut.parameters.file import read_tuning
from minifut.testing.blocks import RandomValues, ValuesText, read_bare_spec, read_spec
from minifut.testing.judge import literal_values, random_values
from minifut.testing.posix import posix_regex
from minifut.values.binary import write_binary
from minifut.values.npy import read_npy
from minifut.values.reader import read_file, read_literal, read_values
from minifut.values.text import read_scalar_or_type
from minifut.values.types import DTYPES

ROOT = Path(__file__).parent.parent
SLOW = 2
"""Seconds that no reader may take."""


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
    """Everything that stands in test blocks."""
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
}
UNNAMED = ("literal", "shape", "spec")
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
    before = signal.signal(signal.SIGALRM, _too_slow)
    try:
        for _ in range(count):
            data = damaged(rng.choice(samples), rng)
            path.write_bytes(data)
            signal.alarm(SLOW)
            try:
                complaint = complaint_about(name, path, data)
            finally:
                signal.alarm(0)
            if complaint:
                found.append((data, complaint))
    finally:
        signal.signal(signal.SIGALRM, before)
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("readers", nargs="*", choices=[[], *TARGETS])
    parser.add_argument("--count", type=int, default=9000, help="of all readers")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--save", type=Path, help="a folder for the findings")
    options = parser.parse_args()
    readers = options.readers or list(TARGETS)
    kinds: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        for name in readers:
            start = time.perf_counter()
            count = -(-options.count // len(readers))
            found = fuzz(name, count, options.seed, Path(folder))
            took = time.perf_counter() - start
            print(
                f"{name}: {count} files, {len(found)} findings, {took:.0f} s",
                flush=True,
            )
            for number, (data, complaint) in enumerate(found):
                kind = f"{name}: {complaint.splitlines()[0][:60]}"
                kinds[kind] += 1
                if kinds[kind] > 2:
                    continue
                print(f"{data[:120]!r}\n{complaint}\n", flush=True)
                if options.save:
                    options.save.mkdir(parents=True, exist_ok=True)
                    (options.save / f"{name}-{number}").write_bytes(data)
    for kind, times in kinds.most_common():
        print(f"{times:6d}  {kind}")
    return 1 if kinds else 0


if __name__ == "__main__":
    sys.exit(main())
