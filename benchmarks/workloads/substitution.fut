-- A lower triangular system for many right-hand sides, row by row.
entry main [n] [m] (lower: [n][n]f64) (given: [n][m]f64): [n][m]f64 =
  loop x = copy given for i < n do
    let known j = f64.sum (map (\k -> lower[i, k] * x[k, j]) (iota i))
    let row = tabulate m (\j -> (given[i, j] - known j) / lower[i, i])
    in x with [i] = row
