-- means of squares of a radius, which end at the edges, by sums over rectangles
entry main [n][m] (radius: i64) (image: [n][m]f32): [n][m]f32 =
  let rows = map (scan (+) 0) (map (map f64.f32) image)
  let sums = transpose (map (scan (+) 0) (transpose rows))
  let sum i j = if i == 0 || j == 0 then 0 else sums[i - 1, j - 1]
  in tabulate_2d n m (\i j ->
       let (i0, i1) = (i64.max 0 (i - radius), i64.min n (i + radius + 1))
       let (j0, j1) = (i64.max 0 (j - radius), i64.min m (j + radius + 1))
       let total = sum i1 j1 - sum i0 j1 - sum i1 j0 + sum i0 j0
       in f32.f64 (total / f64.i64 ((i1 - i0) * (j1 - j0))))
