-- moving median of five samples, the ends repeated
entry main [n] (xs: [n]f32): [n]f32 =
  tabulate n (\i ->
    let window = tabulate 5 (\k -> xs[i64.min (n - 1) (i64.max 0 (i + k - 2))])
    let sorted =
      loop a = window for i < 4 do
        loop a for j < 4 - i do
          if a[j] > a[j + 1]
          then let t = copy a[j]
               in (a with [j] = a[j + 1]) with [j + 1] = t
          else a
    in sorted[2])
