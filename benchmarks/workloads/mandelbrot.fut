-- Escape times of a grid of points
entry main (n: i64) (limit: i32): [n][n]i32 =
  let step (x: f32, y: f32) (cx: f32, cy: f32) = (x * x - y * y + cx, 2 * x * y + cy)
  in tabulate_2d n n (\i j ->
       let c = (3 * f32.i64 j / f32.i64 n - 2.25, 3 * f32.i64 i / f32.i64 n - 1.5)
       let (_, count) =
         loop (z, k) = ((0, 0), 0) while k < limit && z.0 * z.0 + z.1 * z.1 <= 4 do
           (step z c, k + 1)
       in count)
