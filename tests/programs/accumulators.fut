-- Streams of updates: in nests, loops and branches, of scalars, rows and tuples, with
-- and without operator, and past the bounds.

type~ acc 't = intrinsics.acc t

def write [n] 't (acc: *acc ([n]t)) (i: i64) (v: t) : *acc ([n]t) =
  intrinsics.acc_write acc i v

-- ==
-- entry: histogram
-- random input { [10]i32 [100]i64 [100]i32 } auto output
-- input { [1i32, 2i32] empty([0]i64) empty([0]i32) } auto output
-- input { empty([0]i32) [0i64, 1i64] [5i32, 6i32] } auto output

entry histogram [k] [n] (into: *[k]i32) (is: [n]i64) (vs: [n]i32) : *[k]i32 =
  let add (acc: *acc ([k]i32)) (i, v) = write acc (i % (k + 2)) v
  in intrinsics.hist_stream into (+) 0 add (zip is vs)

-- ==
-- entry: several
-- random input { [7]f64 [20]i64 } auto output
-- input { [0.5f64, 1.5f64] [0i64, 1i64, -1i64, 2i64] } auto output

entry several [k] [n] (into: *[k]f64) (is: [n]i64) : *[k]f64 =
  let add (acc: *acc ([k]f64)) i =
    let acc = write acc (i % k) 1
    let acc = loop acc for j < i % 4 do write acc (j + i % 3) 0.25
    in write acc (i % k + 1) 2
  in intrinsics.hist_stream into (+) 0 add is

-- ==
-- entry: nested
-- random input { [5]i8 [3][9]i8 } auto output

entry nested [k] [n] [m] (into: *[k]i8) (xss: [n][m]i8) : *[k]i8 =
  let add (acc: *acc ([k]i8)) (xs: [m]i8) =
    let total = i8.sum xs
    in loop acc for x in xs do write acc (i64.i8 (x & 7)) (x + total)
  in intrinsics.hist_stream into (+) 0 add xss

-- ==
-- entry: rows
-- random input { [4][3]i32 [6]i64 [6][3]i32 } auto output

entry rows [k] [m] [n] (into: *[k][m]i32) (is: [n]i64) (rows: [n][m]i32) : *[k][m]i32 =
  let add (acc: *acc ([k][m]i32)) (i, row) = write acc (i % k) row
  in intrinsics.hist_stream into (map2 (+)) (replicate m 0) add (zip is rows)

-- ==
-- entry: branches
-- random input { [6]i64 [30]i64 true } auto output
-- random input { [6]i64 [30]i64 false } auto output

entry branches [k] [n] (into: *[k]i64) (is: [n]i64) (c: bool) : *[k]i64 =
  let add (acc: *acc ([k]i64)) i =
    let acc = if c then write acc 0 i else acc
    in if i % 2 == 0 then write acc (i % k) 1 else write acc (i % 5) i
  in intrinsics.hist_stream into (+) 0 add is

-- ==
-- entry: greatest
-- random input { [5]i64 [50]i64 [50]i32 } auto output

entry greatest [k] [n] (at: *[k]i64) (is: [n]i64) (vs: [n]i32) : ([k]i32, [k]i64) =
  let op (v, i) (w, j) = if v < w || (v == w && j < i) then (w, j) else (v, i)
  let note (acc: *acc ([k](i32, i64))) (i, v) = write acc (i % k) (v, i)
  let start = zip (replicate k i32.lowest) at
  in unzip (intrinsics.hist_stream start op (i32.lowest, -1) note (zip is vs))

-- ==
-- entry: overwritten
-- input { [0i32, 0i32, 0i32, 0i32] [3i64, 1i64, 9i64, -2i64] } auto output

entry overwritten [k] [n] (into: *[k]i32) (is: [n]i64) : *[k]i32 =
  intrinsics.scatter_stream into (\(acc: *acc ([k]i32)) i -> write acc i 7) is

-- ==
-- entry: inside
-- random input { [4][6]i64 } auto output

entry inside [n] [m] (xss: [n][m]i64) : [n][3]i64 =
  let add (acc: *acc ([3]i64)) x = write acc (x % 4) (x % 10)
  in map (\xs -> intrinsics.hist_stream (replicate 3 0) (+) 0 add xs) xss
