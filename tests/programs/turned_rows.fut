-- Maps whose rows are turned round after an inner map: the views are of whole arrays.

def clamped [n] (xs: [n]i32) (i: i64): i32 = xs[i64.max 0 (i64.min (n - 1) i)]

def blurred [n] [k] (ws: [k]i32) (xs: [n]i32): [n]i32 =
  tabulate n (\i -> i32.sum (tabulate k (\t -> ws[t] * clamped xs (i + t - k / 2))))

-- ==
-- entry: columns
-- random input { [3][7][20]i32 [3]i32 } auto output
-- random input { [5][20][3]i32 [5]i32 } auto output
-- random input { [0][7][5]i32 [3]i32 } auto output

entry columns [d] [h] [w] [k] (vol: [d][h][w]i32) (ws: [k]i32): [d][h][w]i32 =
  map (\plane -> transpose (map (blurred ws) (transpose plane))) vol

-- ==
-- entry: products
-- random input { [3][2]i32 [4][5]i32 } auto output

entry products [m] [n] [p] [q] (a: [m][n]i32) (b: [p][q]i32): [m * p][n * q]i32 =
  flatten (map (\row -> map (\other -> flatten (map (\x -> map (* x) other) row)) b) a)

-- ==
-- entry: two_results
-- random input { [3][4][5]i32 } auto output

entry two_results [n] [m] [k] (xsss: [n][m][k]i32): ([n][k][m]i32, [n][m][k]i32) =
  unzip (map (\xss -> let (yss, zss) = unzip (map (unzip <-< map (\x -> (x + 1, x * x))) xss)
                      in (transpose yss, zss)) xsss)

-- ==
-- entry: sized_inside
-- random input { [3][20]i32 } auto output

entry sized_inside [n] [m] (xss: [n][m]i32): [n][m / 5][5]i32 =
  map (\xs -> let part = take (m / 5) xs
              in transpose (map (\i -> map (* i32.i64 i) part) (iota 5))) xss
