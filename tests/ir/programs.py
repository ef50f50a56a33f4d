"""One printed program with every construct, for tests of printer, parser, traversal."""

SOACS_TEXT = """
entry "main" = main sizes 1 ("xs" "[]f32" "array" 1 unique, "r" "{a: i32}" "record" 1 ("a" "i32" "array" 1)) -> ("" "[]f32" "array" 1) attribute "blocked"

constants {
  let c: i32 = add_i32(1i32, -2i32)
}

fun main (n: i64, xs: *[n]f32, a: i32) -> (k: i64, r: [k]f32) {
  let (k_1: i64, ys: [k_1]f32) = if true then {n, xs} else {
    let zs: [n + 1]f32 = scratch(f32, [n + 1])
    let t: i64 = size(n + 1)
    return t, zs
  }
  let zz: [n]f32 = map(n, (xs), \\(x: f32) -> (f32) {
    let y: f32 = mul_f32(x, 2.5e-05f32)
    return y
  })
  let s: f32 = redomap(n, (xs),
    reduce commutative(\\(x_1: f32, x_2: f32) -> (f32) {
      let y_1: f32 = add_f32(x_1, x_2)
      return y_1
    }, (0.0f32)),
    \\(x_3: f32) -> (f32) {x_3})
  let (sc: [n]f32, su: f32, sm: [n]f32) = screma(n, (xs),
    scan(\\(p: f32, p_1: f32) -> (f32) {p}, (0.0f32)), reduce(\\(p_2: f32, p_3: f32) -> (f32) {p_2}, (s)),
    \\(x_4: f32) -> (f32, f32, f32) {x_4, x_4, s})
  let sn: [n]f32 = scanomap(n, (xs), scan(\\(p_4: f32, p_5: f32) -> (f32) {p_5}, (0.0f32)), \\(x_5: f32) -> (f32) {x_5})
  #[sequential] #[unroll] let w: [2][n]f32 = [xs, xs]: [n]f32
  let () = assert(true, ["bad \\"x\\" ", k_1, "."], ["a.fut:1:2", "b.fut:3:4"])
  let q: [2 * n]f32 = concat(0, 2 * n, xs, xs)
  let e: f32 = q[3i64]
  let sl: [n]f32 = q[0i64 :+ n by 2i64]
  let row: [n]f32 = w[1i64]
  let up: [n]f32 = xs with [3i64] = f32.nan
  let i: [n]i64 = iota i64 (n, 0i64, -1i64)
  let l: f32 = loop (acc: f32 = -f32.inf) for j: i32 < 10i32 do {acc}
  let (l_1: bool, l_2: [n]f32) = loop (acc_1: bool = true, z: *[n]f32 = xs) while acc_1 do {false, z}
  let mm: i32 = match (a, true) case (1i32, _) {1i32} case (_, false) {c} default {a}
  let (ap: i64, aq: [ap]f32) = apply main(n, xs, a)
  let ht: [n]f32 = hist(n, (i, xs), bins([n], (xs), (0.0f32), \\(h: f32, h_1: f32) -> (f32) {h}), \\(v: i64, u: f32) -> (i64, f32) {v, u})
  let sx: [n]f32 = scatter(n, (i, xs), (xs rank 1 count 1), \\(v_1: i64, u_1: f32) -> (i64, f32) {v_1, u_1})
  let rr: [n][2]f32 = rearrange((1, 0), w)
  let rs: [2 * n]f32 = reshape([2 * n], w)
  let mf: [2][n]f32 = manifest((1, 0), w)
  let rep: [n][2]i32 = replicate([n][2], a)
  let tr: i32 = trace("a", a)
  let op: i32 = opaque(a)
  let cp: i32 = a
  let cv: f64 = convert_i32_f64(a)
  let (wa: [n]f32, wb: [n]f32, wm: [n]f32) = with_acc((acc([n], (xs), (0.0f32), \\(o: f32, o_1: f32) -> (f32) {
    let o_2: f32 = add_f32(o, o_1)
    return o_2
  }), acc([n], (zz))), \\(r_1: acc r_1 [n] (f32), r_2: acc r_2 [n] (f32)) -> (acc r_1 [n] (f32), acc r_2 [n] (f32), [n]f32) {
    let (r_3: acc r_1 [n] (f32), mx: [n]f32) = map(n, (r_1, xs, i), \\(r_4: acc r_1 [n] (f32), x_6: f32, i_1: i64) -> (acc r_1 [n] (f32), f32) {
      let r_5: acc r_1 [n] (f32) = update_acc(r_4, (i_1), (x_6))
      return r_5, x_6
    })
    return r_3, r_2, mx
  })
  let none: [0]i64 = []: i64
  let sz: i64 = size(ceil_div(n, 16) + floor_div(n, 3) * max(1, n) - min(4, n * n) - 2)
  return k_1, ys
}

fun nothing () -> () {}
"""

KERNELS_TEXT = """
fun main (n: i64, xs: [n]f32, is: [n]i64, hs: [3]f32) -> () {
  let g: [n][n]f32 = segmap grid (i < n, j < n) -> (f32) {
    let b: f32 = xs[i]
    let m: [n]f32 = map(n, (xs), \\(x: f32) -> (f32) {x})
    let t: [n]f32 = segmap thread (l < n) -> (f32) { return returns b }
    return returns b
  }
  let (wr: [n]f32, ti: [n]f32, re: [n]f32) = segmap grid (i_1 < ceil_div(n, 16)) -> (f32, f32, f32) {
    let tile_1: [16]f32 = segmap group (l_1 < 16) -> (f32) { return returns 1.0f32 }
    let tile_2: [8][2]f32 = reshape([8][2], tile_1)
    return writes xs [n] with ((i_1) = 1.0f32, (0i64) = 2.0f32), tile tile_1 of (n by 16), regtile tile_2 of (n by 8 by 2)
  }
  let gr: f32 = segred grid (i_2 < n) operator commutative(\\(x_1: f32, x_2: f32) -> (f32) {x_1}, (0.0f32), []) -> (f32) { return returns 1.0f32 }
  let gs: [n][n]f32 = segscan grid (i_3 < n, j_1 < n) operator(\\(x_3: f32, x_4: f32) -> (f32) {x_4}, (0.0f32), []) -> (f32) { return returns 1.0f32 }
  let gv: [4]f32 = segred grid (i_4 < n) operator(\\(x_5: f32, x_6: f32) -> (f32) {x_5}, (0.0f32), [4]) -> ([4]f32) {
    let r: [4]f32 = replicate([4], 1.0f32)
    return returns r
  }
  let sh: [3]f32 = seghist grid (i_5 < n) bins([3], (hs), (0.0f32), \\(x_7: f32, x_8: f32) -> (f32) {x_7}, []) -> (i64, f32) {
    return returns i_5, returns 1.0f32
  }
  let p: i64 = get_parameter("main.tile" "tile_size" ("cpu" = 4, "gpu" = 16) bounds 1 64 guards "v")
  let al: bool = at_least(n * n, "t" "threshold" ())
  return
}
"""
