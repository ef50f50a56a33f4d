-- Matrix multiplication, as the specification has it.
-- ==
-- input { [[1f32, 2f32], [3f32, 4f32]] [[5f32, 6f32], [7f32, 8f32]] }
-- output { [[19f32, 22f32], [43f32, 50f32]] }

entry main [n] [m] [k] (a: [n][k]f32) (b: [k][m]f32): [n][m]f32 =
  map (\row -> map (\column -> reduce (+) 0 (map2 (*) row column)) (transpose b)) a
