-- A view of an array is in a branch that is known to be taken; the array is updated.
-- ==
-- input { true 0i64 [[1, 2], [3, 4]] } output { [[1, 2], [3, 4]] [[7, 7], [3, 4]] }
-- input { false 1i64 [[1, 2], [3, 4]] } output { [[3, 4], [3, 4]] [[7, 7], [3, 4]] }
-- input { true 0i64 empty([0][2]i32) } output { empty([0][2]i32) empty([0][2]i32) }

entry main [m] [n] (c: bool) (k: i64) (rows: *[m][n]i32) : ([m][n]i32, *[m][n]i32) =
  let chosen = copy (map (\row -> if c then row else if !c then rows[k] else row) rows)
  in (chosen, rows with [:m / 2] = replicate (m / 2) (replicate n 7))
