-- Rotary position embeddings: pairs of each row by an angle of their own
entry main [n][e][d] (rows: [n][e]f32) (cosines: [n][d]f32) (sines: [n][d]f32): [n][d * 2]f32 =
  map3 (\row cs ss ->
    flatten (map3 (\p c s -> [p[0] * c - p[1] * s, p[0] * s + p[1] * c])
                  (unflatten (row :> [d * 2]f32)) cs ss))
       rows cosines sines
