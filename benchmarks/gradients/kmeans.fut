-- The cost of k centres: the squares of the distances of points to their nearest one.
entry kmeans [n] [k] [d] (centres: [k][d]f64) (points: [n][d]f64): f64 =
  let distance p c = f64.sum (map2 (\a b -> (a - b) * (a - b)) p c)
  in f64.sum (map (\p -> f64.minimum (map (distance p) centres)) points)
