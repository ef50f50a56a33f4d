"""Faults of files, memory and processes; every run after one has to be right.

    python -m benchmarks.campaign.faults [SCENARIO ..] [--kills 20] [--seed 1]

    caches       each file of a filled cache emptied, cut off, flipped, replaced by one
                 of another program or kind, by a folder, by a link to nothing
    driver       the files that PoCL left behind in its folder, likewise
    full         a cache, then a folder for temporary files, with no room: a limit on
                 the size of files, and a file system of 1 MB where mounting is allowed
    read_only    a cache that cannot be made or written
    together     2, then 8 processes that find an empty cache
    killed       `compile` and `autotune` killed at random moments; what they leave is
                 whole or absent, and the next run is right
    memory       limits from far too little to enough: results or `MemoryError`, and
                 then a call that fits works

A run is right if it prints the known results and exits with 0. Prints a line for each
scenario, and what went wrong; the exit code is 0 if nothing did.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = """-- ==
-- input { 1000i64 } output { 499500i64 [0i64, 1i64, 3i64] 4024000i64 }
entry main (n: i64) =
  let xs = iota n
  let sums = scan (+) 0 xs
  let rows = map (\\x -> i64.sum (map (+ x) (iota 8))) xs
  in (i64.sum xs, take 3 sums, i64.sum rows)
"""
OTHER = "entry main (n: i64) = (n, [n, n, n])\n"
ANSWER = "499500i64\n[0i64, 1i64, 3i64]\n4024000i64\n"
LIMITS = (0, 1, 4096, 1 << 16, 1 << 20)
"""bytes of the largest file, of a disk that is full"""
SMALL_DISK = "1m"


@dataclass(frozen=True, slots=True)
class Place:
    """A folder for one scenario, with a program, and a cache of its own."""

    folder: Path
    seed: int
    kills: int

    @property
    def program(self) -> Path:
        return self.folder / "program.fut"

    @property
    def cache(self) -> Path:
        return self.folder / "cache"

    def environment(self, **more: str) -> dict[str, str]:
        known = {k: v for k, v in os.environ.items() if k != "POCL_CACHE_DIR"}
        mine = {"MINIFUT_CACHE": str(self.cache), "PYTHONPATH": str(ROOT)}
        return {**known, **mine, **more}

    def start(
        self,
        arguments: Sequence[str],
        prepare: Callable[[], None] | None = None,
        **more: str,
    ) -> subprocess.Popen[str]:
        """A command of minifut."""
        return subprocess.Popen(
            [sys.executable, "-X", "faulthandler", "-m", "minifut", *arguments],
            cwd=self.folder,
            env=self.environment(**more),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            preexec_fn=prepare,
        )

    def run(
        self, prepare: Callable[[], None] | None = None, **more: str
    ) -> subprocess.Popen[str]:
        return self.start(["run", str(self.program), "1000"], prepare, **more)


def wrong(
    process: subprocess.Popen[str], answer: str = ANSWER, seconds: int = 120
) -> str | None:
    """What is wrong with a run, None if it is right.

    The seconds are waited for one by one: while this process itself is stopped, or the
    machine sleeps, none of them passes. A run that does not end says where it is.
    """
    for _ in range(seconds):
        with contextlib.suppress(subprocess.TimeoutExpired):
            output, complaints = process.communicate(timeout=1)
            break
    else:
        process.send_signal(signal.SIGABRT)
        _, complaints = process.communicate()
        return f"no end after {seconds} seconds: {complaints}"
    if process.returncode == 0 and output == answer:
        return None
    return f"exit code {process.returncode}: {output[-200:]}{complaints[-600:]}"


def refused(process: subprocess.Popen[str]) -> str | None:
    """None if a run is right, or ends with a message as errors have it."""
    complaint = wrong(process)
    if complaint is None or "Traceback" in complaint or "no end" in complaint:
        return complaint
    return None if process.returncode in (1, 2) else complaint


Findings = Iterator[tuple[str, "str | None"]]
"""what was done, and what is wrong with that"""


# --- files ----------------------------------------------------------------------------


def _emptied(path: Path, others: Sequence[Path]) -> None:
    path.write_bytes(b"")


def _cut(path: Path, others: Sequence[Path]) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def _flipped(path: Path, others: Sequence[Path]) -> None:
    data = bytearray(path.read_bytes())
    some = slice(len(data) * 2 // 3, None, 97)
    data[some] = bytes(b ^ 8 for b in data[some])
    path.write_bytes(data)


def _replaced(path: Path, others: Sequence[Path]) -> None:
    """By what is no less whole, but another's."""
    same_kind = [p for p in others if p.parent == path.parent and p != path]
    if same_kind:
        shutil.copy(same_kind[0], path)


