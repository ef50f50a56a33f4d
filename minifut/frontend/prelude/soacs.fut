-- Combinators that are made of others.

def map1 'a [n] 'x (f: a -> x) (as: [n]a): *[n]x = map f as

def map2 'a 'b [n] 'x (f: a -> b -> x) (as: [n]a) (bs: [n]b): *[n]x =
  map (\(a, b) -> f a b) (zip as bs)

def map3 'a 'b 'c [n] 'x (f: a -> b -> c -> x) (as: [n]a) (bs: [n]b) (cs: [n]c): *[n]x =
  map (\(a, (b, c)) -> f a b c) (zip as (zip bs cs))

def map4 'a 'b 'c 'd [n] 'x (f: a -> b -> c -> d -> x) (as: [n]a) (bs: [n]b) (cs: [n]c) (ds: [n]d): *[n]x =
  map (\((a, b), (c, d)) -> f a b c d) (zip (zip as bs) (zip cs ds))

def map5 'a 'b 'c 'd 'e [n] 'x (f: a -> b -> c -> d -> e -> x) (as: [n]a) (bs: [n]b) (cs: [n]c) (ds: [n]d) (es: [n]e): *[n]x =
  map (\((a, b), (c, (d, e))) -> f a b c d e) (zip (zip as bs) (zip cs (zip ds es)))

def all [n] 'a (f: a -> bool) (as: [n]a): bool = reduce_comm (&&) true (map f as)

def any [n] 'a (f: a -> bool) (as: [n]a): bool = reduce_comm (||) false (map f as)

def hist 'a [n] (op: a -> a -> a) (ne: a) (k: i64) (is: [n]i64) (as: [n]a): *[k]a =
  reduce_by_index (replicate k ne) op ne is as

def spread 't [n] (k: i64) (x: t) (is: [n]i64) (vs: [n]t): *[k]t =
  scatter (replicate k x) is vs

def exscan [n] 'a (op: a -> a -> a) (ne: a) (as: [n]a): *[n]a =
  let before = scan op ne as
  in scatter (replicate n ne) (map (+ 1) (iota n)) before

-- Each kept element goes to its rank among the kept ones.
def filter [n] 'a (p: a -> bool) (as: [n]a): *[]a =
  let kept = map p as
  let ranks = scan (+) 0 (map i64.bool kept)
  let count = if n == 0 then 0 else ranks[n - 1]
  let targets = map2 (\keep rank -> if keep then rank - 1 else -1) kept ranks
  in (scatter (copy as) targets as)[:count]

-- Those that satisfy `p`, then those that do not, both in their order.
def partition [n] 'a (p: a -> bool) (as: [n]a): ?[k].([k]a, [n - k]a) =
  let first = map p as
  let ranks = scan (+) 0 (map i64.bool first)
  let count = if n == 0 then 0 else ranks[n - 1]
  let targets =
    map3 (\is_first rank i -> if is_first then rank - 1 else count + i - rank)
         first ranks (iota n)
  let sorted = scatter (copy as) targets as
  in (sorted[:count], sorted[count:] :> [n - count]a)

def partition2 [n] 'a (p: a -> bool) (q: a -> bool) (as: [n]a): ?[k][l].([k]a, [l]a, [n - k - l]a) =
  let classes = map (\a -> if p a then (1i64, 0i64) else if q a then (0, 1) else (0, 0)) as
  let ranks = scan (\(a, b) (c, d) -> (a + c, b + d)) (0, 0) classes
  let (k, l) = if n == 0 then (0, 0) else ranks[n - 1]
  let target (is_first: i64, is_second: i64) (rank_first: i64, rank_second: i64) (i: i64): i64 =
    if is_first == 1 then rank_first - 1
    else if is_second == 1 then k + rank_second - 1
    else k + l + i - rank_first - rank_second
  let sorted = scatter (copy as) (map3 target classes ranks (iota n)) as
  in (sorted[:k], sorted[k:k + l] :> [l]a, sorted[k + l:] :> [n - k - l]a)
