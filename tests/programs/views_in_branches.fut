-- A view of an array is in a branch that is known to be taken; the array is updated.

def main [m] [n] (c: bool) (k: i64) (rows: *[m][n]i32) : ([m][n]i32, *[m][n]i32) =
  let chosen = copy (map (\row -> if c then row else if !c then rows[k] else row) rows)
  in (chosen, rows with [:m / 2] = replicate (m / 2) (replicate n 7))
