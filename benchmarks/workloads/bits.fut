-- The nearest of a few codes by Hamming distance, for each of many words
entry main [n] [k] (words: [n]u64) (codes: [k]u64): [n]i32 =
  map (\w ->
    let nearer (a: i32, i: i32) (b: i32, j: i32) = if b < a || (b == a && j < i) then (b, j) else (a, i)
    in (reduce_comm nearer (65, -1) (map2 (\c i -> (u64.popc (w ^ c), i32.i64 i)) codes (iota k))).1)
    words
