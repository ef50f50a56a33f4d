-- How many of the points are in each cell of a grid.
entry main [n] (xs: [n]f32) (ys: [n]f32): [64][64]i32 =
  let bin v = i64.max 0 (i64.min 63 (i64.f32 (v * 64)))
  in reduce_by_index_2d (replicate 64 (replicate 64 0)) (+) 0i32 (map2 (\x y -> (bin x, bin y)) xs ys) (replicate n 1)
