-- Rows are added elementwise, in each bin of a histogram.
-- ==
-- entry: sums
-- input { 2i64 [0i64, 1i64, 7i64, -1i64, 0i64]
--         [[1f32, 2f32], [3f32, 4f32], [5f32, 6f32], [7f32, 8f32], [9f32, 1f32]] }
-- output { [[10f32, 3f32], [3f32, 4f32]] }
-- input { 3i64 empty([0]i64) empty([0][2]f32) }
-- output { [[0f32, 0f32], [0f32, 0f32], [0f32, 0f32]] }

-- ==
-- entry: centres
-- input { [0i64, 1i64, 0i64] [[1f32, 2f32], [3f32, 4f32], [5f32, 6f32]] }
-- output { [[3f32, 4f32], [3f32, 4f32]] [2i32, 1i32] }

-- ==
-- entry: squares
-- input { [1i64, 1i64] [[[1i32, 2i32], [3i32, 4i32]], [[5i32, 6i32], [7i32, 8i32]]] }
-- output { [[[0i32, 0i32], [0i32, 0i32]], [[26i32, 40i32], [58i32, 80i32]]] }

-- ==
-- entry: last
-- input { [0i64, 0i64] [[1i32, 2i32], [3i32, 4i32]] }
-- output { [[3i32, 4i32], [0i32, 7i32]] }

entry sums [n][d] (k: i64) (is: [n]i64) (vs: [n][d]f32): [k][d]f32 =
  hist (map2 (+)) (replicate d 0) k is vs

entry centres [n][d] (is: [n]i64) (vs: [n][d]f32): ([2][d]f32, [2]i32) =
  let sums = hist (map2 (+)) (replicate d 0) 2 is vs
  let counts = hist (+) 0 2 is (replicate n 1)
  in (map2 (\s c -> map (/ f32.i32 c) s) sums counts, counts)

entry squares [n] (is: [n]i64) (vs: [n][2][2]i32): [2][2][2]i32 =
  hist (map2 (map2 (+))) (replicate 2 (replicate 2 0)) 2 is
       (map (map (map (\x -> x * x))) vs)

entry last [n] (is: [n]i64) (vs: [n][2]i32): [2][2]i32 =
  reduce_by_index [[0, 0], [0, 7]] (map2 i32.max) [0, 0] is vs
