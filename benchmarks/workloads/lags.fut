-- The autocorrelation of a series at all lags: sums of as many products as are left
entry main [n] (xs: [n]f64): [n]f64 =
  tabulate n (\k -> f64.sum (map2 (*) xs[:n - k] (xs[k:] :> [n - k]f64)))
