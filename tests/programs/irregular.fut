-- Inner sizes that differ: sequential inside each thread.
-- ==
-- input { [0i64, 1i64, 4i64, 2i64] }
-- output { [0i64, 0i64, 14i64, 1i64] }

def main (ks: []i64): []i64 =
  map (\k -> reduce (+) 0 (map (\i -> i * i) (iota k))) ks

-- No row is made where there are none: a size is negative then, and nothing fails.
-- ==
-- entry: no_rows
-- input { [-1i64, 2i64] } output { [0i64, 9i64] }
-- input { [-2i64] } error: Range 0\.\.1\.\.<-1
entry no_rows (ks: []i64): []i64 =
  map (\k -> let rows = opaque (map (\i -> map (+ i) (iota k)) (iota (k + 1)))
             in i64.sum (map i64.sum rows)) ks
