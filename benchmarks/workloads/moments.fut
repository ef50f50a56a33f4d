-- Mean, variance, skewness and kurtosis of each column
entry main [n] [m] (xss: [n][m]f32): ([m]f32, [m]f32, [m]f32, [m]f32) =
  let count = f32.i64 n
  in unzip4 (map (\xs ->
       let mean = f32.sum xs / count
       let moment k = f32.sum (map (\x -> (x - mean) ** k) xs) / count
       let deviation = f32.sqrt (moment 2)
       in (mean, moment 2, moment 3 / deviation ** 3, moment 4 / deviation ** 4))
     (transpose xss))
