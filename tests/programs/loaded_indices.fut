-- Loaded indices: below, above, of empty arrays, one loaded at another, in two dimensions.
-- ==
-- entry: next
-- input { [3i64, 0i64, 2i64, 1i64] [1i32, 2i32, 3i32, 4i32, 9i32] } output { [13i32, 3i32, 7i32, 5i32] }
-- input { [3i64, 0i64, 1000000i64, 1i64] [1i32, 2i32, 3i32, 4i32, 9i32] } error: bounds
-- input { [3i64, 0i64, -1i64, 1i64] [1i32, 2i32, 3i32, 4i32, 9i32] } error: bounds
-- input { [0i64] [1i32] } error: bounds
-- input { [0i64, 0i64] empty([0]i32) } error: bounds
entry next [n] [m] (ks: [m]i64) (xs: [n]i32): [m]i32 = map (\k -> xs[k] + xs[k + 1]) ks
-- ==
-- entry: chained
-- input { [3i64, 0i64, 2i64, 1i64] [1i32, 2i32, 3i32, 0i32] } output { [1i32, 2i32, 0i32, 3i32] }
-- input { [3i64, 0i64, 2i64, 1i64] [1i32, 2i32, 30000i32, 0i32] } error: bounds
-- input { [3i64, 0i64] empty([0]i32) } error: bounds
entry chained [n] [m] (ks: [m]i64) (xs: [n]i32): [m]i32 = map (\k -> xs[i64.i32 xs[k]]) ks
-- ==
-- entry: before
-- input { [3i64, 1i64] [1f32, 2f32, 3f32, 4f32, 9f32] } output { [16f32, 6f32] }
-- input { [3i64, 0i64] [1f32, 2f32, 3f32, 4f32, 9f32] } error: bounds
entry before [n] [m] (ks: [m]i64) (xs: [n]f32): [m]f32 = map (\k -> xs[k] + xs[k - 1] + xs[k + 1]) ks
-- ==
-- entry: two
-- input { [[1f64, 2f64], [3f64, 4f64]] [1i32, 0i32] } output { [3f64, -2f64] }
-- input { [[1f64, 2f64], [3f64, 4f64]] [1i32, 7i32] } error: bounds
-- input { [[1f64], [3f64]] [1i32, 0i32] } error: bounds
entry two [n] [m] [p] (xss: [n][m]f64) (ks: [p]i32): [p]f64 = map (\k -> xss[k, 0] - xss[1 - k, 0] - xss[0,0] + xss[0, k]) ks
