-- A separable filter, clamped at the edges.
def clamp n i = i64.max 0 (i64.min (n - 1) i)
entry main [h][w][k] (kern: [k]f32) (img: [h][w]f32): [h][w]f32 =
  let r = k / 2
  let rows = tabulate_2d h w (\i j -> f32.sum (tabulate k (\t -> kern[t] * img[i, clamp w (j + t - r)])))
  in tabulate_2d h w (\i j -> f32.sum (tabulate k (\t -> kern[t] * rows[clamp h (i + t - r), j])))
