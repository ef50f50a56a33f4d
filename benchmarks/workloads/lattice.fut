-- lattice Boltzmann in two dimensions with nine velocities on a torus
def dx: [9]i64 = [0, 1, 0, -1, 0, 1, -1, -1, 1]
def dy: [9]i64 = [0, 0, 1, 0, -1, 1, 1, -1, -1]
def shares: [9]f32 = [4/9, 1/9, 1/9, 1/9, 1/9, 1/36, 1/36, 1/36, 1/36]

def collide (f: [9]f32): [9]f32 =
  let density = f32.sum f
  let u = f32.sum (map2 (\x d -> x * f32.i64 d) f dx) / density
  let v = f32.sum (map2 (\x d -> x * f32.i64 d) f dy) / density
  in map4 (\x s a b ->
       let along = 3 * (f32.i64 a * u + f32.i64 b * v)
       let rest = s * density * (1 + along + along * along / 2 - 1.5 * (u * u + v * v))
       in 0.4 * x + 0.6 * rest) f shares dx dy

entry main [n][m] (steps: i64) (f: [9][n][m]f32): [9][n][m]f32 =
  loop f for _k < steps do
    let moved = map3 (\g a b -> map (rotate (-b)) (rotate (-a) g)) f dx dy
    let points = map transpose (transpose moved)
    in transpose (map transpose (map (map collide) points))
