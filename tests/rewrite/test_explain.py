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
    told = told[: told.index("lower-cpu")]
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


def test_what_the_prelude_does_stands_where_it_is_called(tmp_path: Path) -> None:
    text = "def main (n: i64) =\n  tabulate_2d n n (\\i j -> i * j)\n"
    told = explained(text, tmp_path)
    assert "rows.fut:2:3  mapped\n" in told
    assert "prelude/" not in told


PRODUCT = """
def main [n][m][k] (a: [n][k]f32) (b: [m][k]f32): [n][m]f32 =
  map (\\x -> map (\\y -> f32.sum (map2 (*) x y)) b) a
"""


def test_names_are_those_of_the_program_and_thresholds_stand_with_rules(
    tmp_path: Path,
) -> None:
    told = explained(PRODUCT, tmp_path).split("\n")
    lines = [line.strip() for line in told]
    assert "flatten_reduce [Gr]  ->  segred grid (n, m, k)" in lines
    (recognised,) = (line for line in lines if line.startswith("recognise_tiling"))
    for name in ("tiled", "split", "narrow"):
        assert f"main.map_map_redomap.{name} = " in recognised
    (mined, split) = (x for x in lines if x.startswith("strip_mine_grid"))
    assert "segmap group (ceil_div(n, block_rows), ceil_div(m, block_columns))" in mined
    assert "block_rows_1" in split, "those of the other version"


def test_choices_of_the_lowering_have_lines(tmp_path: Path) -> None:
    told = explained(PRODUCT, tmp_path)
    told = told[told.index("lower-cpu") :]
    for line in (
        "read_in_place  ->  a\n",
        "no read_in_place: register nests read the copy of b in vectors\n",
        "pack_transposed  ->  b  (main.map_map_redomap.register_columns = 32)\n",
        "no vectorise_across_segments: elements of a segment are contiguous in memory\n",
        "distribute_fold_cyclically [asVector]  ->  16 lanes in reduce  ",
    ):
        assert line in told


def test_histograms_tell_of_copies_and_passes(tmp_path: Path) -> None:
    text = "def main (k: i64) (is: []i64) = hist (+) 0i64 k is is"
    told = explained(text, tmp_path)
    assert "privatise_bins  ->  copies for chunks of 4096 elements or more" in told
    assert "partition_bins_into_passes  (histogram_passes = 1)" in told
    told = explained(text.replace(" k is", " 9 is"), tmp_path)
    assert "no partition_bins_into_passes: all of the 72 bytes of bins fit" in told


def test_simplifications_are_counted(tmp_path: Path) -> None:
    lines = explained("def main (x: i32): i32 = (x + 0) * 1", tmp_path)
    assert "simplify\n  apply_identities x 2" in lines
