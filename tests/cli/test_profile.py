"""`minifut profile` and `prog.profile`: where the time of a call goes."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import minifut
from minifut.cli import main
from minifut.errors import UsageError
from minifut.profiling import HOST, WAITING

TEXT = """
entry main [n] (k: i64) (xs: [n]f32): f32 =
  let ys = loop ys = copy xs for i < k do map2 (\\y z -> (y + z) / 4 + 1) ys (reverse ys)
  in f32.sum (map (\\i -> ys[i]) (iota n))
entry rows [n][m] (xss: [n][m]f32): [n]f32 =
  map (\\xs -> let s = f32.sum xs in f32.maximum (scan (+) 0 (map (/ s) xs))) xss
"""

ON_HOST = ["-P", "main.loop_map.host=0"]
"""the loop is not one thread's, however short the arrays"""


@pytest.mark.device
def test_kernels_and_the_host_make_up_the_whole_call() -> None:
    program = minifut.compile(TEXT)
    found = program.profile(7, np.ones(200_000, np.float32))
    assert sum(line.seconds for line in found.lines) == pytest.approx(
        found.seconds, rel=0.05
    )
    assert sum(line.share for line in found.lines) == pytest.approx(1, rel=0.05)
    seconds = [line.seconds for line in found.lines]
    assert seconds == sorted(seconds, reverse=True)
    kernels = [line for line in found.lines if line.name not in (HOST, WAITING)]
    (loop,) = [line for line in kernels if line.calls == 7]
    assert [place.split(":")[-2] for place in loop.places] == ["3"]
    assert loop.nbytes >= 7 * 4 * 200_000  # in place
    assert found.peak >= 2 * 4 * 200_000 and found.copy_bandwidth > 1e8
    assert "(host)" in str(found) and loop.name in str(found)


@pytest.mark.device
@pytest.mark.optimised
@pytest.mark.parametrize(("n", "waits"), [(100, 0.5), (200_000, 1)])
def test_the_host_is_attributed_to_the_lines_that_it_launches(
    n: int, waits: float
) -> None:
    program = minifut.compile(TEXT, params={"main.loop_map.host": 0})
    found = program.profile(3000, np.ones(n, np.float32))
    host = {line.places: line for line in found.lines if line.name == HOST}
    kernels = {line.places for line in found.lines if line.name not in (HOST, WAITING)}
    assert set(host) == kernels and () not in host
    (loop,) = [line for line in host.values() if line.calls == 3000]
    assert [place.split(":")[-2] for place in loop.places] == ["3"]
    assert loop.seconds >= 0.9 * sum(line.seconds for line in host.values())
    (waiting,) = [line for line in found.lines if line.name == WAITING]
    assert waiting.share <= waits and 0 <= found.overhead < 1
    assert sum(line.share for line in found.lines) == pytest.approx(1, abs=0.05)


@pytest.mark.device
def test_reads_are_waits_of_the_host() -> None:
    text = """entry main [n] (k: i64) (xs: [n]f32): i64 =
      loop c = 0 for i < k do
        if f32.sum (map (+ f32.i64 i) xs) > 0 then c + 1 else c - 1"""
    program = minifut.compile(text)
    loops = {name: 0 for name in program.tuning if name.endswith(".host")}
    found = minifut.compile(text, params=loops).profile(50, np.ones(10**6, np.float32))
    seconds = sum(line.seconds for line in found.lines)
    assert seconds == pytest.approx(found.seconds, rel=0.05)
    assert {line.name for line in found.lines} >= {HOST, WAITING}


@pytest.mark.device
def test_what_this_thread_does_is_timed() -> None:
    """A kernel of few points before a loop of launches is not enqueued."""
    program = minifut.compile("""entry main (n: i64) (k: i64): [n]f32 =
      loop a = map (\\i -> f32.i64 i / 3) (iota n) for _i < k do
        map (\\j -> (a[j] + a[(j + 1) % n]) / 2) (iota n)""")
    for _ in range(2):
        program.main(512, 100)
    assert program.profile(512, 100).seconds > 0


@pytest.mark.device
def test_choices_of_versions_are_said() -> None:
    program = minifut.compile(TEXT)
    found = program.profile(np.ones((50, 30), np.float32), entry="rows")
    by_name = program.profile(xss=np.ones((50, 30), np.float32), entry="rows")
    assert by_name.entry == found.entry == "rows"
    assert found.choices
    for choice in found.choices:
        assert choice.threshold == program.tuning[choice.name]
        assert choice.chosen == (choice.least >= choice.threshold)


@pytest.mark.device
def test_the_command_reads_values_and_writes_json(tmp_path: Path) -> None:
    path, data, out = (tmp_path / name for name in ("a.fut", "values", "out.json"))
    path.write_text(TEXT)
    data.write_text("3i64 [1f32, 2f32, 3f32]")
    for given in (["3", "[1f32,2,3]"], ["--data", str(data)]):
        result = CliRunner().invoke(
            main, ["profile", str(path), *given, "--json", str(out), *ON_HOST]
        )
        assert result.exit_code == 0, result.output
        assert "share" in result.output and str(path) in result.output
        found = json.loads(out.read_text())
        assert {line["calls"] for line in found["lines"]} >= {1, 3}


def test_a_backend_without_device_is_refused() -> None:
    program = minifut.compile(TEXT, backend="interpreter")
    with pytest.raises(UsageError, match="profiled"):
        program.profile(1, np.ones(3, np.float32))
