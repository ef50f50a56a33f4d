-- Scans and folds of rows, long and short.

-- ==
-- entry: recurrences logarithms falls scaled_sums
-- random input { [64][16384]f32 }
-- random input { [4096][256]f32 }
-- random input { [65536][16]f32 }

-- ==
-- entry: softmax exponentials norms
-- random input { [1000][1000]f32 }
-- random input { [10000][10]f32 }
-- random input { [300000][3]f32 }

-- ==
-- entry: greatest_sums
-- random input { [4][64][4096]f32 }
-- random input { [4096][16][16]f32 }

-- ==
-- entry: gathered
-- random input { [100000][10]u16 [65536]f32 }
-- random input { [1000][1000]u16 [65536]f32 }

entry recurrences [n] [m] (xss: [n][m]f32) =
  let next (a, b) (c, d) = (d * a + c, b * d)
  in map (\xs ->
       let (ys, factors) = unzip (scan next (0, 1) (map (\x -> (x, 0.5)) xs))
       in map2 (+) ys factors) xss

entry logarithms [n] [m] (xss: [n][m]f32) =
  let add a b = let most = f32.max a b
                in most + f32.log (f32.exp (a - most) + f32.exp (b - most))
  in map (\xs -> map2 (-) (scan add (-1e30) xs) xs) xss

entry falls [n] [m] (xss: [n][m]f32) =
  map (\xs -> f32.maximum (map2 (-) (scan f32.max 0 xs) xs)) xss

entry scaled_sums [n] [m] (xss: [n][m]f32) =
  map (\xs -> map2 (*) (scan (+) 0 xs) xs) xss

entry softmax [n] [m] (xss: [n][m]f32) =
  map (\xs ->
    let most = f32.maximum xs
    let powers = map (\x -> f32.exp (x - most)) xs
    let sum = f32.sum powers
    in map (/ sum) powers) xss

entry exponentials [n] [m] (xss: [n][m]f32) = map (f32.sum <-< map f32.exp) xss

entry norms [n] [m] (xss: [n][m]f32) =
  map (\xs -> f32.sqrt (f32.sum (map (** 2) xs))) xss

entry greatest_sums [l] [n] [m] (xsss: [l][n][m]f32) =
  map (f32.maximum <-< map f32.sum) xsss

entry gathered [n] [m] [k] (places: [n][m]u16) (table: [k]f32) =
  map (\row -> f32.sum (map (\place -> table[i64.u16 place % k]) row)) places
