-- The greatest elements of each row and where they are, one after the other.
def greatest [n] (xs: [n]f32): (f32, i64) =
  let better (x, i) (y, j) = if x > y || (x == y && i < j) then (x, i) else (y, j)
  in reduce_comm better (-f32.inf, i64.highest) (zip xs (indices xs))

def leaders [n] (k: i64) (row: [n]f32): ([k]f32, [k]i64) =
  let (_, found) =
    loop (xs, found) = (copy row, replicate k (0, 0)) for i < k do
      let (x, j) = greatest xs
      in (xs with [j] = -f32.inf, found with [i] = (x, j))
  in unzip found

entry main [n] [m] (rows: [n][m]f32) (k: i64): ([n][k]f32, [n][k]i64) =
  unzip (map (leaders k) rows)
