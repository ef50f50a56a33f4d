-- The longest common subsequence of two texts, along the diagonals of its table.
entry main [n] (x: [n]u8) (y: [n]u8): i32 =
  let none = replicate (n + 1) 0i32
  let (_, last) =
    loop (before, now) = (none, none) for d < 2 * n - 1 do
      let next = map (\i ->
          let j = d + 2 - i
          in if i < 1 || j < 1 || i > n || j > n then 0
             else if x[i - 1] == y[j - 1] then before[i - 1] + 1
             else i32.max now[i - 1] now[i]) (iota (n + 1))
      in (now, next)
  in last[n]
