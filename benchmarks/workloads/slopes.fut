-- Slopes of a height field that is reflected at its ends
entry main [h] [w] (heights: [h][w]f32): [h][w]f32 =
  let reflected i n = let k = i64.abs i in if k >= n then 2 * n - 2 - k else k
  let at i j = heights[reflected i h, reflected j w]
  in tabulate_2d h w (\i j ->
       let dx = at (i - 1) (j + 1) + 2 * at i (j + 1) + at (i + 1) (j + 1)
                - at (i - 1) (j - 1) - 2 * at i (j - 1) - at (i + 1) (j - 1)
       let dy = at (i + 1) (j - 1) + 2 * at (i + 1) j + at (i + 1) (j + 1)
                - at (i - 1) (j - 1) - 2 * at (i - 1) j - at (i - 1) (j + 1)
       in f32.sqrt (dx * dx + dy * dy))
