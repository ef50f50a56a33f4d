"""Feed damaged programs to the front end; only located compile errors may come out.

    python benchmarks/fuzz.py parser  --count 100000 --corpus FOLDER
    python benchmarks/fuzz.py checker --count 20000  --corpus FOLDER
    python benchmarks/fuzz.py compile --count 1000

`parser` damages tokens and characters. `checker` makes mistakes that people make (a
wrong name, literal, operator or type, a part missing or twice) in programs that are
right, and checks those that still parse. `compile` takes what still checks through all
stages, except the device. A finding is an exception that is no `CompileError` with a
position, or a program that takes more than ten seconds; findings are written to
`--save`. The same seed gives the same damage.
"""

from __future__ import annotations

import argparse
import random
import re
import signal
import sys
import time
import traceback
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

from minifut import stages
from minifut.errors import CompileError, Source
from minifut.frontend.parser import parse_program

ROOT = Path(__file__).parent.parent
OWN_PROGRAMS = (ROOT / "tests" / "programs", ROOT / "examples")
LONGEST = 6000
"""Characters: longer programs say little more and take time."""
SLOW = 10
"""Seconds that no program may take."""

TOKEN = re.compile(
    r"--[^\n]*|\s+|\"(?:\\.|[^\"\\\n])*\"|[A-Za-z_][\w']*|[0-9][\w.]*"
    r"|[-+*/%!<>=&|^$.:@#?~]+|."
)


def _words(text: str) -> list[str]:
    return text.split()


KEYWORDS = _words(
    "let in if then else loop for while do match case def entry type module open "
    "import local with val include assert true false"
)
PIECES = [
    *KEYWORDS,
    *_words("( ) [ ] { } , -> = \\ ' # #[ .. ... ..< |> <| :> : ? ~ ^ * + - _ . ;"),
    *_words('"abc "x" \'a\' 0 1i8 0x 0b2 1e400 99999999999999999999i64 1.f32 é'),
    *("\0", "\t", "$", "%", "`", "@"),
]
OPERATORS = _words("+ - * / % // %% == != < <= > >= && || & | ^ << >> ** ++ |> <|")
TYPES = _words("i8 i32 i64 u8 u64 f16 f32 f64 bool")
LITERALS = _words("0 1 -1 2i8 7u64 1.5 1.5f32 true 10i64 []")


@dataclass(frozen=True, slots=True)
class Finding:
    """A damaged program and what went wrong with it."""

    text: str
    origin: str
    complaint: str


class TooSlow(BaseException):
    """The program took more than `SLOW` seconds."""


def programs(folders: list[Path]) -> list[tuple[str, str]]:
    """Names and texts of the programs to damage."""
    found = []
    for folder in folders:
        for path in sorted(folder.rglob("*.fut")):
            try:
                text = path.read_text(encoding="utf-8")
            except (OSError, UnicodeDecodeError):
                continue
            if len(text) <= LONGEST:
                found.append((str(path), text))
    return found


def damage(text: str, rng: random.Random) -> str:
    """The text with one to four tokens, characters or lines wrong."""
    parts = TOKEN.findall(text)
    for _ in range(rng.randint(1, 4)):
        if not parts:
            parts = [rng.choice(PIECES)]
        at = rng.randrange(len(parts))
        match rng.randrange(9):
            case 0:
                del parts[at]
            case 1:
                parts.insert(at, parts[at])
            case 2:
                other = rng.randrange(len(parts))
                parts[at], parts[other] = parts[other], parts[at]
            case 3:
                parts[at] = rng.choice(PIECES)
            case 4:
                parts.insert(at, f" {rng.choice(PIECES)} ")
            case 5:
                word = parts[at]
                cut = rng.randint(0, len(word))
                parts[at] = word[:cut] + chr(rng.choice(CODES)) + word[cut:]
            case 6:
                parts[at] = parts[rng.randrange(len(parts))]
            case 7:
                del parts[at : at + rng.randint(1, 12)]
            case 8:
                if rng.random() < 0.2:
                    del parts[at:]
                else:
                    other = rng.randrange(len(parts))
                    parts[at:at] = parts[other : other + rng.randint(1, 12)]
    return "".join(parts)


CODES = [*range(32, 127), 0, 9, 10, 13, 0xA0, 0xE9, 0x2028, 0x1D4B3, 0xFEFF]


