"""Maps that scatter by scans of flags: which are stable partitions, and their results."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyopencl as cl
import pytest

import minifut
from minifut.kernel_ir.shuffles import PACK_BYTES, SHUFFLES, compress, mask_bits
from minifut.lowering.segmap.streaming import LARGE
from minifut.lowering.segscan import stable_partition
from minifut.lowering.segscan.scan_then_map import COLLECTED

POSITIONS = """
def exclusive [n] (flags: [n]i64) = map2 (-) (scan (+) 0 flags) flags
"""
PROGRAMS = {
    "filter": ("entry main [n] (xs: [n]i32) = filter (< 0) xs", 1),
    "filter of computed values": (
        "entry main [n] (xs: [n]i32) = filter (\\x -> x % 3 == 1) (map (* 7) xs)", 1),
    "filter of pairs": (
        "entry main [n] (xs: [n]i32) = filter (\\(x, i) -> x < 0 && i > 3)"
        " (zip xs (iota n)) |> unzip", 1),
    "partition": ("entry main [n] (xs: [n]i32) = partition (< 0) xs", 2),
    "two predicates": (
        "entry main [n] (xs: [n]i32) = partition2 (< -9) (< 5) xs", 3),
    "one bit": (POSITIONS + """
entry main [n] (xs: [n]i32) =
  let ones = map (\\x -> i64.i32 (x & 1)) xs
  let zeros = map (1 -) ones
  let places = map3 (\\f a b -> if f == 0 then a else b) ones (exclusive zeros)
                    (map (+ i64.sum zeros) (exclusive ones))
  in scatter (replicate n 0) places xs""", 2),
    "digits with payload": ("""
entry main [n] (xs: [n]i32) =
  let digits = map (\\x -> x % 3) xs
  let flag k d = i64.bool (d == k)
  let add (a, b, c) (d, e, f) = (a + d, b + e, c + f: i64)
  let ends = scan add (0, 0, 0) (map (\\d -> (flag 0 d, flag 1 d, flag 2 d)) digits)
  let (na, nb, _) = if n == 0 then (0, 0, 0) else last ends
  let place d (a, b, c) =
    if d == 0 then a - 1 else if d == 1 then na + b - 1 else na + nb + c - 1
  let places = map2 place digits ends
  in scatter (replicate n (0, 0, 0)) places (zip3 xs (map f64.i32 xs) (iota n))
     |> unzip3""", 3),
    "positions of 32 bits": ("""
entry main [n] (xs: [n]i32) =
  let ends = scan (+) 0i32 (map (\\x -> i32.bool (x > 0)) xs)
  let places = map2 (\\x e -> if x > 0 then i64.i32 (e - 1) else -1) xs ends
  in scatter (replicate n 0) places xs""", 1),
    "partly outside": ("""
entry main [n] (xs: [n]i32) =
  let ends = scan (+) 0 (map (\\x -> i64.bool (x > 0)) xs)
  let places = map2 (\\x e -> if x > 0 then e - 5 else -1) xs ends
  in scatter (replicate (n / 3) 0) places xs""", 1),
    "starts of runs by rotation": ("""
entry main [n] (xs: [n]i32) =
  let keep = map3 (\\i x p -> i == 0 || x != p) (iota n) xs (rotate (-1) xs)
  in map (.0) (filter (.1) (zip xs keep))""", 1),
    "ends of runs by guards": ("""
entry main [n] (xs: [n]i32) =
  filter (\\i -> i + 1 == n || xs[i] != xs[i + 1]) (iota n)""", 1),
    "two guards": ("""
entry main [n] (xs: [n]i32) =
  filter (\\i -> (i > 6 && xs[i - 7] < 0) || (i + 9 < n && xs[i + 9] == 0)) (iota n)""",
        1),
    "six comparisons": ("""
entry main [n] (xs: [n]i32) =
  filter (\\x -> x > -90 && x < 90 && x != 3 && x != 5 && (x > 7 || x < -7)) xs""", 1),
    "three kinds by four comparisons": ("""
