-- Kronecker product by positions in the result
entry main [a][b][c][d] (xs: [a][b]f64) (ys: [c][d]f64): [a * c][b * d]f64 =
  tabulate_2d (a * c) (b * d) (\i j -> xs[i / c, j / d] * ys[i % c, j % d])
