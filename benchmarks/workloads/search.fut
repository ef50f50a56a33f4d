-- Binary search of many numbers in a sorted array
entry main [n] [m] (sorted: [n]f32) (wanted: [m]f32): [m]i64 =
  map (\x ->
    (loop (low, high) = (0, n) while low < high do
       let middle = (low + high) / 2
       in if sorted[middle] < x then (middle + 1, high) else (low, middle)).0) wanted
