entry main [n] (steps: i32) (u: [n][n][n]f64): [n][n][n]f64 =
  loop u for _i < steps do
    tabulate_3d n n n (\i j k ->
      if i == 0 || i == n - 1 || j == 0 || j == n - 1 || k == 0 || k == n - 1 then u[i, j, k]
      else u[i, j, k] + 0.1 * (u[i - 1, j, k] + u[i + 1, j, k] + u[i, j - 1, k] + u[i, j + 1, k]
                               + u[i, j, k - 1] + u[i, j, k + 1] - 6 * u[i, j, k]))
