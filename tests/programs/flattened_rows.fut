-- Folds and scans of flattened rows, in threads and parallel.
-- ==
-- random input { 2i64 [2][5][6]f32 } auto output
-- random input { 3i64 [1][6][36]f32 } auto output

def argmax [n] (xs: [n]f32): (f32, i64) =
  let better (a, i) (b, j) = if a > b || (a == b && i < j) then (a, i) else (b, j)
  in reduce_comm better (f32.lowest, n) (zip xs (iota n))

def main [c] [h] [w] (kh: i64) (x: [c][h][w]f32) =
  let oh = h - kh + 1
  let peaks = map (\p -> tabulate oh (\i -> argmax (flatten p[i:i+kh, 1:w-1]))) x
  let scanned = map (\p -> tabulate oh (\i -> (scan (+) 0 (flatten p[i:i+2, 1:3]))[3])) x
  let bins p = hist (+) 0i32 4 (map (\v -> i64.f32 v % 4) (flatten p)) (flatten (map (map i32.f32) p))
  let channels = map bins (transpose x)
  in (map (map (.0)) peaks, map (map (.1)) peaks, scanned, channels)
