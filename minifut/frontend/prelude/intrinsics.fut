-- What the compiler implements itself, by signature. All of it is in scope under these
-- names; each is looked up (and its line parsed) only when a program mentions it.

module type intrinsics = {
  -- Second-order array combinators.
  val map 'a [n] 'x : (a -> x) -> [n]a -> *[n]x
  val reduce [n] 'a : (a -> a -> a) -> a -> [n]a -> a
  val reduce_comm [n] 'a : (a -> a -> a) -> a -> [n]a -> a
  val scan [n] 'a : (a -> a -> a) -> a -> [n]a -> *[n]a
  val scatter 't [k] [n] : *[k]t -> [n]i64 -> [n]t -> *[k]t
  val scatter_2d 't [k] [n] [l] : *[k][n]t -> [l](i64, i64) -> [l]t -> *[k][n]t
  val scatter_3d 't [k] [n] [o] [l] : *[k][n][o]t -> [l](i64, i64, i64) -> [l]t -> *[k][n][o]t
  val reduce_by_index 'a [k] [n] : *[k]a -> (a -> a -> a) -> a -> [n]i64 -> [n]a -> *[k]a
  val reduce_by_index_2d 'a [k] [n] [m] : *[k][n]a -> (a -> a -> a) -> a -> [m](i64, i64) -> [m]a -> *[k][n]a
  val reduce_by_index_3d 'a [k] [n] [o] [m] : *[k][n][o]a -> (a -> a -> a) -> a -> [m](i64, i64, i64) -> [m]a -> *[k][n][o]a

  -- Arrays as they lie in memory.
  val zip [n] 'a 'b : [n]a -> [n]b -> *[n](a, b)
  val unzip [n] 'a 'b : [n](a, b) -> ([n]a, [n]b)
  val iota : (n: i64) -> *[n]i64
  val replicate 't : (n: i64) -> t -> *[n]t
  val concat [n] [m] 't : [n]t -> [m]t -> *[n + m]t
  val flatten [n] [m] 't : [n][m]t -> [n * m]t
  val unflatten 't [n] [m] : [n * m]t -> [n][m]t
  val transpose [n] [m] 't : [n][m]t -> [m][n]t
  val reverse [n] 't : [n]t -> [n]t
  val copy 't : t -> *t
  val manifest 't : t -> *t

  -- Derivatives.
  val jvp2 'a 'b : (a -> b) -> a -> a -> (b, b)
  val vjp2 'a 'b : (a -> b) -> a -> b -> (b, a)
  val jmp2 'a 'b [n] : (a -> b) -> a -> [n]a -> (b, [n]b)
  val mjp2 'a 'b [n] : (a -> b) -> a -> [n]b -> (b, [n]a)
  val with_vjp 'a 'b : (a -> b) -> (b -> b -> a) -> a -> b

  -- Marks that passes and the run time see.
  val opaque 't : t -> t
  val trace 't : t -> t
  val break 't : t -> t
}
