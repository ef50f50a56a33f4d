-- A layer of long short-term memory over sequences of a batch: the mean of the squares
-- of its last state. The gates input, forget, output and candidate stand one after the
-- other in the rows of both weights.

def sigmoid (x: f32): f32 = 1 / (1 + f32.exp (-x))

def matmul [n] [m] [p] (a: [n][m]f32) (b: [p][m]f32): [n][p]f32 =
  map (\x -> map (\y -> f32.sum (map2 (*) x y)) b) a

entry lstm [steps] [batch] [d] [h]
    (of_input: [4 * h][d]f32) (of_state: [4 * h][h]f32) (bias: [4 * h]f32)
    (xs: [steps][batch][d]f32): f32 =
  let zeros = replicate batch (replicate h 0f32)
  let (state, _) =
    loop (state, cell) = (zeros, zeros) for x in xs do
      let both = map2 (map2 (+)) (matmul x of_input) (matmul state of_state)
      let gates = map (map2 (+) bias) both
      let next = map2 (\g c ->
        map2 (\j old -> sigmoid g[h + j] * old + sigmoid g[j] * f32.tanh g[3 * h + j])
             (iota h) c) gates cell
      let out = map2 (\g c -> map2 (\j v -> sigmoid g[2 * h + j] * f32.tanh v)
                                   (iota h) c) gates next
      in (out, next)
  in f32.sum (map (\v -> v * v) (flatten state)) / f32.i64 (batch * h)
