-- Power iteration: the norm of each step is needed by the next.
entry main [n] (steps: i64) (a: [n][n]f32): [n]f32 =
  loop v = replicate n 1 for _i < steps do
    let w = map (\row -> f32.sum (map2 (*) row v)) a
    let norm = f32.sqrt (f32.sum (map (\x -> x * x) w))
    in map (/ norm) w
