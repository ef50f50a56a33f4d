-- Five points of a grid whose edges stay as they are; interior and borders are pieces.
-- ==
-- input { 3i32 [[1f32, 2f32, 3f32], [4f32, 5f32, 6f32], [7f32, 8f32, 9f32]] } auto output
-- input { 2i32 [[1f32, 2f32]] } auto output
-- random input { 2i32 [40][37]f32 } auto output

def main [n] [m] (steps: i32) (a: [n][m]f32): [n][m]f32 =
  loop a for _i < steps do
    tabulate_2d n m (\i j ->
      if i == 0 || i == n - 1 || j == 0 || j == m - 1 then a[i, j]
      else 0.25 * (a[i - 1, j] + a[i + 1, j] + a[i, j - 1] + a[i, j + 1]))
