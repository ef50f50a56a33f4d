"""A derivation names, for each kernel, the rules that made it, and who refused."""

from __future__ import annotations

from pathlib import Path

from click.testing import CliRunner

from minifut.cli.dev import command

ROWS = """
def main [n][m] (xss: [n][m]i64) =
  map (\\xs -> let s = reduce (+) 0 xs in map (+ s) xs) xss
"""


def explained(text: str, folder: Path) -> str:
    file = folder / "rows.fut"
    file.write_text(text)
    result = CliRunner().invoke(command, ["--explain", str(file)])
    assert result.exit_code == 0, result.output
    return result.output


def test_each_kernel_stands_below_the_rules_that_led_to_it(tmp_path: Path) -> None:
    told = explained(ROWS, tmp_path).split("\n")
    told = told[: told.index("lower for cpu")]
    lines = [line for line in told if not line.lstrip().startswith("no ")]
    at = next(i for i, line in enumerate(lines) if "distribute_map_over_let" in line)
    depth = len(lines[at]) - len(lines[at].lstrip())
    assert "->" not in lines[at]
    assert lines[at + 1].strip().startswith("flatten_reduce [Gr]  ->  segred grid (n")
    assert len(lines[at + 1]) - len(lines[at + 1].lstrip()) > depth
    made = {
        line.split("->")[1].split(" (")[0].strip() for line in lines if "->" in line
    }
    threads = {"segred thread", "segmap thread"}
    assert made == {"segmap grid", "segmap group", "segred grid"} | threads


def test_refusals_tell_the_reason_and_where(tmp_path: Path) -> None:
    text = "def main (ks: []i64) = map (\\k -> i64.sum (map (+ 1) (iota k))) ks"
    told = explained(text, tmp_path)
    assert "rows.fut:1:24" in told
    assert (
        "no flatten_perfect_nest [G2]: the inner width differs between points" in told
    )


def test_a_program_without_soacs_needs_no_rule(tmp_path: Path) -> None:
    assert explained("def main (x: i64) = x + 1", tmp_path).strip() == "no rule fired"
