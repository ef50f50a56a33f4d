-- Sums and prefix sums of rows, and of columns by an operator on rows.
-- ==
-- input { [[1i64, 2i64, 3i64], [4i64, 5i64, 6i64]] }
-- output { [6i64, 15i64] [[1i64, 3i64, 6i64], [4i64, 9i64, 15i64]] [5i64, 7i64, 9i64] }

def main [n] [m] (a: [n][m]i64): ([n]i64, [n][m]i64, [m]i64) =
  ( map (reduce (+) 0) a
  , map (scan (+) 0) a
  , reduce (map2 (+)) (replicate m 0) a
  )
