-- The mean distance of points from an offset: many points, and three sums.
entry distances [n] (offset: [3]f32) (points: [n][3]f32): f32 =
  let distance p = f32.sqrt (1e-8 + f32.sum (map2 (\x y -> (x - y) * (x - y)) p offset))
  in f32.sum (map distance points) / f32.i64 n
