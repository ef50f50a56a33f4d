-- A network of two layers on a batch: the mean square of its error.

def layer [n] [m] [p] (w: [p][m]f32) (b: [p]f32) (xs: [n][m]f32): [n][p]f32 =
  map (\x -> map2 (\row v -> v + f32.sum (map2 (*) row x)) w b) xs

entry mlp [n] [m] [h] [p] (w0: [h][m]f32) (b0: [h]f32) (w1: [p][h]f32) (b1: [p]f32)
                          (xs: [n][m]f32) (ys: [n][p]f32): f32 =
  let found = layer w1 b1 (map (map f32.tanh) (layer w0 b0 xs))
  let error = map2 (map2 (\a b -> (a - b) * (a - b))) found ys
  in f32.sum (flatten error) / f32.i64 (n * p)
