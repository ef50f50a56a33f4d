-- The wave equation on a torus: two time steps are kept
entry main [n] (steps: i32) (before: [n][n]f32) (now: [n][n]f32): [n][n]f32 =
  let step before now =
    tabulate_2d n n (\i j ->
      let around = now[(i + 1) % n, j] + now[(i + n - 1) % n, j]
                   + now[i, (j + 1) % n] + now[i, (j + n - 1) % n]
      in 2 * now[i, j] - before[i, j] + 0.2 * (around - 4 * now[i, j]))
  in (loop (before, now) for _i < steps do (now, step before now)).1
