-- A Kalman filter of constant velocity for each of many tracks.
def step (q: f32) (r: f32) (x: f32, v: f32, p00: f32, p01: f32, p11: f32) (z: f32) =
  let x' = x + v
  let p00' = p00 + 2 * p01 + p11 + q
  let p01' = p01 + p11
  let p11' = p11 + q
  let s = p00' + r
  let k0 = p00' / s
  let k1 = p01' / s
  let y = z - x'
  in (x' + k0 * y, v + k1 * y, (1 - k0) * p00', (1 - k0) * p01', p11' - k1 * p01')

entry main [n][t] (q: f32) (r: f32) (zs: [n][t]f32): [n][t]f32 =
  map (\z ->
    let (_, out) =
      loop (s, out) = ((z[0], 0, 1, 0, 1), replicate t 0) for i < t do
        let s = step q r s z[i]
        in (s, out with [i] = s.0)
    in out) zs