entry main [n] (xs: [n]i32) =
  partition2 (\\x -> x == 1 && x == 2 || x == 3 && x < 5) (\\x -> x < 7 || x > 9) xs""", 3),
    "a comparison that is used twice": ("""
entry main [n] (xs: [n]i32) =
  partition2 (\\x -> x > 0 && x % 3 == 1) (\\x -> x > 0) xs""", 3),
    "checked reads": ("""
entry main [n] (xs: [n]i32) =
  let at x = i64.i32 (x % 7)
  let table = map (\\i -> i32.i64 i - 3) (iota 7)
  in filter (\\x -> table[at x] < x && x != 5) xs |> map (\\x -> (x, table[at x]))
     |> unzip""", 1),
    "expensive flags": ("""
entry main [n] (xs: [n]i32) =
  filter (\\x -> f64.sin (f64.i32 x) < 0.3 && f64.exp (f64.i32 x / 9) > 0.1) xs""", 1),
    "a gap for each": ("""
entry main [n] (xs: [n]i32) =
  let ends = scan (+) 0 (map (\\x -> i64.bool (x > 0)) xs)
  let places = map2 (\\x e -> if x > 0 then 2 * e else -1) xs ends
  in scatter (replicate (2 * n) 0) places xs""", 0),
    "ranks": ("""
entry main [n] (xs: [n]i32) =
  let ends = scan (+) 0 (map (\\x -> i64.bool (x > 0)) xs)
  let places = map2 (\\x e -> if x > 0 then e - 1 else -1) xs ends
  in scatter (replicate n 0) places (map (* 3) ends)""", 0),
    "sums": ("""
entry main [n] (xs: [n]i32) =
  let ends = scan (+) 0 (map i64.i32 xs)
  let places = map2 (\\x e -> if x > 0 then e else -1) xs ends
  in scatter (replicate n 0) places (map (\\_ -> 1i32) xs)""", 0),
}  # fmt: skip
"""with the number of streams; 0: no stable partition"""
KEPT: dict[str, Callable[[Any], Any]] = {
    "filter": lambda xs: xs[xs < 0],
    "partition": lambda xs: (xs[xs < 0], xs[xs >= 0]),
    "six comparisons": lambda xs: xs[~np.isin(xs, (3, 5)) & ((xs > 7) | (xs < -7))],
    "checked reads": lambda xs: (xs[_checked(xs)], xs[_checked(xs)] % 7 - 3),
}


def _checked(xs: Any) -> Any:
    return (xs % 7 - 3 < xs) & (xs != 5)


SIZES = (0, 1, 7, 8, 255, 256, 257, 3000, 100_001)


@pytest.fixture(autouse=True)
def nothing_kept(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("MINIFUT_CACHE", str(tmp_path))


@pytest.mark.parametrize("name", PROGRAMS)
def test_streams(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    text, streams = PROGRAMS[name]
    found = _plans(text, monkeypatch)
    if streams == 0:
        assert all(isinstance(plan, str) for plan in found)
        return
    (plan,) = (p for p in found if not isinstance(p, str))
    assert len(plan.streams) == streams
    assert plan.is_narrow == (name == "positions of 32 bits")
    assert plan.is_permutation == (streams > 1)


def _plans(text: str, monkeypatch: pytest.MonkeyPatch) -> list:
    """All plans, or the reasons why there are none. The text is no other test's, whose
    program would serve again."""
    found: list = []
    function = stable_partition._Finder.plan

    def plan(finder: stable_partition._Finder) -> object:
        try:
            found.append(function(finder))
        except stable_partition.Decline as refused:
            found.append(str(refused))
            raise
        return found[-1]

    monkeypatch.setattr(stable_partition._Finder, "plan", plan)
    minifut.compile(f"{text}\n-- for its plans\n", schedule="cpu")
    return found


@pytest.mark.sweep
@pytest.mark.device
@pytest.mark.parametrize("schedule", ["cpu", "gpu"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_results_are_those_of_the_interpreter(name: str, schedule: str) -> None:
    text, _ = PROGRAMS[name]
    program = minifut.compile(text, schedule=schedule)
    oracle = minifut.compile(text, backend="interpreter")
    random = np.random.default_rng(0)
    for n in SIZES[:-1] if schedule == "gpu" else SIZES:
        xs = random.integers(-20, 20, n, dtype=np.int32)
        if name == "sums":
            xs = np.abs(xs) + 1
        if n <= 3000:
            _same(program.main(xs), oracle.main(xs))
        elif name in KEPT:
            _same(program.main(xs), KEPT[name](xs))


@pytest.mark.device
@pytest.mark.parametrize("n", [300, 100_001])
def test_a_check_of_a_flag_fails(n: int) -> None:
    text = """
