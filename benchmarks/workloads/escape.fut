-- Mandelbrot's set by arrays: each step goes over all points
entry main (n: i64) (limit: i64): [n][n]i32 =
  let line = map (\i -> 3 * f32.i64 i / f32.i64 n) (iota n)
  let c = map (\y -> map (\x -> (x - 2.25, y - 1.5)) line) line
  let z = map (map (const (0, 0))) c
  let counts = map (map (const 0i32)) c
  let (_, counts) = loop (z, counts) for _i < limit do
    let alive = map (map (\(x, y) -> x * x + y * y <= 4)) z
    in (map3 (map3 (\a (x, y) (cx, cy) ->
               if a then (x * x - y * y + cx, 2 * x * y + cy) else (x, y))) alive z c,
        map2 (map2 (\a k -> k + i32.bool a)) alive counts)
  in counts
