-- The greatest of each 2 x 2 pixels of images with channels
entry main [b][c][h][w] (images: [b][c][h][w]f32): [b][c][h / 2][w / 2]f32 =
  tabulate_2d b c (\i j ->
    tabulate_2d (h / 2) (w / 2) (\y x ->
      f32.maximum (tabulate 4 (\k -> images[i, j, 2 * y + k / 2, 2 * x + k % 2]))))
