-- Areas of the triangles of a mesh
def cross (a: [3]f32) (b: [3]f32): [3]f32 =
  [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]

entry main [v][n] (places: [v][3]f32) (triangles: [n][3]i32): [n]f32 =
  map (\t ->
    let a = places[t[0]]
    let normal = cross (map2 (-) places[t[1]] a) (map2 (-) places[t[2]] a)
    in f32.sqrt (f32.sum (map (\x -> x * x) normal)) / 2) triangles
