-- The least cost of a path from the top to each element, row after row.
entry main [h][w] (energy: [h][w]f32): [h][w]f32 =
  let out = copy energy
  in loop out for i in 1..<h do
    let above = copy out[i-1]
    let at j = if j < 0 || j >= w then f32.inf else above[j]
    in out with [i] = tabulate w (\j -> energy[i, j] + f32.min (at (j-1)) (f32.min above[j] (at (j+1))))
