-- Bins and values that are computed from elements, within the bounds and outside, more
-- and fewer than a block of them.
-- ==
-- input { 0i64 3i64 } output { true }
-- input { 100i64 3i64 } output { true }
-- input { 1000i64 40i64 } output { true }
-- input { 9000i64 700i64 } output { true }
-- input { 40000i64 5000i64 } output { true }

def key (k: i64) (x: f32): i64 = i64.f32 (x * x * 1.5) % (k + 2) - 1

def element (i: i64): f32 = f32.i64 (i * 7919 % 4001) / 3

def value (x: f32): i32 = 2 * i32.f32 (x * 0.5) + 1

entry main (n: i64) (k: i64) : bool =
  let xs = map element (iota n)
  let join (a, b) (c, d) = (a + c, i32.max b d)
  let (sums, most) =
    unzip (reduce_by_index (replicate k (0, 0)) join (0, i32.lowest)
                           (map (key k) xs) (map (\x -> (value x, value (x + 1))) xs))
  let (sums', most') =
    loop (a, b) = (replicate k 0, replicate k 0) for i < n do
      let at = key k (element i)
      in if at < 0 || at >= k then (a, b)
         else let s = a[at] + value (element i)
              let m = i32.max b[at] (value ((element i) + 1))
              in (a with [at] = s, b with [at] = m)
  in and (map2 (==) sums sums') && and (map2 (==) most most')
