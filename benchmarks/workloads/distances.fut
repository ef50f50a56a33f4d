-- Edit distances of many pairs of short strings: one thread for each pair
entry main [k] [n] (xs: [k][n]u8) (ys: [k][n]u8): [k]i32 =
  map2 (\x y ->
    let row =
      loop row = map i32.i64 (iota (n + 1)) for i < n do
        let first = row[0]
        let (row, _, _) =
          loop (row, left, diagonal) = (row with [0] = first + 1, first + 1, first)
          for j < n do
            let above = row[j + 1]
            let here = i32.min (diagonal + i32.bool (x[i] != y[j]))
                               (1 + i32.min left above)
            in (row with [j + 1] = here, here, above)
        in row
    in row[n]) xs ys
