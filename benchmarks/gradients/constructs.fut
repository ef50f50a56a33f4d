-- One construct each: what its rule of differentiation costs.

def squares [n] (xs: [n]f64): f64 = f64.sum (map (\x -> x * x) xs)

entry sum [n] (xs: [n]f64): f64 = reduce (+) 0 (map f64.sin xs)

entry minimum [n] (xs: [n]f64): f64 = reduce f64.min f64.inf xs

entry product [n] (xs: [n]f64): f64 = reduce (*) 1 xs

entry prefix_sums [n] (xs: [n]f64): f64 = squares (scan (+) 0 xs)

entry histogram [n] (bins: i64) (is: [n]i64) (xs: [n]f64): f64 =
  squares (reduce_by_index (replicate bins 0) (+) 0 is xs)

-- 100 steps of diffusion on a square with zeros around it.
entry stencil [n] [m] (grid: [n][m]f64): f64 =
  let at (g: [n][m]f64) i j = if i < 0 || i >= n || j < 0 || j >= m then 0 else g[i, j]
  let step g =
    tabulate_2d n m (\i j -> 0.6 * at g i j + 0.1 * (at g (i - 1) j + at g (i + 1) j
                                                     + at g i (j - 1) + at g i (j + 1)))
  let last = loop g = grid for _i < 100 do step g
  in squares (flatten last)

entry multiply [n] [m] [p] (a: [n][m]f64) (b: [m][p]f64): [n][p]f64 =
  map (\row -> map (\column -> f64.sum (map2 (*) row column)) (transpose b)) a

entry matmul [n] [m] [p] (a: [n][m]f64) (b: [m][p]f64): f64 =
  squares (flatten (multiply a b))

-- A sparse matrix times a vector: rows are segments of `values`, which end at `ends`.
entry spmv [nonzero] [rows] [m] (values: [nonzero]f64) (columns: [nonzero]i64)
    (starts: [nonzero]bool) (ends: [rows]i64) (x: [m]f64): f64 =
  let products = map2 (\v c -> v * x[c]) values columns
  let add (v, f) (w, g) = (if g then w else v + w, f || g)
  let (sums, _) = unzip (scan add (0, false) (zip products starts))
  in squares (map (\e -> sums[e]) ends)
