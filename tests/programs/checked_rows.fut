-- An index that may be out of bounds, found for each row, also if rows are empty.
-- ==
-- input { [[1i32, 2i32], [3i32, 4i32]] [10i32, 20i32] [1i64, 0i64] }
-- output { [[21i32, 22i32], [13i32, 14i32]] }
-- input { [[1i32, 2i32], [3i32, 4i32]] [10i32, 20i32] [1i64, 7i64] }
-- error: out of bounds
-- input { empty([2][0]i32) [10i32, 20i32] [1i64, 7i64] }
-- error: out of bounds

def main [n] [m] [k] (a: [n][m]i32) (xs: [k]i32) (is: [n]i64): [n][m]i32 =
  map2 (\row i -> map (+ xs[i]) row) a is
