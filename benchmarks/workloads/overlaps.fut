-- Of any two sets of bits, what part of their union is in both.
entry main [n][m] (a: [n][m]u64): [n][n]f32 =
  map (\x -> map (\y ->
    let both = i32.sum (map2 (\p q -> u64.popc (p & q)) x y)
    let any = i32.sum (map2 (\p q -> u64.popc (p | q)) x y)
    in f32.i32 both / f32.i32 (i32.max any 1)) a) a
