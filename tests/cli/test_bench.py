"""`minifut bench`, and parameters on the command line."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from minifut.benchmarking import bench as bench_module
from minifut.cli import main
from minifut.cli.bench import json_text
from minifut.cli.options import parse_bytes

PROGRAM = """
-- ==
-- "small" random input { [20][30]f32 } auto output
-- "stray" large input { [[1f32]] } output { [[2f32]] }
entry main [n][m] (xss: [n][m]f32): [n][m]f32 =
  map (\\xs -> let s = f32.sum xs in map (/ s) xs) xss

-- ==
-- entry: twice
-- input { 4i64 } output { 8i64 }
entry twice (x: i64) = 2 * x
"""
NAME = "main.map_reduce_map.outer"
QUICK = ("--no-convergence-phase", "-r", "2")


def invoke(*args: str | Path, stdin: str = "") -> Result:
    return CliRunner().invoke(main, [str(a) for a in args], input=stdin)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    file = tmp_path / "norm.fut"
    file.write_text(PROGRAM)
    return file


@pytest.mark.device
def test_data_sets_are_measured(path: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.json"
    result = invoke("bench", path, *QUICK, "--exclude-case", "large", "--json", out)
    assert result.exit_code == 0, result.output
    assert f"{path}:\nsmall:" in result.output and "95% CI" in result.output
    found = json.loads(out.read_text())
    assert set(found) == {str(path), f"{path}:twice"}
    runtimes = found[str(path)]["datasets"]["small"]["runtimes"]
    assert len(runtimes) >= 2 and all(isinstance(us, int) for us in runtimes)


@pytest.mark.device
def test_a_failing_data_set_is_an_exit_code_and_a_string(
    path: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out.json"
    result = invoke("bench", path, *QUICK, "-e", "main", "--json", out)
    assert result.exit_code == 1
    data_sets = json.loads(out.read_text())[str(path)]["datasets"]
    assert isinstance(data_sets["stray"], str) and "runtimes" in data_sets["small"]


@pytest.mark.device
def test_versions_are_forced(path: Path, tmp_path: Path) -> None:
    out, figure = tmp_path / "out.json", tmp_path / "out.png"
    arguments = ("--versions", *QUICK, "--exclude-case", "large", "-e", "main")
    result = invoke("bench", path, *arguments, "--json", out, "--plot", figure)
    assert result.exit_code == 0, result.output
    assert "speed-up" in result.output and "chosen" in result.output
    (data,) = json.loads(out.read_text())[str(path)]["datasets"].values()
    assert {"outer", "full"} <= set(data["versions"])
    assert all(v["agrees"] for v in data["versions"].values())
    assert figure.read_bytes().startswith(b"\x89PNG")


@pytest.mark.device
def test_an_interrupt_keeps_what_was_measured(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def measure(candidate, *arguments):  # type: ignore[no-untyped-def]
        candidate.seconds += [0.25, 0.5]
        raise KeyboardInterrupt

    monkeypatch.setattr(bench_module, "measure", measure)
    out = tmp_path / "out.json"
    result = invoke("bench", path, "--json", out)
    assert result.exit_code == 130
    (entry,) = json.loads(out.read_text()).values()
    assert entry["datasets"]["small"]["runtimes"] == [250000, 500000]


@pytest.mark.device
def test_a_tuning_file_counts_unless_disabled(path: Path) -> None:
    Path(f"{path}.tuning").write_text(f"{NAME}=7\n")
    Path(f"{path}.other").write_text(f"{NAME}=8\n")
    for command in ("run", "test", "bench"):
        assert row(invoke(command, path, "--print-params"))[2] == "7"
        assert (
            row(invoke(command, path, "--print-params", "--tuning", "other"))[2] == "8"
        )
        assert (
            row(invoke(command, path, "--print-params", "--no-tuning"))[2] not in "78"
        )
        given = ("-P", f"{NAME}=9", "--print-params")
        assert row(invoke(command, path, *given))[2] == "9"
    result = invoke("bench", path, *QUICK, "-e", "twice")
    assert "twice (using norm.fut.tuning):" in result.output


@pytest.mark.device
def test_a_tuning_file_that_was_named_must_be_there(path: Path) -> None:
    for command in ("run", "test", "bench"):
        named = invoke(command, path, "--print-params", "--tuning", "absent")
        assert named.output.count("there is no tuning file") == 1, command
        assert f"{path}.absent" in named.output
        assert "tuning file" not in invoke(command, path, "--print-params").output
        unwanted = ("--tuning", "absent", "--no-tuning")
        assert "tuning file" not in invoke(command, path, *unwanted).output
    tuned = invoke("autotune", path, "--tuning", "absent", "-r", "1")
    assert "there is no tuning file" not in tuned.output


def row(result: Result) -> list[str]:
    """The cells of the parameter's line: name, class, value, .."""
    assert result.exit_code == 0, result.output
    (line,) = (x for x in result.output.splitlines() if x.split()[0] == NAME)
    assert line.split()[1] == "threshold" and "one thread" in line
    return line.split()


