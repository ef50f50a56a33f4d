-- Logistic regression with many classes, and the loss that fits it. No gradient is
-- written here: Python asks for `loss.value_and_grad`.
-- ==
-- entry: loss
-- input { [[0.0, 0.0], [1.0, 1.0]] [0.0, -1.0] [[0.5, 0.5], [0.0, 1.0]] [1i64, 0i64] }
-- output { 2.3862943611198906 }

def scores [pixels] [classes]
           (weights: [classes][pixels]f64) (bias: [classes]f64) (image: [pixels]f64)
         : [classes]f64 =
  map2 (\row b -> b + f64.sum (map2 (*) row image)) weights bias

def log_of_sum_of_exp [n] (x: [n]f64): f64 =
  let most = f64.maximum x
  in most + f64.log (f64.sum (map (\v -> f64.exp (v - most)) x))

-- The cross entropy of the labels, and half of the squares of the weights.
entry loss [pixels] [classes] [n]
    (weights: [classes][pixels]f64) (bias: [classes]f64)
    (images: [n][pixels]f64) (labels: [n]i64): f64 =
  let surprise =
    map2 (\image label ->
            let found = scores weights bias image
            in log_of_sum_of_exp found - found[label])
         images labels
  in f64.sum surprise + 0.5 * f64.sum (map (\w -> w * w) (flatten weights))
