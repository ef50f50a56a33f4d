-- Writes out of bounds are ignored; a map before either is fused into it.
-- ==
-- input { [0i64, 2i64, 9i64, -1i64, 2i64] [1i32, 2i32, 3i32, 4i32, 5i32] }
-- output { [10i32, 0i32, 50i32] [1i32, 0i32, 7i32] }

def main [n] (is: [n]i64) (vs: [n]i32): ([3]i32, [3]i32) =
  let once = map2 (\i v -> if i == 2 then 50 else v * 10) is vs
  in ( scatter (replicate 3 0) is once
     , reduce_by_index (replicate 3 0) (+) 0 is vs
     )
