-- Folds of flattened ranges and of transposed arrays; all have versions in threads.
-- ==
-- random input { [2][5][6]f32 [2][2][2][3]f32 } auto output
-- random input { [1][6][36]f32 [2][1][3][3]f32 } auto output

def main [c] [h] [w] [o] [kh] [kw] (x: [c][h][w]f32) (k: [o][c][kh][kw]f32) =
  let (oh, ow) = (h - kh + 1, w - kw + 1)
  let convolved =
    map (\filter ->
      tabulate_2d oh ow (\i j ->
        f32.sum (flatten_3d (map2 (map2 (map2 (*))) filter (x[:, i:i+kh, j:j+kw] :> [c][kh][kw]f32)))))
      k
  let columns = map (\p -> map (\j -> f32.maximum (flatten (transpose p)[j:j+1, 1:])) (iota w)) x
  in (convolved, columns)
