-- Windows padded by zeros or by the nearest element; the sums offer versions.
-- ==
-- input { [[1f32, 2f32, 3f32], [4f32, 5f32, 6f32]] } auto output
-- random input { [50][41]f32 } auto output

def main [h] [w] (img: [h][w]f32): ([h][w]f32, [h][w]f32) =
  let padded =
    tabulate_2d h w (\i j ->
      let at y x = if y >= 0 && y < h && x >= 0 && x < w then img[y, x] else 0
      in f32.sum (map (\dy -> f32.sum (map (\dx -> at (i + dy - 1) (j + dx - 1)) (iota 3)))
                      (iota 3)))
  let nearest =
    tabulate_2d h w (\i j ->
      img[i64.max 0 (i - 1), j] + img[i64.min (h - 1) (i + 2), i64.max 0 (j - 2)])
  in (padded, nearest)
