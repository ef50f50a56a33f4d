-- The number of mismatches of a pattern at each place of a text
entry main [n] [m] (text: [n]u8) (pattern: [m]u8): [n - m + 1]i32 =
  tabulate (n - m + 1) (\i ->
    i32.sum (map2 (\a b -> i32.bool (a != b)) (text[i:i + m] :> [m]u8) pattern))
