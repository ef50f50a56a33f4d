-- The product of two polynomials: loops whose bounds are clamped sums of the position
entry main [n][m] (a: [n]f64) (b: [m]f64): []f64 =
  tabulate (n + m - 1) (\k ->
    let lo = i64.max 0 (k - m + 1)
    let hi = i64.min (n - 1) k
    in loop s = 0 for i in lo..<hi + 1 do s + a[i] * b[k - i])
