-- Second-order array combinators. A `val` is implemented by the compiler; the rest is
-- written with those.

val map 'a [n] 'x : (f: a -> x) -> (as: [n]a) -> *[n]x

val reduce [n] 'a : (op: a -> a -> a) -> (ne: a) -> (as: [n]a) -> a

val reduce_comm [n] 'a : (op: a -> a -> a) -> (ne: a) -> (as: [n]a) -> a

val scan [n] 'a : (op: a -> a -> a) -> (ne: a) -> (as: [n]a) -> *[n]a

val scatter 't [k] [n] : (dest: *[k]t) -> (is: [n]i64) -> (vs: [n]t) -> *[k]t

val scatter_2d 't [k] [n] [l] : (dest: *[k][n]t) -> (is: [l](i64, i64)) -> (vs: [l]t) -> *[k][n]t

val scatter_3d 't [k] [n] [o] [l] : (dest: *[k][n][o]t) -> (is: [l](i64, i64, i64)) -> (vs: [l]t) -> *[k][n][o]t

val reduce_by_index 'a [k] [n] : (dest: *[k]a) -> (f: a -> a -> a) -> (ne: a) -> (is: [n]i64) -> (as: [n]a) -> *[k]a

val reduce_by_index_2d 'a [k] [n] [m] : (dest: *[k][m]a) -> (f: a -> a -> a) -> (ne: a) -> (is: [n](i64, i64)) -> (as: [n]a) -> *[k][m]a

val reduce_by_index_3d 'a [k] [n] [m] [l] : (dest: *[k][m][l]a) -> (f: a -> a -> a) -> (ne: a) -> (is: [n](i64, i64, i64)) -> (as: [n]a) -> *[k][m][l]a

def map1 'a [n] 'x (f: a -> x) (as: [n]a) : *[n]x = map f as

def map2 'a 'b [n] 'x (f: a -> b -> x) (as: [n]a) (bs: [n]b) : *[n]x =
  map (\(a, b) -> f a b) (zip as bs)

def map3 'a 'b 'c [n] 'x (f: a -> b -> c -> x) (as: [n]a) (bs: [n]b) (cs: [n]c) : *[n]x =
  map (\(a, b, c) -> f a b c) (zip3 as bs cs)

def map4 'a 'b 'c 'd [n] 'x (f: a -> b -> c -> d -> x) (as: [n]a) (bs: [n]b) (cs: [n]c) (ds: [n]d) : *[n]x =
  map (\(a, b, c, d) -> f a b c d) (zip4 as bs cs ds)

def map5 'a 'b 'c 'd 'e [n] 'x (f: a -> b -> c -> d -> e -> x) (as: [n]a) (bs: [n]b) (cs: [n]c) (ds: [n]d) (es: [n]e) : *[n]x =
  map (\(a, b, c, d, e) -> f a b c d e) (zip5 as bs cs ds es)

def hist 'a [n] (op: a -> a -> a) (ne: a) (k: i64) (is: [n]i64) (as: [n]a) : *[k]a =
  reduce_by_index (replicate k ne) op ne is as

def spread 't [n] (k: i64) (x: t) (is: [n]i64) (vs: [n]t) : *[k]t =
  scatter (replicate k x) is vs

def all [n] 'a (f: a -> bool) (as: [n]a) : bool = reduce (&&) true (map f as)

def any [n] 'a (f: a -> bool) (as: [n]a) : bool = reduce (||) false (map f as)

def exscan [n] 'a (op: a -> a -> a) (ne: a) (as: [n]a) : *[n]a =
  let sums = scan op ne as
  in map (\i -> if i == 0 then ne else sums[i - 1]) (iota n)

