"""Small programs in printed IR, with the shapes and bounds of their arguments.

Each has one entry point `main`. An argument is a dtype with a shape of size names, or a
(low, high) range for whole numbers.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

ADD = (
    "\\(a{0}: f32, b{0}: f32) -> (f32) {{ let c{0}: f32 = add_f32(a{0}, b{0}) "
    "return c{0} }}"
)
ADD_INT = (
    "\\(a{0}: i64, b{0}: i64) -> (i64) {{ let c{0}: i64 = add_i64(a{0}, b{0}) "
    "return c{0} }}"
)


@dataclass(frozen=True)
class Example:
    """A program, its size parameters, and its arguments after them."""

    sizes: str
    arguments: tuple[tuple[str, str], ...]
    results: str
    body: str

    def text(self) -> str:
        """The printed IR."""
        names = self.sizes.split()
        leaf = '"" "" "array" 1'
        given = ", ".join([leaf] * len(self.arguments))
        count = self.results.count(":")
        made = ", ".join([leaf] * count)
        sizes = [f"{name}: i64" for name in names]
        parameters = sizes + [f"{name}: {type_}" for name, type_ in self.arguments]
        return (
            f'entry "main" = main sizes {len(names)} ({given}) -> ({made})\n'
            f"fun main({', '.join(parameters)}) -> ({self.results}) "
            f"{{\n{self.body}\n}}\n"
        )

    def values(self, seed: int, largest: int = 7) -> list[object]:
        """Random arguments."""
        random = np.random.default_rng(seed)
        sizes = {name: int(random.integers(0, largest)) for name in self.sizes.split()}
        return [_value(random, type_, sizes) for _, type_ in self.arguments]


def _value(random: np.random.Generator, type_: str, sizes: dict[str, int]) -> object:
    *dimensions, element = type_.replace("*", "").replace("[", "").split("]")
    shape = [sizes[d] if d in sizes else int(d) for d in dimensions]
    dtype = {"f32": np.float32, "i64": np.int64, "i32": np.int32, "bool": bool}[element]
    numbers = random.integers(-3, 9, shape)
    return dtype(numbers) if not shape else numbers.astype(dtype)


EXAMPLES: dict[str, Example] = {
    "saxpy": Example(
        "n",
        (("a", "f32"), ("xs", "[n]f32"), ("ys", "[n]f32")),
        "r0: [n]f32",
        """
  let ps: [n]f32 = map(n, (xs), \\(x: f32) -> (f32) {
    let p: f32 = mul_f32(a, x) return p })
  let r: [n]f32 = map(n, (ps, ys), \\(q: f32, y: f32) -> (f32) {
    let s: f32 = add_f32(q, y) return s })
  return r""",
    ),
    "dot": Example(
        "n",
        (("xs", "[n]f32"), ("ys", "[n]f32")),
        "r0: f32",
        f"""
  let ps: [n]f32 = map(n, (xs, ys), \\(x: f32, y: f32) -> (f32) {{
    let p: f32 = mul_f32(x, y) return p }})
  let r: f32 = redomap(n, (ps), reduce({ADD.format(0)}, (0f32)),
    \\(q: f32) -> (f32) {{q}})
  return r""",
    ),
    "matmul": Example(
        "n m p",
        (("a", "[n][m]f32"), ("b", "[m][p]f32")),
        "r0: [n][p]f32",
        f"""
  let r: [n][p]f32 = map(n, (a), \\(row: [m]f32) -> ([p]f32) {{
    let bt: [p][m]f32 = rearrange((1, 0), b)
    let cs: [p]f32 = map(p, (bt), \\(col: [m]f32) -> (f32) {{
      let ps: [m]f32 = map(m, (row, col), \\(x: f32, y: f32) -> (f32) {{
        let z: f32 = mul_f32(x, y) return z }})
      let s: f32 = redomap(m, (ps), reduce({ADD.format(0)}, (0f32)),
        \\(q: f32) -> (f32) {{q}})
      return s }})
    return cs }})
  return r""",
    ),
    "column_sums": Example(
        "n m",
        (("a", "[n][m]f32"),),
        "r0: [m]f32, r1: [n][m]f32",
        f"""
  let ne: [m]f32 = replicate([m], 0f32)
  let r: [m]f32 = redomap(n, (a), reduce(\\(x: [m]f32, y: [m]f32) -> ([m]f32) {{
    let q: [m]f32 = map(m, (x, y), {ADD.format(0)}) return q }}, (ne)),
    \\(row: [m]f32) -> ([m]f32) {{row}})
  let t: [n][m]f32 = scanomap(n, (a), scan(\\(x1: [m]f32, y1: [m]f32) -> ([m]f32) {{
    let q1: [m]f32 = map(m, (x1, y1), {ADD.format(1)}) return q1 }}, (ne)),
    \\(row1: [m]f32) -> ([m]f32) {{
      let dbl: [m]f32 = map(m, (row1), \\(e: f32) -> (f32) {{
        let ee: f32 = add_f32(e, e) return ee }})
      return dbl }})
  return r, t""",
    ),
    "column_sums_of_unknown_neutral": Example(
        "n m",
        (("a", "[n][m]f32"), ("ne", "[m]f32")),
        "r0: [m]f32",
        f"""
  let r: [m]f32 = redomap(n, (a), reduce(\\(x: [m]f32, y: [m]f32) -> ([m]f32) {{
    let q: [m]f32 = map(m, (x, y), {ADD.format(0)}) return q }}, (ne)),
    \\(row: [m]f32) -> ([m]f32) {{row}})
  return r""",
    ),
    "reduce_by_composition": Example(
        "n",
        (("ps", "[n][2]i64"),),
        "r0: [2]i64",
        """
  let ne: [2]i64 = [1i64, 0i64]: i64
  let r: [2]i64 = redomap(n, (ps), reduce(\\(x: [2]i64, y: [2]i64) -> ([2]i64) {
    let x0: i64 = x[0i64]
    let x1: i64 = x[1i64]
    let y0: i64 = y[0i64]
    let y1: i64 = y[1i64]
    let z0: i64 = mul_i64(x0, y0)
    let w: i64 = mul_i64(x1, y0)
    let z1: i64 = add_i64(w, y1)
    let z: [2]i64 = [z0, z1]: i64
    return z }, (ne)), \\(p: [2]i64) -> ([2]i64) {p})
  return r""",
    ),
    "row_scans_and_histograms": Example(
        "n m",
        (("a", "[n][m]i64"),),
        "r0: [n][m]i64, r1: [n][3]i64, r2: [4]i64",
        f"""
  let s: [n][m]i64 = map(n, (a), \\(row: [m]i64) -> ([m]i64) {{
    let t: [m]i64 = scanomap(m, (row), scan({ADD_INT.format(0)}, (0i64)),
      \\(x: i64) -> (i64) {{x}})
    return t }})
  let h: [n][3]i64 = map(n, (a), \\(row1: [m]i64) -> ([3]i64) {{
    let d: [3]i64 = replicate([3], 5i64)
    let is: [m]i64 = iota i64 (m, 0i64, 1i64)
    let hh: [3]i64 = hist(m, (is, row1), bins([3], (d), (0i64), {ADD_INT.format(1)}),
      \\(i: i64, v: i64) -> (i64, i64) {{ let j: i64 = mod_i64(i, 4i64) return j, v }})
    return hh }})
  let flat: [n * m]i64 = reshape([n * m], a)
  let d1: [4]i64 = replicate([4], 0i64)
  let whole: [4]i64 = hist(n * m, (flat), bins([4], (d1), (0i64), {ADD_INT.format(2)}),
    \\(w: i64) -> (i64, i64) {{w, 1i64}})
  return s, h, whole""",
    ),
    "scatter": Example(
        "n m",
        (("xs", "*[m]i64"), ("is", "[n]i64"), ("vs", "[n]i64"), ("a", "*[n][m]i64")),
        "r0: [m]i64, r1: [n][m]i64",
        """
  let one: [n]i64 = map(n, (vs), \\(v: i64) -> (i64) {
    let w: i64 = add_i64(v, 1i64) return w })
  let same: [n]i64 = map(n, (is), \\(i: i64) -> (i64) { 
    let k: i64 = mul_i64(i, 0i64) return k })
  let r: [m]i64 = scatter(n, (same, vs), (xs rank 1 count 1),
    \\(i1: i64, v1: i64) -> (i64, i64) {
      let p: i64 = mul_i64(i1, 0i64) return i1, p })
  let b: [n][m]i64 = map(n, (a, one), \\(row: [m]i64, o: i64) -> ([m]i64) {
    let js: [m]i64 = iota i64 (m, 0i64, 1i64)
    let row2: [m]i64 = scatter(m, (js), (row rank 1 count 1),
      \\(j: i64) -> (i64, i64) { 
        let jj: i64 = add_i64(j, o)
        return jj, j })
    return row2 })
  return r, b""",
    ),
    "irregular": Example(
        "n",
        (("ks", "[n]i64"), ("xs", "[10]i64")),
        "r0: [n]i64",
        f"""
  let r: [n]i64 = map(n, (ks), \\(k0: i64) -> (i64) {{
    let k: i64 = max_i64(k0, 0i64)
    let is: [k]i64 = iota i64 (k, 0i64, 1i64)
    let sq: [k]i64 = map(k, (is), \\(i: i64) -> (i64) {{
      let v: i64 = xs[i] let s: i64 = mul_i64(v, i) return s }})
    let t: i64 = redomap(k, (sq), reduce({ADD_INT.format(0)}, (0i64)),
      \\(e: i64) -> (i64) {{e}})
    return t }})
  return r""",
    ),
    "imperfect": Example(
        "n m",
        (("a", "[n][m]f32"),),
        "r0: [n][m]f32, r1: [n]f32",
        f"""
  let (r: [n][m]f32, g: [n]f32) = map(n, (a), \\(row: [m]f32) -> ([m]f32, f32) {{
    let t: f32 = redomap(m, (row), reduce({ADD.format(0)}, (0f32)),
      \\(e: f32) -> (f32) {{e}})
    let d: [m]f32 = map(m, (row), \\(x: f32) -> (f32) {{
      let y: f32 = sub_f32(x, t) return y }})
    return d, t }})
  return r, g""",
    ),
    "loops_in_place": Example(
        "n",
        (("xs", "[n]i64"), ("ys", "*[n]i64")),
        "r0: [n]i64, r1: [n]i64, r2: i64",
        """
  let (a: [n]i64, b: [n]i64) = loop (a0: [n]i64 = xs, b0: [n]i64 = ys)
    for i: i64 < n do {
      let u: i64 = a0[i]
      let v: i64 = add_i64(u, i)
      let a1: [n]i64 = a0 with [i] = v
      let w: i64 = b0[0i64]
      let b1: [n]i64 = b0 with [i] = w
      return b1, a1 }
  let (k: i64, s: i64) = loop (k0: i64 = 0i64, s0: i64 = 0i64) for j: i64 < n do {
      let x: i64 = xs[j]
      let s1: i64 = add_i64(s0, x)
      return k0, s1 }
  return a, b, s""",
    ),
    "updates_of_shared_arrays": Example(
        "n",
        (("xs", "[n]i64"), ("c", "bool")),
        "r0: [4]i64, r1: [4]i64, r2: [4]i64, r3: [4]i64",
        """
  let a: [4]i64 = replicate([4], 1i64)
  let b: [4]i64 = a with [0i64] = 2i64
  let v: [2]i64 = b[1i64 :+ 2 by 1i64]
  let d: [4]i64 = b with [1i64] = 3i64
  let e: [4]i64 = d with [0i64 :+ 2 by 1i64] = v
  let f: [4]i64 = if c then {
      let g: [4]i64 = e with [3i64] = 9i64
      return g } else {a}
  let h: [4]i64 = f with [2i64] = 7i64
  let k: [4]i64 = e with [0i64] = 8i64
  return a, h, k, e""",
    ),
    "existential": Example(
        "n",
        (("xs", "[n]i64"), ("c", "bool")),
        "q: i64, r0: [q]i64",
        """
  let (k: i64, ys: [k]i64) = if c then {
      let m: i64 = add_i64(n, 1i64)
      let zs: [m]i64 = replicate([m], 4i64)
      return m, zs } else {n, xs}
  let r: [k]i64 = map(k, (ys), \\(y: i64) -> (i64) {
    let z: i64 = add_i64(y, 1i64) return z })
  return k, r""",
    ),
    "checked": Example(
        "n m",
        (("a", "[n][m]i64"), ("is", "[n]i64"), ("k", "i64")),
        "r0: [n][m]i64",
        """
  let r: [n][m]i64 = map(n, (a, is), \\(row: [m]i64, i: i64) -> ([m]i64) {
    let big: bool = lt_i64(k, 7i64)
    let () = assert(big, ["k is ", k], ["here:1:1"])
    let small: bool = lt_i64(i, 6i64)
    let () = assert(small, ["i is ", i], ["here:2:1"])
    let t: [m]i64 = map(m, (row), \\(x: i64) -> (i64) {
      let y: i64 = add_i64(x, i)
      let z: i64 = add_i64(y, k)
      return z })
    return t })
  return r""",
    ),
    "several_consumers": Example(
        "n",
        (("xs", "[n]i64"),),
        "r0: i64, r1: i64, r2: [n]i64, r3: [n]i64",
        f"""
  let ys: [n]i64 = map(n, (xs), \\(x: i64) -> (i64) {{
    let y: i64 = mul_i64(x, x) return y }})
  let s: i64 = redomap(n, (ys), reduce({ADD_INT.format(0)}, (0i64)),
    \\(e: i64) -> (i64) {{e}})
  let t: i64 = redomap(n, (xs), reduce({ADD_INT.format(1)}, (0i64)),
    \\(e1: i64) -> (i64) {{e1}})
  let zs: [n]i64 = map(n, (ys), \\(e2: i64) -> (i64) {{
    let z: i64 = add_i64(e2, s) return z }})
  return s, t, ys, zs""",
    ),
    "transposed_rows": Example(
        "n m",
        (("a", "[n][m]f32"),),
        "r0: [m][n]f32",
        """
  let t: [m][n]f32 = rearrange((1, 0), a)
  let r: [m][n]f32 = map(m, (t), \\(col: [n]f32) -> ([n]f32) {
    let q: [n]f32 = map(n, (col), \\(x: f32) -> (f32) {
      let y: f32 = add_f32(x, 1f32) return y })
    return q })
  let u: [m][n]f32 = map(m, (r), \\(row: [n]f32) -> ([n]f32) {
    let q1: [n]f32 = map(n, (row), \\(x1: f32) -> (f32) {
      let y1: f32 = mul_f32(x1, 2f32) return y1 })
    return q1 })
  return u""",
    ),
}
