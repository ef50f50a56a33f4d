-- What a work-group may hold: loops of both kinds, branches, scatters, histograms,
-- reductions of several values, transposed rows.

-- ==
-- entry: normalise
-- random input { [5][70]f32 } auto output

entry normalise [n] [m] (xss: [n][m]f32) =
  map (\xs -> let s = reduce (+) 0 xs in map (/ s) xs) xss

-- ==
-- entry: relax
-- random input { 3i64 [4][40]i32 } auto output

entry relax [n] [m] (k: i64) (xss: [n][m]i32) =
  map (\xs -> loop ys = xs for _i < k do
                let s = reduce (+) 0 ys
                in map2 (\x y -> (x + y + s) / 3) ys (rotate 1 ys))
      xss

-- ==
-- entry: halve
-- random input { 200i64 [4][40]i32 } auto output

entry halve [n] [m] (k: i64) (xss: [n][m]i32) =
  map (\xs -> let (ys, _) =
                loop (ys, j) = (copy xs, k) while j > 1 do
                  (map (/ 2) (scan (+) 0 ys), j / 3)
              in ys)
      xss

-- ==
-- entry: branch
-- random input { true [4][33]i32 } auto output
-- random input { false [4][33]i32 } auto output

entry branch [n] [m] (c: bool) (xss: [n][m]i32) =
  map (\xs -> let s = reduce (+) 0 xs
              let ys = if c then scan (+) 0 xs else map (* s) xs
              in map (+ s) ys)
      xss

-- ==
-- entry: spread
-- random input { [4][35]i64 } auto output

entry spread [n] [m] (xss: [n][m]i64) =
  map (\xs -> let s = reduce (+) 0 xs
              let is = map (\i -> (i * 2 + 1) % m) (iota m)
              in scatter (replicate m s) is xs)
      xss

-- ==
-- entry: count
-- random input { [4][50]i64 } auto output

entry count [n] [m] (xss: [n][m]i64) =
  map (\xs -> let s = reduce i64.min i64.highest xs
              let h = hist (+) 0 8 (map (\x -> (x % 8 + 8) % 8) xs) (replicate m 1)
              in map (+ s) h)
      xss

-- ==
-- entry: extremes
-- random input { [6][45]i64 } auto output

entry extremes [n] [m] (xss: [n][m]i64) =
  unzip3 (map (\xs -> let (a, b) = reduce_comm (\(a, b) (c, d) -> (i64.min a c, i64.max b d))
                                          (i64.highest, i64.lowest)
                                          (map (\x -> (x, x)) xs)
                      let ys = map (\x -> x % 10 + a % 5) xs
                      in (a, b, reduce (+) 0 (map2 (*) ys (reverse ys))))
              xss)

-- ==
-- entry: columns
-- random input { [3][6][40]i64 } auto output

entry columns [n] [m] [k] (xsss: [n][m][k]i64) =
  map (\xss -> let sums = map (reduce (+) 0) (transpose xss)
               in map (map2 (+) sums) xss)
      xsss

-- ==
-- entry: growing
-- random input { [4][40]i32 } auto output

entry growing [n] [m] (xss: [n][m]i32) =
  map (\xs -> loop ys = scan (+) 0 xs for i < m do
                let s = reduce (+) 0 ys[m - i:m]
                in map (+ s) ys with [i] = s)
      xss

-- ==
-- entry: up_to_least
-- random input { [4][40]i64 } auto output

entry up_to_least [n] [m] (xss: [n][m]i64) =
  map (\xs -> let k = (reduce i64.min i64.highest xs % m + m) % m
              let s = reduce (+) 0 xs[k:]
              in map (+ s) (scan (+) 0 xs))
      xss
