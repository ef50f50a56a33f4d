-- Folds of windows, as slices and by indices.

-- ==
-- entry: by_indices by_slices
-- random input { [600][600]f32 [7][7]f32 }

-- ==
-- entry: flattened
-- random input { [600][600]f32 [3][3]f32 }

-- ==
-- entry: in_space
-- random input { [40][60][60]f32 [3][3][3]f32 }

-- ==
-- entry: moving_sums moving_deviations
-- random input { [200000]f32 32i64 }
-- random input { [200000]f32 200i64 }

-- ==
-- entry: pooled
-- random input { [1024][1024]f32 2i64 }
-- random input { [1024][1024]f32 16i64 }

entry by_indices [n] [m] [k] (xs: [n][m]f32) (weights: [k][k]f32) =
  tabulate_2d (n - k) (m - k) (\i j ->
    f32.sum (tabulate k (\a -> f32.sum (tabulate k (\b ->
      weights[a, b] * xs[i + a, j + b])))))

entry by_slices [n] [m] [k] (xs: [n][m]f32) (weights: [k][k]f32) =
  tabulate_2d (n - k) (m - k) (\i j ->
    let window = xs[i:i + k, j:j + k] :> [k][k]f32
    in f32.sum (map2 (\ws xs -> f32.sum (map2 (*) ws xs)) weights window))

entry flattened [n] [m] [k] (xs: [n][m]f32) (weights: [k][k]f32) =
  tabulate_2d (n - k) (m - k) (\i j ->
    let window = xs[i:i + k, j:j + k] :> [k][k]f32
    in f32.sum (map2 (*) (flatten weights) (flatten window)))

entry in_space [l] [n] [m] [k] (xs: [l][n][m]f32) (weights: [k][k][k]f32) =
  tabulate_3d (l - k) (n - k) (m - k) (\h i j ->
    f32.sum (map f32.sum (map (map f32.sum) (tabulate_3d k k k (\a b c ->
      weights[a, b, c] * xs[h + a, i + b, j + c])))))

entry moving_sums [n] (xs: [n]f32) (width: i64) =
  tabulate (n - width) (\i -> f32.sum xs[i:i + width])

entry moving_deviations [n] (xs: [n]f32) (width: i64) =
  tabulate (n - width) (\i ->
    let window = take width (drop i xs)
    let mean = f32.sum window / f32.i64 width
    in f32.sqrt (f32.sum (map (\x -> (x - mean) ** 2) window)))

entry pooled [n] [m] (xs: [n][m]f32) (k: i64) =
  tabulate_2d (n / k) (m / k) (\i j ->
    f32.maximum (map f32.maximum (tabulate_2d k k (\a b -> xs[i * k + a, j * k + b]))))
