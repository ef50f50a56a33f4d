-- Many tridiagonal systems, by elimination without pivots.
def thomas [n] (a: [n]f32) (b: [n]f32) (c: [n]f32) (d: [n]f32): [n]f32 =
  let cp = replicate n 0f32
  let dp = replicate n 0f32
  let cp[0] = c[0] / b[0]
  let dp[0] = d[0] / b[0]
  let (cp, dp) =
    loop (cp, dp) for i in 1..<n do
      let m = b[i] - a[i] * cp[i-1]
      let cp[i] = c[i] / m
      let dp[i] = (d[i] - a[i] * dp[i-1]) / m
      in (cp, dp)
  let x = replicate n 0f32
  let x[n-1] = dp[n-1]
  in loop x for k < n - 1 do
       let i = n - 2 - k
       let x[i] = dp[i] - cp[i] * x[i+1]
       in x

entry main [m][n] (a: [m][n]f32) (b: [m][n]f32) (c: [m][n]f32) (d: [m][n]f32): [m][n]f32 =
  map4 thomas a b c d
