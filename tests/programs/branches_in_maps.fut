-- Branches and loops inside of maps that all points take, with a parallel side and one
-- that is a row at an index computed there.
-- ==
-- entry: cases slices
-- input { [[[1i64, 2i64], [3i64, 4i64]], [[5i64, 6i64], [7i64, 8i64]]]
--         [0i64, -1i64] [10i64, 20i64] 0i32 }
-- output { [[3i64, 4i64], [5i64, 6i64]] }
-- input { [[[1i64, 2i64], [3i64, 4i64]], [[5i64, 6i64], [7i64, 8i64]]]
--         [0i64, -1i64] [10i64, 20i64] 1i32 }
-- output { [[10i64, 20i64], [9i64, 19i64]] }

-- ==
-- entry: cases loops
-- input { [[[1i64, 2i64], [3i64, 4i64]], [[5i64, 6i64], [7i64, 8i64]]]
--         [0i64, -1i64] [10i64, 20i64] 2i32 }
-- output { [[1i64, 2i64], [7i64, 8i64]] }

-- ==
-- entry: loops
-- input { [[[1i64, 2i64]]] [0i64] [10i64, 20i64] 1i32 } error: out of bounds

entry cases [n] [m] [k] (xsss: [n][k][m]i64) (is: [n]i64) (ys: [m]i64) (c: i32) =
  map2 (\xss i ->
          match c
          case 0 -> xss[i + 1]
          case 1 -> map (+ i) ys
          case _ -> xss[-i])
       xsss is

entry slices [n] [m] [k] (xsss: [n][k][m]i64) (is: [n]i64) (ys: [m]i64) (c: i32) =
  map2 (\xss i -> if c == 0 then (xss[i + 1:i + 2])[0] else map (+ i) ys) xsss is

entry loops [n] [m] [k] (xsss: [n][k][m]i64) (is: [n]i64) (ys: [m]i64) (c: i32) =
  map2 (\xss i ->
          loop zs = map (+ i) ys for j < c do
            if j % 2 == 0 then xss[i + 1] else xss[-i])
       xsss is
