-- Arrays updated by copies of parts of themselves.
-- ==
-- entry: plain map_rev map_shift loop_rev seq_map chunks in_if
-- input { [[1,2,3,4,5],[6,7,8,9,10]] 1i64 } auto output
-- input { [[1,2,3,4,5,6,7,8,9],[6,7,8,9,10,4,5,6,7],[1,2,3,4,5,6,7,8,9]] 3i64 } auto output
-- input { empty([0][3]i32) 0i64 } auto output
entry plain [n][m] (xss: [n][m]i32) (k: i64) = let up = copy xss in (up with [::-1] = copy up, k)
entry map_rev [n][m] (xss: [n][m]i32) (k: i64) =
  map (\r -> let up = map (+ (i32.i64 k)) r in up with [::-1] = copy up) xss
entry map_shift [n][m] (xss: [n][m]i32) (k: i64) =
  map (\r -> let up = map (+ (i32.i64 k)) r in if m == 0 then up else up with [1:] = copy up[:m-1]) xss
entry loop_rev [n][m] (xss: [n][m]i32) (k: i64) =
  loop up = copy xss for i < k do let up = up with [::-1] = copy up in if m == 0 then up else let up[:,1:] = copy up[:,:m-1] in up
entry seq_map [n][m] (xss: [n][m]i32) (k: i64) =
  #[sequential_inner] map (\r -> loop up = copy r for i < k do let up = up with [::-1] = copy up in if m < 2 then up else let up[1:] = copy up[:m-1] in up with [0] = up[m-1]) xss
entry chunks [n][m] (xss: [n][m]i32) (k: i64) =
  map (\r -> let up = scan (+) 0 r in let up[::-1] = copy up in let up[:m/2] = copy up[m-m/2:] in up) xss
entry in_if [n][m] (xss: [n][m]i32) (k: i64) =
  let up = if k == 0 then copy xss else map (map (+1)) xss
  in (up with [::-1] = copy up)