entry main [n] (xs: [n]i32) (table: []i32) = filter (\\x -> table[x] > 0) xs"""
    program = minifut.compile(text, schedule="cpu")
    xs = np.arange(n, dtype=np.int32) % 50
    table = np.arange(50, dtype=np.int32) % 2
    np.testing.assert_array_equal(program.main(xs, table), xs[xs % 2 == 1])
    with pytest.raises(minifut.MinifutError, match="Index \\[49\\] out of bounds"):
        program.main(xs, table[:49])
    np.testing.assert_array_equal(program.main(xs, table), xs[xs % 2 == 1])


@pytest.mark.sweep
@pytest.mark.device
@pytest.mark.parametrize("element", ["f32", "f64", "u32", "i64", "u8"])
@pytest.mark.parametrize("compresses", [0, 1, 2])
def test_any_element_is_packed(element: str, compresses: int) -> None:
    text = f"""entry main [n] (xs: [n]{element}) =
      partition (\\(x, _) -> x < {element}.i32 50) (zip xs (iota n))
      |> \\(a, b) -> (unzip a, unzip b)"""
    program = minifut.compile(text, schedule="cpu")
    if "cpu.compresses" in program.tuning:
        program.tuning["cpu.compresses"] = compresses
    type_ = {"f32": "f4", "f64": "f8", "u32": "u4", "i64": "i8", "u8": "u1"}[element]
    for n in (0, 1, 7, 16, 17, 255, 256, 300, 5000):
        xs = np.random.default_rng(n).integers(0, 99, n).astype(type_)
        left, right = np.flatnonzero(xs < 50), np.flatnonzero(xs >= 50)
        wanted = (xs[left], left, xs[right], right)
        given = program.main(xs)
        _same([part for parts in given for part in _tuple(parts)], wanted)


@pytest.mark.device
@pytest.mark.parametrize("compresses", [0, 1, 2])
@pytest.mark.parametrize("n", [3 * COLLECTED + 77, LARGE // 4 + 5])
def test_streams_of_several_chunks(n: int, compresses: int) -> None:
    """Those of the second length are written around the caches, from any place on."""
    text = "entry main (t: f32) (xs: []f32) = partition (< t) xs"
    program = minifut.compile(text, schedule="cpu")
    program.tuning["cpu.compresses"] = compresses
    xs = np.random.default_rng(n).random(n, np.float32)
    for limit in (0, 0.01, 0.5, 1):
        less, others = program.main(limit, xs)
        np.testing.assert_array_equal(less, xs[xs < np.float32(limit)])
        np.testing.assert_array_equal(others, xs[xs >= np.float32(limit)])


def test_what_fills_no_lanes_has_no_memory_for_them() -> None:
    text = "entry main (xs: []{0}) = filter (\\x -> x > {0}.i32 9) xs"
    for element, has_memory in (("f32", True), ("u8", False)):
        program = minifut.compile(text.format(element), schedule="cpu")
        texts = program.kernels.values()
        assert any("packed[" in each for each in texts) == has_memory


@pytest.mark.device
def test_too_many_points_for_32_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    text, _ = PROGRAMS["positions of 32 bits"]
    monkeypatch.setattr(stable_partition, "NARROW_POINTS", 300)
    program = minifut.compile(text, schedule="cpu")
    for n in (300, 301):
        xs = np.random.default_rng(n).integers(-20, 20, n, dtype=np.int32)
        kept = xs[xs > 0]
        wanted = np.concatenate([kept, np.zeros(n - len(kept), np.int32)])
        np.testing.assert_array_equal(program.main(xs), wanted)


def _same(given: object, wanted: object) -> None:
    pairs = zip(_tuple(given), _tuple(wanted), strict=True)
    for a, b in pairs:
        np.testing.assert_array_equal(a, b)


def _tuple(result: object) -> tuple:
    return tuple(result) if isinstance(result, tuple | list) else (result,)


@pytest.mark.device
@pytest.mark.parametrize("prefix", ["", "#undef __BMI2__\n"])
def test_packed_bytes(prefix: str) -> None:
    source = f"""{prefix}{PACK_BYTES}
