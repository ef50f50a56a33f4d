-- Strided parts of a flat array, in scope as members of `intrinsics` only. Element
-- [i][j] of the part is element `offset + i * s1 + j * s2` of the array; an element of
-- `iota n` is its own index, checked.

def flat_index_2d [n] 'a (as: [n]a) (offset: i64) (n1: i64) (s1: i64) (n2: i64) (s2: i64) : [n1][n2]a =
  tabulate n1 (\i -> tabulate n2 (\j -> as[offset + i * s1 + j * s2]))

def flat_index_3d [n] 'a (as: [n]a) (offset: i64) (n1: i64) (s1: i64) (n2: i64) (s2: i64) (n3: i64) (s3: i64) : [n1][n2][n3]a =
  tabulate n1 (\i -> intrinsics.flat_index_2d as (offset + i * s1) n2 s2 n3 s3)

def flat_index_4d [n] 'a (as: [n]a) (offset: i64) (n1: i64) (s1: i64) (n2: i64) (s2: i64) (n3: i64) (s3: i64) (n4: i64) (s4: i64) : [n1][n2][n3][n4]a =
  tabulate n1 (\i -> intrinsics.flat_index_3d as (offset + i * s1) n2 s2 n3 s3 n4 s4)

def flat_update_2d [n] [k] [l] 'a (as: *[n]a) (offset: i64) (s1: i64) (s2: i64) (values: [k][l]a) : *[n]a =
  let places = intrinsics.flat_index_2d (iota n) offset k s1 l s2
  in scatter as (flatten places) (flatten values)

def flat_update_3d [n] [k] [l] [p] 'a (as: *[n]a) (offset: i64) (s1: i64) (s2: i64) (s3: i64) (values: [k][l][p]a) : *[n]a =
  let places = intrinsics.flat_index_3d (iota n) offset k s1 l s2 p s3
  in scatter as (flatten (flatten places)) (flatten (flatten values))

def flat_update_4d [n] [k] [l] [p] [q] 'a (as: *[n]a) (offset: i64) (s1: i64) (s2: i64) (s3: i64) (s4: i64) (values: [k][l][p][q]a) : *[n]a =
  let places = intrinsics.flat_index_4d (iota n) offset k s1 l s2 p s3 q s4
  in scatter as (flatten (flatten (flatten places))) (flatten (flatten (flatten values)))
