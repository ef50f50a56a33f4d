-- Products and distances of few steps, and what becomes of them.

-- ==
-- entry: products distances
-- random input { [1000][3]f32 [1000][3]f32 }
-- random input { [300][8]f32 [30000][8]f32 }
-- random input { [1000][32]f32 [1000][32]f32 }

-- ==
-- entry: products
-- random input { [100000][4]f32 [8][4]f32 }

-- ==
-- entry: kernel_sums hidden_layer
-- random input { [2000][4]f32 [200][4]f32 [200]f32 }
-- random input { [2000][64]f32 [200][64]f32 [200]f32 }

-- ==
-- entry: nearest
-- random input { [50000][4]f32 [16][4]f32 }

def dot [n] (xs: [n]f32) (ys: [n]f32) = f32.sum (map2 (*) xs ys)
def square_distance [n] (xs: [n]f32) (ys: [n]f32) =
  f32.sum (map2 (\x y -> (x - y) ** 2) xs ys)

entry products [n] [m] [d] (xs: [n][d]f32) (ys: [m][d]f32) =
  map (\x -> map (dot x) ys) xs

entry distances [n] [m] [d] (xs: [n][d]f32) (ys: [m][d]f32) =
  map (\x -> map (\y -> f32.sqrt (square_distance x y)) ys) xs

entry kernel_sums [n] [m] [d] (xs: [n][d]f32) (centres: [m][d]f32) (weights: [m]f32) =
  map (\x ->
    let term centre weight = weight * f32.exp (-(square_distance x centre))
    in f32.sum (map2 term centres weights)) xs

entry hidden_layer [n] [m] [d] (xs: [n][d]f32) (first: [m][d]f32) (second: [m]f32) =
  map (\x -> f32.sum (map2 (\row w -> w * f32.max 0 (dot row x)) first second)) xs

entry nearest [n] [m] [d] (xs: [n][d]f32) (centres: [m][d]f32): [n]i64 =
  let nearer (a, i) (b, j) = if b < a then (b, j) else (a: f32, i: i64)
  in map (\x ->
       let (_, i) = reduce nearer (f32.inf, -1)
                           (zip (map (square_distance x) centres) (iota m))
       in i) xs
