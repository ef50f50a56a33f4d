-- For each query the document that is most similar to it, by the cosine.
def dot [k] (x: [k]f32) (y: [k]f32): f32 = f32.sum (map2 (*) x y)

def unit [k] (x: [k]f32): [k]f32 =
  let length = f32.sqrt (dot x x)
  in map (/ length) x

entry main [q] [n] [k] (queries: [q][k]f32) (documents: [n][k]f32): [q]i64 =
  let units = map unit documents
  let better (a, i) (b, j) = if a >= b then (a, i) else (b, j)
  in map (\query -> (reduce better (-f32.inf, -1) (zip (map (dot query) units) (iota n))).1)
         queries