def _by_another_kind(path: Path, others: Sequence[Path]) -> None:
    other = [p for p in others if p.parent != path.parent]
    if other:
        shutil.copy(other[0], path)


def _by_a_folder(path: Path, others: Sequence[Path]) -> None:
    path.unlink()
    path.mkdir()


def _by_a_link(path: Path, others: Sequence[Path]) -> None:
    path.unlink()
    path.symlink_to(path.with_name("nothing"))


DAMAGES = (
    _emptied, _cut, _flipped, _replaced, _by_another_kind, _by_a_folder, _by_a_link,
)  # fmt: skip


def caches(place: Place) -> Findings:
    """Damage each file of a cache that two programs have filled."""
    kept = place.folder / "kept"
    other = place.folder / "other.fut"
    other.write_text(OTHER)
    yield "fill", wrong(place.run())
    answer = "3i64\n[3i64, 3i64, 3i64]\n"
    yield "fill", wrong(place.start(["run", str(other), "3"]), answer)
    place.cache.rename(kept)
    for path in sorted(p for p in kept.rglob("*") if p.is_file()):
        for damage in DAMAGES:
            copy_tree(kept, place.cache)
            name = path.relative_to(kept)
            files = [p for p in place.cache.rglob("*") if p.is_file()]
            damage(place.cache / name, files)
            yield f"{name} {damage.__name__}", wrong(place.run())


def driver(place: Place) -> Findings:
    """A process is killed; the files of the driver that it leaves are damaged."""
    temporary = place.folder / "temporary"
    for damage in DAMAGES[:4]:
        temporary.mkdir(exist_ok=True)
        process = place.start(["repl"], TMPDIR=str(temporary))
        process.kill()
        process.wait()
        left = temporary / "minifut-driver-left" / "AB" / "program"
        left.mkdir(parents=True)
        files = [left / name for name in ("program.bc", "main_mapped.so")]
        for file in files:
            file.write_bytes(os.urandom(5000))
        for file in files:
            damage(file, files)
        said = f"left behind {damage.__name__}"
        yield said, wrong(place.run(TMPDIR=str(temporary)))
        yield f"{said}: removed", "still there" if left.exists() else None


def full(place: Place) -> Findings:
    """No room for caches, or for temporary files."""
    for limit in LIMITS:

        def prepare(limit: int = limit) -> None:
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

        yield f"files of at most {limit} bytes", refused(place.run(prepare))
        yield "and then", wrong(place.run())
        shutil.rmtree(place.cache, ignore_errors=True)
    disk = place.folder / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={SMALL_DISK}", "tmpfs", str(disk)]
    if subprocess.run(mount, capture_output=True).returncode:
        return
    try:
        (disk / "ballast").write_bytes(bytes(900_000))
        for said in ("a full disk for the cache", "once more"):
            yield said, wrong(place.run(MINIFUT_CACHE=str(disk / "c")))
        yield "a full disk for the driver", refused(place.run(TMPDIR=str(disk)))
    finally:
        subprocess.run(["umount", str(disk)], check=False)
    yield "and then", wrong(place.run())


def read_only(place: Place) -> Findings:
    """A cache where nothing can be written."""
    file = place.folder / "file"
    file.write_text("")
    for folder in (file, file / "below", Path("/proc/nothing"), Path("/dev/null")):
        said = f"MINIFUT_CACHE={folder.name}"
        yield said, wrong(place.run(MINIFUT_CACHE=str(folder)))


def together(place: Place) -> Findings:
    """Processes that fill one cache at the same time."""
    for count in (2, 8):
        shutil.rmtree(place.cache, ignore_errors=True)
        processes = [place.run() for _ in range(count)]
        for number, process in enumerate(processes):
            yield f"{number + 1} of {count}", wrong(process)
        yield "and then", wrong(place.run())
        left = [p.name for p in place.cache.rglob(".new-*")]
        yield "left", f"temporary files {left}" if left else None


