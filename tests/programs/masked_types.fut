-- A value of 16 bits that both sides of a branch give, under a mask of 32 bits in lanes.
-- ==
-- input { [0, 2, -1] [[1, 1], [0, 1], [4, 1]] 7i64 } output { [2i64, 2i64, 2i64] }

def main [n] [m] (xs: [n]i32) (xss: [n][m]i32) (k: i64) =
  map (\row ->
         let x2 = row[0]
         let _ =
           map (\x : (#left i16 | #right i16 i64) ->
                  if i64.i32 x2 < 1i64 then #left 1i16
                  else #right (0i16 / (if x == 0 then 1 else i16.i32 x)) k)
               xs
         in m)
      xss