def mistake(text: str, rng: random.Random) -> str:
    """The text with one or two mistakes of the kind that still parse."""
    parts = TOKEN.findall(text)
    names = [p for p in parts if re.match(r"[A-Za-z_]", p) and p not in KEYWORDS]
    for _ in range(rng.randint(1, 2)):
        for _ in range(20):
            if mistaken(parts, rng.randrange(len(parts)), names, rng):
                break
    return "".join(parts)


def mistaken(parts: list[str], at: int, names: list[str], rng: random.Random) -> bool:
    """Make a mistake at one token; whether it is of a kind that can be mistaken."""
    part = parts[at]
    if part in KEYWORDS or part.isspace() or part.startswith("--"):
        return False
    if part in TYPES:
        parts[at] = rng.choice(TYPES)
    elif part in OPERATORS:
        parts[at] = rng.choice(OPERATORS)
    elif re.match(r"[0-9]", part):
        parts[at] = rng.choice([*LITERALS, *names])
    elif re.match(r"[A-Za-z_]", part):
        match rng.randrange(6):
            case 0:
                parts[at] = rng.choice(LITERALS)
            case 1:
                parts[at] = f"({part}, {rng.choice(names)})"
            case 2:
                parts[at] = f"({part} {rng.choice(names)})"
            case 3:
                parts[at] = ""
            case _:
                parts[at] = rng.choice(names)
    elif part in "()[]{}*?:>":
        parts[at] = rng.choice(["", "*", part + part, "[n]", "?"])
    else:
        return False
    return True


def complaint_about(text: str, name: str, stage: str) -> str | None:
    """What went wrong that must not, None if nothing."""
    try:
        source = Source(name, text)
        if stage == "parser":
            parse_program(source)
            return None
        checked = stages.check(source)
        if stage == "compile":
            kernels = stages.to_kernels(stages.to_core(checked))
            stages.to_host_module(kernels, "cpu")
    except CompileError as error:
        if error.location is None:
            return f"no position: {error.message}"
        if not error.message.strip():
            return "no message"
        str(error)
    except TooSlow:
        return f"slower than {SLOW} s"
    except Exception as error:
        return _told(error)
    return None


def _parses(text: str, name: str) -> bool:
    try:
        parse_program(Source(name, text))
    except CompileError:
        return False
    return True


def _told(error: Exception) -> str:
    lines = [f"{type(error).__name__}: {error}"[:2000]]
    lines += traceback.format_tb((error.__cause__ or error).__traceback__)[-3:]
    return "\n".join(lines)


def _too_slow(number: int, frame: FrameType | None) -> None:
    raise TooSlow


def fuzz(
    stage: str, sources: list[tuple[str, str]], count: int, seed: int
) -> Iterator[Finding | None]:
    """`count` damaged programs, each with its finding or None."""
    rng = random.Random(seed)
    change = damage if stage == "parser" else mistake
    before = signal.signal(signal.SIGALRM, _too_slow)
    try:
        for _ in range(count):
            while True:
                name, text = rng.choice(sources)
                changed = change(text, rng)
                if stage == "parser" or _parses(changed, name):
                    break
            signal.alarm(SLOW)
            try:
                complaint = complaint_about(changed, name, stage)
            finally:
                signal.alarm(0)
            yield Finding(changed, name, complaint) if complaint else None
    finally:
        signal.signal(signal.SIGALRM, before)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("stage", choices=["parser", "checker", "compile"])
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--corpus", type=Path, action="append", default=[])
    parser.add_argument("--save", type=Path, help="a folder for the findings")
    options = parser.parse_args()
    sources = programs([*OWN_PROGRAMS, *options.corpus])
    kinds: Counter[str] = Counter()
    start = time.perf_counter()
    done = fuzz(options.stage, sources, options.count, options.seed)
    for number, finding in enumerate(done, 1):
        if number % 1000 == 0:
            took = time.perf_counter() - start
            print(f"{number} programs, {kinds.total()} findings, {took:.0f} s")
            sys.stdout.flush()
        if finding is None:
            continue
        kind = finding.complaint.splitlines()[-1]
        kinds[kind] += 1
        if kinds[kind] > 3:
            continue
        print(f"{finding.origin}\n{finding.complaint}\n", flush=True)
        if options.save:
            options.save.mkdir(parents=True, exist_ok=True)
            (options.save / f"{number}.fut").write_text(finding.text)
            (options.save / f"{number}.txt").write_text(finding.complaint)
    for kind, times in kinds.most_common():
        print(f"{times:6d}  {kind.strip()}")
    return 1 if kinds else 0


if __name__ == "__main__":
    sys.exit(main())
