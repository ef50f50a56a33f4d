-- An image under an affine map, by the four elements around each place; 0 outside.
entry main [n] [k] (image: [n][k]f32) (m: [6]f32) : [n][k]f32 =
  let at i j = if i >= 0 && i < n && j >= 0 && j < k then image[i, j] else 0
  in tabulate_2d n k (\i j ->
       let y = m[0] * f32.i64 i + m[1] * f32.i64 j + m[2]
       let x = m[3] * f32.i64 i + m[4] * f32.i64 j + m[5]
       let a = i64.f32 (f32.floor y)
       let b = i64.f32 (f32.floor x)
       let u = y - f32.i64 a
       let v = x - f32.i64 b
       in (1 - u) * ((1 - v) * at a b + v * at a (b + 1))
          + u * ((1 - v) * at (a + 1) b + v * at (a + 1) (b + 1)))
