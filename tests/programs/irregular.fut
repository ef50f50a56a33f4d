-- Inner sizes that differ: sequential inside each thread.
-- ==
-- input { [0i64, 1i64, 4i64, 2i64] }
-- output { [0i64, 0i64, 14i64, 1i64] }

def main (ks: []i64): []i64 =
  map (\k -> reduce (+) 0 (map (\i -> i * i) (iota k))) ks
