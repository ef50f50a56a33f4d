-- Functions on arrays.

def length [n] 't (_: [n]t): i64 = n

def null [n] 't (_: [n]t): bool = n == 0

def head [n] 't (x: [n]t): t = x[0]

def last [n] 't (x: [n]t): t = x[n - 1]

def tail [n] 't (x: [n]t): [n - 1]t = x[1:]

def init [n] 't (x: [n]t): [n - 1]t = x[0:n - 1]

def take [n] 't (i: i64) (x: [n]t): [i]t = x[0:i]

def drop [n] 't (i: i64) (x: [n]t): [n - i]t = x[i:]

def sized [m] 't (n: i64) (xs: [m]t): [n]t = xs :> [n]t

def split [n] [m] 't (xs: [n + m]t): ([n]t, [m]t) =
  (xs[0:n], xs[n:n + m] :> [m]t)

def (++) [n] [m] 't (xs: [n]t) (ys: [m]t): *[n + m]t = concat xs ys

def indices [n] 't (_: [n]t): *[n]i64 = iota n

def rotate [n] 't (r: i64) (a: [n]t): *[n]t =
  map (\i -> #[unsafe] a[(i + r) % n]) (iota n)

def rep 't [n] (x: t): *[n]t = replicate n x

def flatten_3d [n] [m] [l] 't (xs: [n][m][l]t): [n * m * l]t =
  flatten (flatten xs)

def flatten_4d [n] [m] [l] [k] 't (xs: [n][m][l][k]t): [n * m * l * k]t =
  flatten (flatten_3d xs)

def unflatten_3d 't [n] [m] [l] (xs: [n * m * l]t): [n][m][l]t =
  unflatten (unflatten xs)

def unflatten_4d 't [n] [m] [l] [k] (xs: [n * m * l * k]t): [n][m][l][k]t =
  unflatten (unflatten_3d xs)

def and [n] (xs: [n]bool): bool = reduce_comm (&&) true xs

def or [n] (xs: [n]bool): bool = reduce_comm (||) false xs

def foldl [n] 'a 'b (f: a -> b -> a) (acc: a) (bs: [n]b): a =
  loop acc for b in bs do f acc b

def foldr [n] 'a 'b (f: b -> a -> a) (acc: a) (bs: [n]b): a =
  loop acc for b in reverse bs do f b acc

def tabulate 'a (n: i64) (f: i64 -> a): *[n]a = map f (iota n)

def tabulate_2d 'a (n: i64) (m: i64) (f: i64 -> i64 -> a): *[n][m]a =
  map (\i -> tabulate m (f i)) (iota n)

def tabulate_3d 'a (n: i64) (m: i64) (o: i64) (f: i64 -> i64 -> i64 -> a): *[n][m][o]a =
  map (\i -> tabulate_2d m o (f i)) (iota n)
