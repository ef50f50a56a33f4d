-- Reductions and scans whose functions are parallel themselves, of scalars and of rows.
-- ==
-- entry: most
-- random input { [7][30]i64 } auto output
-- input { [[1i64], [2i64]] } auto output

entry most [n] [m] (xss: [n][m]i64) =
  i64.maximum (map (\xs -> i64.sum (map (% 10) xs)) xss)

-- ==
-- entry: running
-- random input { [7][30]i64 } auto output

entry running [n] [m] (xss: [n][m]i64) =
  scan (+) 0 (map (\xs -> reduce i64.max 0 (map (% 100) xs)) xss)

-- ==
-- entry: rows
-- random input { [5][40]i32 } auto output

entry rows [n] [m] (xss: [n][m]i32) =
  scan (map2 (+)) (replicate m 0) (map (scan (+) 0) xss)

-- ==
-- entry: columns
-- random input { [5][40]i32 } auto output

entry columns [n] [m] (xss: [n][m]i32) =
  reduce (map2 (+)) (replicate m 0) (map (scan (+) 0) xss)

-- ==
-- entry: nested
-- random input { [3][4][33]i64 } auto output

entry nested [k] [n] [m] (xsss: [k][n][m]i64) =
  map (\xss -> i64.minimum (map (\xs -> i64.sum (scan (+) 0 (map (% 7) xs))) xss)) xsss

-- ==
-- entry: irregular
-- input { [3i64, 0i64, 5i64] } auto output

entry irregular [n] (ks: [n]i64) =
  i64.sum (map (\k -> i64.sum (map (* 2) (iota k))) ks)
