-- A check in a map of which nothing is used: its statement has no names.
-- ==
-- input { [5, 6] [[1, 2], [3, 4]] true } output { [5, 6] }
-- input { [7] [[1, 2, 3]] false } output { [7] }

def main [n] [m] (ys: [n]i32) (xss: [n][m]i32) (flag: bool) =
  let _ =
    map (\xs ->
           let point = map f64.i32 xs
           let forward = map f64.i64 (iota m)
           let squares = \(v: [m]f64) -> map (\x -> x * x) v
           let backward = vjp squares point forward
           let tangents = jvp squares point forward
           let _ = assert (f64.sum (map2 (*) forward tangents) == f64.sum (map2 (*) backward forward)) backward
           in flag)
        xss
  in ys
