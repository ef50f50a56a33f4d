-- Grains topple to four neighbours until no pile has four
entry main [h][w] (grains: [h][w]i32): [h][w]i32 =
  let falls (g: [h][w]i32) i j = if i < 0 || i >= h || j < 0 || j >= w then 0 else g[i, j] / 4
  in loop g = grains while any (any (>= 4)) g do
       tabulate_2d h w (\i j ->
         g[i, j] % 4 + falls g (i - 1) j + falls g (i + 1) j + falls g i (j - 1) + falls g i (j + 1))
