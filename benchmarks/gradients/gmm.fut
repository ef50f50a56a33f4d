-- The log likelihood of a mixture of k Gaussians, whose inverse covariances are products
-- of triangular factors: exp(logs) on the diagonal, `lower` below it.

def log_sum_exp [n] (x: [n]f64): f64 =
  let most = f64.maximum x
  in most + f64.log (f64.sum (map (\v -> f64.exp (v - most)) x))

def factor [d] (logs: [d]f64) (lower: [d][d]f64): [d][d]f64 =
  tabulate_2d d d (\i j -> if i == j then f64.exp logs[i]
                           else if j < i then lower[i, j] else 0)

entry gmm [n] [k] [d] (alphas: [k]f64) (means: [k][d]f64) (logs: [k][d]f64)
                      (lower: [k][d][d]f64) (xs: [n][d]f64): f64 =
  let factors = map2 factor logs lower
  let sums = map f64.sum logs
  let term x alpha mean fac s =
    let centred = map2 (-) x mean
    let scaled = map (\row -> f64.sum (map2 (*) row centred)) fac
    in alpha + s - 0.5 * f64.sum (map (\v -> v * v) scaled)
  let terms = map (\x -> log_sum_exp (map4 (term x) alphas means factors sums)) xs
  let prior = f64.sum (map (\v -> v * v) (flatten (flatten factors)))
  in f64.sum terms - f64.i64 n * log_sum_exp alphas + 0.5 * prior
