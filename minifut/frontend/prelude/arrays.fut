-- Functions on arrays.

def length [n] 't (_: [n]t) : i64 = n

def null [n] 't (_: [n]t) : bool = n == 0

def head [n] 't (xs: [n]t) : t = xs[0]

def last [n] 't (xs: [n]t) : t = xs[n - 1]

def tail [n] 't (xs: [n]t) : [n - 1]t = xs[1:]

def init [n] 't (xs: [n]t) : [n - 1]t = xs[0:n - 1]

def take [n] 't (i: i64) (xs: [n]t) : [i]t = xs[0:i]

def drop [n] 't (i: i64) (xs: [n]t) : [n - i]t = xs[i:]

def sized [m] 't (n: i64) (xs: [m]t) : [n]t = xs :> [n]t

def split [n] [m] 't (xs: [n + m]t) : ([n]t, [m]t) = (xs[0:n], xs[n:n + m] :> [m]t)

def reverse [n] 't (xs: [n]t) : [n]t = xs[::-1]

val concat [n] [m] 't : (xs: [n]t) -> (ys: [m]t) -> *[n + m]t

def (++) [n] [m] 't (xs: [n]t) (ys: [m]t) : *[n + m]t = concat xs ys

val iota : (n: i64) -> *[n]i64

def indices [n] 't (_: [n]t) : *[n]i64 = iota n

def rotate [n] 't (r: i64) (xs: [n]t) : *[n]t =
  map (\i -> #[unsafe] xs[(i + r) % n]) (iota n)

val replicate 't : (n: i64) -> (x: t) -> *[n]t

def rep 't [n] (x: t) : *[n]t = replicate n x

val copy 't : (x: t) -> *t

val manifest 't : (x: t) -> *t

val flatten [n] [m] 't : (xs: [n][m]t) -> [n * m]t

def flatten_3d [n] [m] [l] 't (xs: [n][m][l]t) : [n * m * l]t = flatten (flatten xs)

def flatten_4d [n] [m] [l] [k] 't (xs: [n][m][l][k]t) : [n * m * l * k]t =
  flatten (flatten_3d xs)

val unflatten 't [n] [m] : (xs: [n * m]t) -> [n][m]t

def unflatten_3d 't [n] [m] [l] (xs: [n * m * l]t) : [n][m][l]t = unflatten (unflatten xs)

def unflatten_4d 't [n] [m] [l] [k] (xs: [n * m * l * k]t) : [n][m][l][k]t =
  unflatten (unflatten_3d xs)

val transpose [n] [m] 't : (xs: [n][m]t) -> [m][n]t

def and [n] (xs: [n]bool) : bool = all id xs

def or [n] (xs: [n]bool) : bool = any id xs

def foldl [n] 'a 'b (f: a -> b -> a) (start: a) (xs: [n]b) : a =
  loop so_far = start for x in xs do f so_far x

def foldr [n] 'a 'b (f: b -> a -> a) (start: a) (xs: [n]b) : a =
  loop so_far = start for x in reverse xs do f x so_far

def tabulate 'a (n: i64) (f: i64 -> a) : *[n]a = map f (iota n)

def tabulate_2d 'a (n: i64) (m: i64) (f: i64 -> i64 -> a) : *[n][m]a =
  map (\i -> map (f i) (iota m)) (iota n)

def tabulate_3d 'a (n: i64) (m: i64) (o: i64) (f: i64 -> i64 -> i64 -> a) : *[n][m][o]a =
  map (\i -> map (\j -> map (f i j) (iota o)) (iota m)) (iota n)
