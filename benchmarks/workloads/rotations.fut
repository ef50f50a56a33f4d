-- Fields that move by a distance each, as populations of a lattice do.
entry main [k] [n] [m] (steps: i32) (xs: [k]i64) (ys: [k]i64) (fields: [k][n][m]f32) =
  loop fields for _i < steps do
    let mean = map (map (\p -> f32.sum p / f32.i64 k)) (map transpose (transpose fields))
    in map3 (\x y field ->
         map2 (map2 (\f m -> f + 0.5 * (m - f))) (rotate x (map (rotate y) field)) mean)
       xs ys fields
