"""Which versions a program has, and what they are called."""

from __future__ import annotations

from minifut.ir.kernels import Parameter
from minifut.ir.parser import parse_program
from minifut.parameters.decisions import Alternative, DecisionPoint
from minifut.parameters.tuning import NEVER
from minifut.parameters.versions import (
    MOST,
    Version,
    distinct,
    label,
    reached,
    versions_of,
)

T, N = 0, NEVER


def threshold(
    name: str,
    taken: tuple[DecisionPoint, ...] = (),
    otherwise: tuple[DecisionPoint, ...] = (),
) -> DecisionPoint:
    parameter = Parameter(name, "threshold", (("cpu", 4),), (0, NEVER), f"guard {name}")
    return DecisionPoint(parameter, (Alternative(T, taken), Alternative(N, otherwise)))


INNER = threshold("f.map.map.outer")
NEST = (threshold("f.map.outer", (), (INNER,)),)
TILED = (threshold("f.map.outer", (threshold("f.map.outer.tiled"),), (INNER,)),)
ROW = (threshold("f.map.outer"), threshold("f.map_scan.outer"))


def test_a_version_is_called_by_what_it_takes() -> None:
    assert label(NEST, {"f.map.outer": T}) == "outer"
    assert label(NEST, {"f.map.outer": N, "f.map.map.outer": T}) == "map.outer"
    assert label(NEST, {"f.map.outer": N, "f.map.map.outer": N}) == "full"
    assert label((), {}) == "only"


def test_refinements_are_added() -> None:
    assert label(TILED, {"f.map.outer": T, "f.map.outer.tiled": T}) == "outer, tiled"
    assert label(TILED, {"f.map.outer": T, "f.map.outer.tiled": N}) == "outer, untiled"
    bounded = Parameter("f.register_tiled", "choice", (), (0, 2))
    choice = (DecisionPoint(bounded, tuple(Alternative(v, ()) for v in range(3))),)
    names = [label(choice, {"f.register_tiled": v}) for v in range(3)]
    assert names == ["plain", "register tiled", "register tiled 2"]


def test_tiles_are_of_one_or_two_kinds() -> None:
    split = threshold("f.nest.split")
    outer = threshold("f.map.outer")
    choice = (threshold("f.nest.tiled", (split, outer), (outer,)),)
    tiled = {"f.nest.tiled": T, "f.nest.split": N}
    sizes = ("f.nest.register_rows", "f.nest.register_columns")
    assert label(choice, tiled) == "tiled"
    assert label(choice, {**tiled, **dict.fromkeys(sizes, 1)}) == "block tiled"
    both = {**tiled, **dict(zip(sizes, (1, 8), strict=True))}
    assert label(choice, both) == "block + register tiled"
    whole = {**both, "f.nest.split": T, "f.map.outer": T}
    assert label(choice, whole) == "block + register tiled, split"
    untiled = {"f.nest.tiled": N, "f.map.outer": T}
    assert label(choice, {**untiled, **both, **untiled}) == "outer, untiled"
    assert reached(choice, {**tiled, "f.map.outer": T}) == tiled


def test_choices_in_a_row_are_named_with_their_nests() -> None:
    assert label(ROW, {"f.map.outer": T, "f.map_scan.outer": T}) == "outer"
    mixed = label(ROW, {"f.map.outer": T, "f.map_scan.outer": N})
    assert mixed == "map.outer + map_scan.full"
    three = (*ROW, threshold("f.scatter.outer"))
    settings = {"f.map.outer": T, "f.map_scan.outer": N, "f.scatter.outer": T}
    assert label(three, settings) == "outer but map_scan.full"


def test_what_was_not_compared_does_not_count() -> None:
    assert label(ROW, {"f.map_scan.outer": N}) == "full"
    assert label(NEST, {"f.map.map.outer": T}) == "only"


def test_names_are_distinct() -> None:
    assert distinct(["full", "outer", "full"]) == ["full", "outer", "full #2"]


def test_settings_are_those_that_matter() -> None:
    assert reached(NEST, {"f.map.outer": T, "f.map.map.outer": T}) == {"f.map.outer": T}
    assert reached(NEST, {}) == {"f.map.outer": N, "f.map.map.outer": N}


def program_of(nests: int) -> str:
    lines = [
        'entry "main" = main sizes 0 ("n" "i64" "array" 1) -> ("" "i64" "array" 1)',
        "fun main (n: i64) -> (result: i64) {",
    ]
    for i in range(nests):
        lines += [
            f'  let c{i}: bool = at_least(n, "main.nest_{i}.outer" "threshold" ("cpu" = 4)'
            f' guards "nest {i}")',
            f"  let x{i}: i64 = if c{i} then {{ return 1i64 }} else {{ return 2i64 }}",
        ]
    return "\n".join([*lines, "  return 0i64", "}"])


TILED_NEST = """entry "main" = main sizes 0 ("n" "i64" "array" 1) -> ("" "i64" "array" 1)
fun main (n: i64) -> (result: i64) {
  let rows: i64 = get_parameter("main.nest.register_rows" "reg_tile_size" ("cpu" = 8) bounds 1 16)
  let tiled: bool = at_least(n, "main.nest.tiled" "threshold" ("cpu" = 4))
  let fits: bool = le_i64(rows, n)
  let both: bool = and_bool(tiled, fits)
  let x: i64 = if both then {
    let split: bool = at_least(n, "main.nest.split" "threshold" ("cpu" = 4))
    let y: i64 = if split then { return 1i64 } else { return 2i64 }
    return y
  } else {
    let outer: bool = at_least(n, "main.map.outer" "threshold" ("cpu" = 4))
    let z: i64 = if outer then { return 3i64 } else { return 4i64 }
    return z
  }
  return x
}"""  # fmt: skip


def test_untiled_versions_come_first_and_tiles_in_both_kinds() -> None:
    found = versions_of(parse_program(TILED_NEST), "main")
    assert [v.name for v in found.versions] == [
        "outer, untiled", "full, untiled", "block tiled", "tiled", "tiled, split",
    ]  # fmt: skip
    block, both = (dict(v.settings) for v in found.versions[2:4])
    assert block == {**both, "main.nest.register_rows": 1}
    assert found.registers == {"main.nest": ("main.nest.register_rows",)}


def test_every_version_is_listed_once() -> None:
    found = versions_of(parse_program(program_of(3)), "main")
    assert found.total == len(found.versions) == 8
    assert len({frozenset(v.settings.items()) for v in found.versions}) == 8
    assert [v.name for v in found.versions[:2]] == ["outer", "full"]
    assert found.versions[0].guards == "nest 0; nest 1; nest 2"
    assert found.versions[1].guards == ""


def test_of_too_many_versions_the_most_telling_are_kept() -> None:
    found = versions_of(parse_program(program_of(20)), "main")
    assert found.total == 2**20 and len(found.versions) == MOST
    names = [v.name for v in found.versions]
    assert names[:2] == ["outer", "full"]
    assert "outer but nest_7.full" in names and "full but nest_19.outer" in names


def test_a_program_without_choices_has_one_version() -> None:
    found = versions_of(parse_program(program_of(0)), "main")
    assert found.versions == (Version("only", {}, ""),) and found.total == 1
