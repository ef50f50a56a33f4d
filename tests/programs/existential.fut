-- Sizes known only when the program runs.
-- ==
-- input { [5i32, -1i32, 7i32, 0i32] true }
-- output { [6i32, 8i32] 4i64 }

def main [n] (xs: [n]i32) (positive: bool): ([]i32, i64) =
  let kept = if positive then filter (> 0) xs else xs
  let grown = loop ys = [0i64] for _i < 2 do ys ++ ys
  in (map (+ 1) kept, length grown)
