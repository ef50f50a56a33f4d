-- A loop that updates an array in place, once of its own and once of a copy.
-- ==
-- input { [3i32, 1i32, 2i32, 5i32] }
-- output { [3i32, 4i32, 6i32, 11i32] [3i32, 1i32, 2i32, 5i32] }

def main [n] (xs: [n]i32): ([n]i32, [n]i32) =
  let ys = loop ys = copy xs for i < n - 1 do
    ys with [i + 1] = ys[i] + ys[i + 1]
  in (ys, xs)
