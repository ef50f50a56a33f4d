-- The mean cross entropy of softmax with labels
entry main [n][d] (scores: [n][d]f32) (labels: [n]i32): f32 =
  let loss (row: [d]f32) (label: i32) =
    let most = f32.maximum row
    in f32.log (f32.sum (map (\x -> f32.exp (x - most)) row)) + most - row[label]
  in f32.sum (map2 loss scores labels) / f32.i64 n
