-- The most similar other row of each row, by the cosine
entry main [n][d] (rows: [n][d]f32): ([n]i64, [n]f32) =
  let length row = f32.sqrt (f32.sum (map (\x -> x * x) row))
  let units = map (\row -> let s = length row in map (/ s) row) rows
  let better (a: f32, i: i64) (b, j) = if b > a || (b == a && j < i) then (b, j) else (a, i)
  let best i =
    reduce_comm better (-2, n)
      (map (\j -> (if i == j then -2 else f32.sum (map2 (*) units[i] units[j]), j)) (iota n))
  in unzip (map (\i -> let (s, j) = best i in (j, s)) (iota n))