__kernel void pack(__global const ulong *bits, __global ulong *packed) {{
  size_t i = get_global_id(0);
  packed[i] = minifut_pack_bytes(0x0706050403020100UL, bits[i]);
}}"""
    context = cl.create_some_context(interactive=False)
    queue = cl.CommandQueue(context)
    masks = np.arange(256, dtype=np.uint8)
    flags = np.unpackbits(masks[:, None], axis=1, bitorder="little")
    bits = flags.view(np.uint64).ravel()
    read, both = cl.mem_flags.COPY_HOST_PTR, cl.mem_flags.READ_WRITE
    given = cl.Buffer(context, read | both, hostbuf=bits)
    made = cl.Buffer(context, both, bits.nbytes)
    cl.Program(context, source).build().pack(queue, (256,), None, given, made)
    packed = np.empty_like(bits)
    cl.enqueue_copy(queue, packed, made)
    for flag, row in zip(flags, packed.view(np.uint8).reshape(256, 8), strict=True):
        lanes = np.flatnonzero(flag)
        assert list(row) == [*lanes, *[0] * (8 - len(lanes))]


@pytest.mark.device
@pytest.mark.parametrize("without", ["", "AVX512VL", "AVX2"])
@pytest.mark.parametrize(
    ("lanes", "bits"), [(16, 32), (8, 32), (4, 32), (8, 64), (4, 64)]
)
def test_compressed_lanes(without: str, lanes: int, bits: int) -> None:
    prefix = f"#undef __AVX512VL__\n#undef __{without}__\n" if without else ""
    element = "long" if bits == 64 else "int"
    name, mask = compress(lanes, bits), mask_bits(lanes)
    source = f"""{prefix}{SHUFFLES[name]}{SHUFFLES[mask]}{SHUFFLES["minifut_count"]}
__kernel void pack(__global const int *masks, __global {element} *packed) {{
  size_t i = get_global_id(0);
  ulong bits = {mask}(vload{lanes}(i, masks));
  {element} numbers[{lanes}];
  for (int at = 0; at < {lanes}; at++) numbers[at] = at + 1;
  vstore{lanes}({name}(vload{lanes}(0, numbers), bits), i, packed);
  for (int at = minifut_count(bits); at < {lanes}; at++) packed[i * {lanes} + at] = 0;
}}"""
    context = cl.create_some_context(interactive=False)
    queue = cl.CommandQueue(context)
    flags = np.random.default_rng(3).integers(0, 2, (64, lanes), dtype=np.int32)
    flag = cl.mem_flags
    given = cl.Buffer(context, flag.COPY_HOST_PTR | flag.READ_WRITE, hostbuf=-flags)
    packed = np.zeros((64, lanes), np.int64 if bits == 64 else np.int32)
    made = cl.Buffer(context, flag.READ_WRITE, packed.nbytes)
    cl.Program(context, source).build().pack(queue, (64,), None, given, made)
    cl.enqueue_copy(queue, packed, made)
    for wanted, row in zip(flags, packed, strict=True):
        numbers = [*(np.flatnonzero(wanted) + 1)]
        assert list(row) == [*numbers, *[0] * (lanes - len(numbers))]
