-- A causal filter: earlier elements only, by a condition in the sum
entry main [t][n] (taps: [t]f32) (xs: [n]f32): [n]f32 =
  tabulate n (\i ->
    f32.sum (map2 (\c j -> if i >= j then c * xs[i - j] else 0) taps (iota t)))
