-- The price of a call by paths of a price and its variance (Heston), of normal numbers.
type model = {mean: f64, speed: f64, swing: f64, rho: f64, step: f64}

def step (m: model) (price: f64, variance: f64) (x: f64, y: f64): (f64, f64) =
  let v = f64.max variance 0
  let w = f64.sqrt (v * m.step)
  let z = m.rho * x + f64.sqrt (1 - m.rho * m.rho) * y
  in (price * f64.exp (w * x - 0.5 * v * m.step),
      variance + m.speed * (m.mean - v) * m.step + m.swing * w * z)

entry main [n] [m] (xs: [n][m]f64) (ys: [n][m]f64) (strike: f64): f64 =
  let model = {mean = 0.04, speed = 1.5, swing = 0.3, rho = -0.7, step = 1 / f64.i64 m}
  let price xs ys = (loop s = (1, 0.04) for z in zip xs ys do step model s z).0
  in f64.sum (map2 (\x y -> f64.max (price x y - strike) 0) xs ys) / f64.i64 n