-- The places of what is kept come from a scan; the rest goes nowhere.
def filter [n] 'a (p: a -> bool) (as: [n]a) : *[]a =
  let keep = map p as
  let ends = scan (+) 0 (map i64.bool keep)
  let count = if n == 0 then 0 else ends[n - 1]
  let places = map2 (\k end -> if k then end - 1 else -1) keep ends
  in (scatter (#[scratch] copy as) places as)[:count]

-- What is not kept goes behind what is, in order.
def partition [n] 'a (p: a -> bool) (as: [n]a) : ?[k].([k]a, [n - k]a) =
  let keep = map p as
  let ends = scan (+) 0 (map i64.bool keep)
  let count = if n == 0 then 0 else ends[n - 1]
  let places = map3 (\i k end -> if k then end - 1 else count + i - end) (iota n) keep ends
  let moved = scatter (#[scratch] copy as) places as
  in (moved[:count], moved[count:])

def partition2 [n] 'a (p1: a -> bool) (p2: a -> bool) (as: [n]a) : ?[k][l].([k]a, [l]a, [n - k - l]a) =
  let kinds = map (\a -> if p1 a then (1i64, 0i64) else if p2 a then (0, 1) else (0, 0)) as
  let ends = scan (\(a, b) (c, d) -> (a + c, b + d)) (0, 0) kinds
  let (firsts, seconds) = if n == 0 then (0, 0) else ends[n - 1]
  let place i (first, second) (before, between) =
    if first == 1 then before - 1
    else if second == 1 then firsts + between - 1
    else firsts + seconds + i - before - between
  let moved = scatter (#[scratch] copy as) (map3 place (iota n) kinds ends) as
  in ( moved[:firsts]
     , moved[firsts:firsts + seconds] :> [seconds]a
     , moved[firsts + seconds:] :> [n - firsts - seconds]a)

def flatmap [n] 'a 'b 'c (f: a -> ?[k].([k]b, c)) (as: [n]a) : ?[m].([n]i64, [m]bool, [n]i64, [m]b, [n]c) =
  let shape = map (\a -> let (bs, _) = f a in length bs) as
  let rest = map (\a -> let (_, c) = f a in c) as
  let ends = scan (+) 0 shape
  let offsets = map2 (-) ends shape
  let elements = loop all = [] for a in as do (let (bs, _) = f a in concat all bs)
  let flags = scatter (map (\_ -> false) elements) offsets (replicate n true)
  in (shape, flags, offsets, elements, rest)

def flatmap' [n] 'a 'b (f: a -> ?[k].[k]b) (as: [n]a) : ?[m].([n]i64, [m]bool, [n]i64, [m]b) =
  let (shape, flags, offsets, elements, _) = flatmap (\x -> (f x, ())) as
  in (shape, flags, offsets, elements)

val zip [n] 'a 'b : (as: [n]a) -> (bs: [n]b) -> *[n](a, b)

def zip2 [n] 'a 'b (as: [n]a) (bs: [n]b) : *[n](a, b) = zip as bs

def zip3 [n] 'a 'b 'c (as: [n]a) (bs: [n]b) (cs: [n]c) : *[n](a, b, c) =
  map (\(a, (b, c)) -> (a, b, c)) (zip as (zip bs cs))

def zip4 [n] 'a 'b 'c 'd (as: [n]a) (bs: [n]b) (cs: [n]c) (ds: [n]d) : *[n](a, b, c, d) =
  map (\((a, b), (c, d)) -> (a, b, c, d)) (zip (zip as bs) (zip cs ds))

def zip5 [n] 'a 'b 'c 'd 'e (as: [n]a) (bs: [n]b) (cs: [n]c) (ds: [n]d) (es: [n]e) : *[n](a, b, c, d, e) =
  map (\((a, b), (c, (d, e))) -> (a, b, c, d, e)) (zip (zip as bs) (zip cs (zip ds es)))

val unzip [n] 'a 'b : (xs: [n](a, b)) -> ([n]a, [n]b)

def unzip2 [n] 'a 'b (xs: [n](a, b)) : ([n]a, [n]b) = unzip xs

def unzip3 [n] 'a 'b 'c (xs: [n](a, b, c)) : ([n]a, [n]b, [n]c) =
  let (as, rest) = unzip (map (\(a, b, c) -> (a, (b, c))) xs)
  let (bs, cs) = unzip rest
  in (as, bs, cs)

def unzip4 [n] 'a 'b 'c 'd (xs: [n](a, b, c, d)) : ([n]a, [n]b, [n]c, [n]d) =
  let (abs, cds) = unzip (map (\(a, b, c, d) -> ((a, b), (c, d))) xs)
  let (as, bs) = unzip abs
  let (cs, ds) = unzip cds
  in (as, bs, cs, ds)

def unzip5 [n] 'a 'b 'c 'd 'e (xs: [n](a, b, c, d, e)) : ([n]a, [n]b, [n]c, [n]d, [n]e) =
  let (as, rest) = unzip (map (\(a, b, c, d, e) -> (a, (b, c, d, e))) xs)
  let (bs, cs, ds, es) = unzip4 rest
  in (as, bs, cs, ds, es)
