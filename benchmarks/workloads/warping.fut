-- The cost of warping each of many series to one.
entry main [m][n] (ref: [n]f32) (series: [m][n]f32): [m]f32 =
  map (\s ->
    let row0 = replicate (n + 1) f32.inf with [0] = 0
    let last =
      loop prev = row0 for i < n do
        let cur = replicate (n + 1) f32.inf
        in loop cur for j < n do
             let c = f32.abs (s[i] - ref[j])
             let cur[j+1] = c + f32.min prev[j] (f32.min prev[j+1] cur[j])
             in cur
    in last[n]) series
