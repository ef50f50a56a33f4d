-- Statistics of points that are spread over a cluster. See clusters.py.

-- | Lloyd's iterations: each point to its nearest centre, each centre to the mean of its
-- points.
entry kmeans [n][d][k] (points: [n][d]f32) (centres: [k][d]f32) (rounds: i32): [k][d]f32 =
  let distance x c = f32.sum (map2 (\a b -> (a - b) ** 2) x c)
  let closer (i, a) (j, b) = if b < a || (a == b && j < i) then (j, b) else (i, a)
  let nearest cs x = (reduce closer (k, f32.inf) (zip (iota k) (map (distance x) cs))).0
  in loop cs = centres for _i < rounds do
    let own = map (nearest cs) points
    let counts = hist (+) 0 k own (replicate n 1)
    let sums = reduce_by_index (replicate k (replicate d 0)) (map2 (+)) (replicate d 0) own points
    in map2 (\s c -> map (/ f32.i64 (i64.max c 1)) s) sums counts

-- | How many points there are in each cell of a grid over the first two coordinates.
entry density [n][d] (points: [n][d]f32) (cells: i64): [cells][cells]i32 =
  let cell x = i64.f32 (f32.min 0.999 (f32.max 0 x) * f32.i64 cells)
  let flat = hist (+) 0 (cells * cells) (map (\p -> cell p[1] * cells + cell p[0]) points) (replicate n 1)
  in unflatten flat

-- | The running mean of the first coordinate.
entry running_mean [n][d] (points: [n][d]f32): [n]f32 =
  let sums = scan (+) 0 (map (\p -> f64.f32 p[0]) points)
  in map2 (\s i -> f32.f64 (s / f64.i64 (i + 1))) sums (iota n)

-- | Weights that tell points whose first coordinate is above 1/2 from others.
entry separate [n][d] (points: [n][d]f32) (start: [d]f32) (steps: i32): [d]f32 =
  loop w = start for _i < steps do
    let slope p =
      let score = 1 / (1 + f32.exp (- f32.sum (map2 (\a b -> (a - 0.5) * b) p w)))
      let error = score - f32.bool (p[0] > 0.5)
      in map (\a -> (a - 0.5) * error) p
    let gradient = reduce (map2 (+)) (replicate d 0) (map slope points)
    in map2 (\a g -> a - 20 * g / f32.i64 n) w gradient
