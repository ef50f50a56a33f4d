-- A map over maps and a loop, with irregular sizes inside: the example of the talk
-- "Regular flattening".
-- ==
-- input { 3 [[3, 1], [0, 2]] } auto output
-- input { 0 [[3, 1, 5], [0, 2, 0], [1, 1, 1]] } auto output

def main [m] (n: i32) (pss: [m][m]i32): ([m][m][m]i32, [m][m]i32) =
  unzip (map (\(ps: [m]i32) ->
                let ass =
                  map (\(p: i32): [m]i32 ->
                         let cs = scan (+) 0 (iota (i64.i32 p))
                         let r = reduce (+) 0 cs
                         in map (+ i32.i64 r) ps)
                      ps
                let bs =
                  loop ws = ps for _i < n do
                    map2 (\as w -> let d = reduce (+) 0 as
                                   let e = d + w
                                   in 2 * e)
                         ass
                         ws
                in (ass, bs))
             pss)
