-- Rows of a length that is computed in each, and cast to one that is known.
-- ==
-- input { 4i64 [1, 2] } output { [[0, 1, 2, 3], [0, 2, 4, 6]] [[[0, 1], [2, 3]], [[0, 2], [4, 6]]] }
-- input { 3i64 [1] } error: cannot match

def main [n] (k: i64) (steps: [n]i32) =
  let row s = (0..s..<s * i32.i64 k) :> [k]i32
  let halves s = let m = length (0..s..<s * i32.i64 k) / 2
                 in unflatten ((map (* s) (map i32.i64 (iota (m * 2)))) :> [2 * 2]i32)
  in (map row steps, map halves steps)
