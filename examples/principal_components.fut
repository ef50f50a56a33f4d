-- Principal components of a table of samples, one row a sample.
--
-- The covariance is a nest of redomaps over the centred columns; each component is found
-- by power iteration and then taken out of the covariance (deflation).
-- ==
-- entry: covariance
-- input { [[1.0, 2.0], [3.0, 6.0], [5.0, 10.0]] }
-- output { [[4.0, 8.0], [8.0, 16.0]] }

def dot [n] (x: [n]f64) (y: [n]f64): f64 =
  reduce (+) 0 (map2 (*) x y)

def normalise [n] (x: [n]f64): [n]f64 =
  let length = f64.sqrt (dot x x)
  in map (/ length) x

def mean [n] (x: [n]f64): f64 =
  reduce (+) 0 x / f64.i64 n

def centred_columns [n] [m] (samples: [n][m]f64): [m][n]f64 =
  map (\column -> let mu = mean column in map (\x -> x - mu) column)
      (transpose samples)

def covariance_of_columns [m] [n] (columns: [m][n]f64): [m][m]f64 =
  map (\a -> map (\b -> dot a b / f64.i64 (n - 1)) columns) columns

def times_vector [m] (matrix: [m][m]f64) (v: [m]f64): [m]f64 =
  map (\row -> dot row v) matrix

-- The dominant eigenvector, and its eigenvalue.
def dominant [m] (steps: i32) (matrix: [m][m]f64): ([m]f64, f64) =
  let start = map (\i -> 1 + f64.i64 i / f64.i64 m) (iota m)
  let v =
    loop v = normalise start for _i < steps do
      normalise (times_vector matrix v)
  in (v, dot v (times_vector matrix v))

def deflate [m] (matrix: [m][m]f64) (v: [m]f64) (weight: f64): [m][m]f64 =
  map2 (\row x -> map2 (\a y -> a - weight * x * y) row v) matrix v

entry covariance [n] [m] (samples: [n][m]f64): [m][m]f64 =
  covariance_of_columns (centred_columns samples)

-- The first `count` components (rows), the variance along each, and the samples
-- projected on them.
entry principal_components [n] [m] (count: i64) (steps: i32) (samples: [n][m]f64)
    : ([count][m]f64, [count]f64, [n][count]f64) =
  let columns = centred_columns samples
  let (components, variances, _) =
    loop (components, variances, matrix) =
        (replicate count (replicate m 0.0), replicate count 0.0,
         covariance_of_columns columns)
    for i < count do
      let (v, variance) = dominant steps matrix
      in (components with [i] = v,
          variances with [i] = variance,
          deflate matrix v variance)
  let projected =
    map (\sample -> map (\component -> dot sample component) components)
        (transpose columns)
  in (components, variances, projected)
