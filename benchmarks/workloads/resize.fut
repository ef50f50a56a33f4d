-- An image in another size, by bilinear interpolation at positions that are clamped.
def clamp (low: f64) (high: f64) (x: f64): f64 = f64.max low (f64.min high x)

entry main [h] [w] (image: [h][w]f32) (n: i64) (m: i64): [n][m]f32 =
  let place (size: i64) (new: i64) (i: i64) =
    let last = f64.i64 (size - 1)
    let x = clamp 0 last ((f64.i64 i + 0.5) * f64.i64 size / f64.i64 new - 0.5)
    let a = i64.f64 x
    in (a, i64.min (a + 1) (size - 1), f32.f64 (x - f64.i64 a))
  in tabulate_2d n m (\i j ->
    let (a, b, u) = place h n i
    let (c, d, v) = place w m j
    in (image[a, c] * (1 - v) + image[a, d] * v) * (1 - u)
       + (image[b, c] * (1 - v) + image[b, d] * v) * u)
