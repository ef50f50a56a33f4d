-- Softmax of each row
entry main [n] [m] (xss: [n][m]f32): [n][m]f32 =
  map (\xs ->
    let most = f32.maximum xs
    let es = map (\x -> f32.exp (x - most)) xs
    let total = f32.sum es
    in map (/ total) es) xss
