-- The four nearest points of each query, nearest first.
entry main [n][q] (px: [n]f32) (py: [n]f32) (qx: [q]f32) (qy: [q]f32): [q][4]i32 =
  map2 (\x y ->
    let (_, is) =
      loop (ds, is) = (replicate 4 f32.inf, replicate 4 (-1i32)) for p < n do
        let d = (px[p] - x) * (px[p] - x) + (py[p] - y) * (py[p] - y)
        in if d >= ds[3] then (ds, is)
           else let (d, i, ds, is) =
                  loop (d, i, ds, is) = (d, i32.i64 p, ds, is) for k < 4 do
                    if d < ds[k] then let d' = ds[k] let i' = is[k]
                                      in (d', i', ds with [k] = d, is with [k] = i)
                    else (d, i, ds, is)
                in (ds, is)
    in is) qx qy
