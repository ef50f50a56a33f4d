-- Constants whose size is computed: an entry point tells it with the array.
-- ==
-- input { } output { "abc" }

def found (x: i32): []u8 =
  let (s, _) =
    loop (s, a) = ("", [x, 1, 2]) while length s == 0 do
      if a[0] != 2 then ("", map (+ 1) a) else
      let (t, _) =
        loop (t, b) = ("", [0, 1, 2]) while b[0] == 0 && length t == 0 do
          if b[1] != 3 then ("", b with [1] = b[1] + 1) else ("abc", b)
      in (t, map (+ 1) a)
  in s

def word = found 0
entry main: []u8 = word

-- ==
-- entry: parts
-- input { 7i32 } output { [2i32, 3i32] 7i32 [1i64, 2i64] }
def pair (c: bool) = (filter (\x -> c || x > 1) [1i32, 2, 3], 4i32)
def large = pair false
def count = length large.0
entry parts (x: i32) = (copy large.0, x, map (+ 1) (iota count))

-- ==
-- entry: as_long
-- input { [5i32, 6i32] } output { [7i32, 9i32] }
-- input { [5i32] } error: Entry point arguments have invalid sizes
entry as_long (xs: [count]i32) = map2 (+) xs (large.0 :> [count]i32)