def killed(place: Place) -> Findings:
    """Commands that are killed, then a run."""
    chance = random.Random(place.seed)
    commands: Mapping[str, list[str]] = {
        "compile": ["compile", str(place.program)],
        "autotune": ["autotune", str(place.program)],
    }
    for name, command in commands.items():
        shutil.rmtree(place.cache, ignore_errors=True)
        start = time.monotonic()
        process = place.start(command)
        process.communicate()
        took = time.monotonic() - start
        code = process.returncode
        yield f"{name}, {took:.1f} s", f"exit code {code}" if code else None
        before = outputs(place)
        for number in range(place.kills):
            if number % 2:
                shutil.rmtree(place.cache, ignore_errors=True)
            moment = chance.uniform(0, took)
            process = place.start(command)
            time.sleep(moment)
            process.kill()
            process.communicate()
            said = f"{name} killed after {moment:.2f} s"
            changed = [n for n, data in outputs(place).items() if not whole(n, data)]
            yield f"{said}: files", f"half written: {changed}" if changed else None
            yield said, wrong(place.run())
        assert before


def outputs(place: Place) -> dict[str, bytes]:
    """The files that commands have written beside the program."""
    return {p.name: p.read_bytes() for p in place.folder.iterdir() if p.is_file()}


def whole(name: str, data: bytes) -> bool:
    """Whether a file can be one that was written to the end."""
    if name.endswith(".tuning"):
        return all(
            re.fullmatch(rb"[\w.]+=[0-9]+\n", line) for line in data.splitlines(True)
        )
    if name.endswith(".py"):
        try:
            compile(data, name, "exec")
        except SyntaxError:
            return False
    return bool(data) and data.endswith(b"\n")


# --- memory ---------------------------------------------------------------------------

LARGE = """
entry main (n: i64) =
  let xs = map (\\i -> i * i) (iota n)
  let ys = scan (+) 0 xs
  let zs = map2 (*) (reverse ys) xs
  let ws = scatter (copy ys) (map (\\i -> n - 1 - i) (iota n)) zs
  in (i64.sum ws, scan (+) 0 ws)
"""
SMALL = sum(i * i * sum(k * k for k in range(1000 - i)) for i in range(1000))
"""the sum that it gives for 1000"""


def memory(place: Place) -> Findings:
    """Limits on memory, so that a call fails at each of its allocations in turn."""
    import minifut

    n = 200_000
    known = None
    refusals = 0
    for limit in (*range(1 << 18, 12 << 20, 1 << 18), 1 << 30):
        program = minifut.compile(LARGE, max_memory=limit)
        try:
            given = program.main(n)[1]
        except MemoryError as error:
            refusals += 1
            text = str(error)
            fine = "needed" in text and "limit" in text
            yield f"limit {limit}", None if fine else f"no figures: {text}"
        else:
            known = given if known is None else known
            yield f"limit {limit}", None if (given == known).all() else "wrong results"
        total, sums = program.main(1000)
        right = total == sums[-1] == SMALL
        yield f"limit {limit}, a call that fits", None if right else "wrong results"
    yield "limits that refuse", None if refusals > 5 else f"only {refusals}"


# --- all ------------------------------------------------------------------------------

SCENARIOS = (caches, driver, full, read_only, together, killed, memory)


def copy_tree(source: Path, target: Path) -> None:
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(source, target)


def main() -> int:
    """Run the scenarios."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.campaign.faults")
    names = [scenario.__name__ for scenario in SCENARIOS]
    parser.add_argument("scenarios", nargs="*", choices=[[], *names])
    parser.add_argument("--kills", type=int, default=20, help="of each command")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    bad = 0
    for scenario in SCENARIOS:
        if options.scenarios and scenario.__name__ not in options.scenarios:
            continue
        found, start = [], time.monotonic()
        with tempfile.TemporaryDirectory() as folder:
            place = Place(Path(folder), options.seed, options.kills)
            place.program.write_text(PROGRAM)
            found = list(scenario(place))
        complaints = [f"{said}: {why}" for said, why in found if why is not None]
        bad += len(complaints)
        took = time.monotonic() - start
        text = f"{scenario.__name__}: {len(found)} checks, {len(complaints)} wrong"
        print("\n    ".join([f"{text}, {took:.0f} s", *complaints]), flush=True)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
