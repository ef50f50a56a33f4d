-- Neighbours on a cyclic cube, by rotations and by remainders, in three dimensions.
-- ==
-- input { [[[1i64, 2i64], [3i64, 4i64]]] } auto output
-- random input { [5][6][70]i64 } auto output
-- random input { [33][1][3]i64 } auto output

def main [a] [b] [c] (xs: [a][b][c]i64): ([a][b][c]i64, [a][b][c]i64) =
  let along = map3 (map3 (map3 (\x y z -> x + 2 * y + z))) (rotate 1 xs) xs (rotate (-1) xs)
  in (map (map (\row -> map2 (-) (rotate 1 row) (rotate (-2) row))) along,
      tabulate_3d a b c (\i j k ->
        xs[(i + 1) % a, j, k] - xs[i, (j + b - 1) % b, k] + xs[i, j, (k + 1) % c]))
