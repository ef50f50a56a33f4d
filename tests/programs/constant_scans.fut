-- Constants of the program that scans make: no statement after them uses them, entry
-- points do.
-- ==
-- entry: no_sums
-- input { } output { empty([0]i64) }
entry no_sums : []i64 = scan (+) 0i64 []

def sums = scan (+) 0 (map (\i -> i * i) (iota 5))
def kept = filter (> 3) sums

-- ==
-- entry: squares
-- input { } output { [0i64, 1i64, 5i64, 14i64, 30i64] }
entry squares = sums

-- ==
-- entry: parts
-- input { 2i64 } output { [5i64, 14i64, 30i64] 19i64 }
entry parts (i: i64) = (copy kept, kept[i] - i64.sum kept + 38)
