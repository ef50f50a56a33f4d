-- Folds of flattened ranges, transposed arrays and rows; all have versions in threads.
-- ==
-- random input { [3][9][8]f32 [2][3][2][3]f32 } auto output
-- random input { [2][12][40]f32 [5][2][3][3]f32 } auto output

def argmax [n] (xs: [n]f32): (f32, i64) =
  let better (a, i) (b, j) = if a > b || (a == b && i < j) then (a, i) else (b, j)
  in reduce_comm better (f32.lowest, n) (zip xs (iota n))

def main [c] [h] [w] [o] [kh] [kw] (x: [c][h][w]f32) (k: [o][c][kh][kw]f32) =
  let (oh, ow) = (h - kh + 1, w - kw + 1)
  let convolved =
    map (\filter ->
      tabulate_2d oh ow (\i j ->
        f32.sum (flatten_3d (map2 (map2 (map2 (*))) filter (x[:, i:i+kh, j:j+kw] :> [c][kh][kw]f32)))))
      k
  let columns = map (\p -> map (\j -> f32.maximum (flatten (transpose p)[j:j+1, 1:])) (iota w)) x
  let peaks = map (\p -> tabulate oh (\i -> argmax (flatten p[i:i+kh, 1:w-1]))) x
  let scanned = map (\p -> tabulate oh (\i -> (scan (+) 0 (flatten p[i:i+2, 1:3]))[3])) x
  in (convolved, columns, map (map (.0)) peaks, map (map (.1)) peaks, scanned)
