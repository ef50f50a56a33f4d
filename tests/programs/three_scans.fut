-- Three scans one after the other in two maps: sequential in threads, in work-groups,
-- or all flattened.
-- ==
-- input { [[[1i64, -2i64, 3i64], [4i64, 5i64, 6i64]]] } auto output
-- random input { [3][4][100]i64 } auto output

def main [a] [b] [c] (xsss: [a][b][c]i64): [a][b][c]i64 =
  map (map (\xs -> let sums = scan (+) 0 xs
                   let greatest = scan i64.max i64.lowest (map (% 100) sums)
                   in scan (\x y -> (x * y) % 97) 1 greatest))
      xsss