@pytest.mark.device
def test_comparisons_are_logged(path: Path) -> None:
    result = invoke("run", path, "-L", "[[1f32, 1], [1, 3]]")
    assert result.exit_code == 0
    assert f"Compared {NAME} <= 2" in result.stderr
    assert "Compared" not in result.stdout


@pytest.mark.device
@pytest.mark.parametrize("command", [("run",), ("test",), ("bench", *QUICK)])
def test_device_memory_can_be_limited(path: Path, command: tuple[str, ...]) -> None:
    path.write_text(
        """
-- ==
-- input { 10000000i64 } output { 10000000i64 }
entry main (n: i64) = let xs = scan (+) 0 (map (% 7) (iota n)) in length (filter (>= 0) xs)
"""
    )
    stdin = "10000000i64"
    small = invoke(*command, path, "--max-memory", "1MB", stdin=stdin)
    assert small.exit_code == 1 and "out of device memory" in small.output
    large = invoke(*command, path, "--max-memory", "2GiB", stdin=stdin)
    assert large.exit_code == 0, large.output


@pytest.mark.parametrize(
    ("text", "number"),
    [("1000", 1000), ("2k", 2000), ("1.5MB", 1_500_000), ("2 GiB", 2 << 30)],
)
def test_bytes_have_units(text: str, number: int) -> None:
    assert parse_bytes(None, None, text) == number  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--max-memory", "lots"), "'lots' is not a number of bytes"),
        (("--max-memory", "0"), "is not a number of bytes"),
        (("--plot", "a.png"), "give --versions, too"),
        (("--against", "a.cl"), "give --versions, too"),
        (("--versions", "--against", "a.cl"), "a.cl: cannot be read: no such file"),
        (("--ignore-files", "("), "--ignore-files: "),
        (("--ignore-files", "norm"), "no .fut file in"),
        (("--data", "none.in"), "none.in: there is no such file"),
        (("--spec-file", "none.spec"), "none.spec: cannot be read"),
        (("-r", "0"), "0 is not in the range"),
    ],
)
def test_wrong_usage(path: Path, arguments: tuple[str, ...], message: str) -> None:
    result = invoke("bench", path, *arguments)
    assert result.exit_code == 2 and message in result.output


def test_a_program_that_does_not_compile(path: Path) -> None:
    path.write_text("-- ==\n-- input { 1 }\nentry main (x: i32) = x + true\n")
    result = invoke("bench", path)
    assert result.exit_code == 2 and "norm.fut:3:" in result.output


def test_programs_without_data_sets_are_not_compiled(path: Path) -> None:
    path.write_text("entry main (x: i32) = x + true\n")
    result = invoke("bench", path)
    assert (result.exit_code, result.stdout) == (0, "")


def test_a_missing_matplotlib_is_said_at_once(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    result = invoke("bench", "--versions", "--plot", "a.png", path)
    assert result.exit_code == 2
    assert "needs matplotlib: pip install 'minifut[plot]'" in result.output


def test_json_has_numbers_on_a_line() -> None:
    text = json_text({"a": {"runtimes": [1, 2, 3], "params": {"b": 4}}})
    assert '"runtimes": [1, 2, 3],\n' in text
    assert json.loads(text) == {"a": {"runtimes": [1, 2, 3], "params": {"b": 4}}}
