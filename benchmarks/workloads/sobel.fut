-- Gradient magnitudes of an image whose borders are mirrored
entry main [h] [w] (image: [h][w]u8): [h][w]u8 =
  let mirrored i n = if i < 0 then -i - 1 else if i >= n then 2 * n - i - 1 else i
  let at i j = i32.u8 image[mirrored i h, mirrored j w]
  in tabulate_2d h w (\i j ->
       let gx = at (i - 1) (j + 1) + 2 * at i (j + 1) + at (i + 1) (j + 1)
                - at (i - 1) (j - 1) - 2 * at i (j - 1) - at (i + 1) (j - 1)
       let gy = at (i + 1) (j - 1) + 2 * at (i + 1) j + at (i + 1) (j + 1)
                - at (i - 1) (j - 1) - 2 * at (i - 1) j - at (i - 1) (j + 1)
       in u8.i32 (i32.min 255 (i32.f32 (f32.sqrt (f32.i32 (gx * gx + gy * gy))))))
