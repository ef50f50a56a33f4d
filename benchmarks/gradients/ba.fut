-- Bundle adjustment: the squares of the weighted errors with which points appear in the
-- images of cameras. A camera: rotation vector, centre, focal length, principal point,
-- two coefficients of radial distortion.

def dot (a: [3]f64) (b: [3]f64): f64 = a[0] * b[0] + a[1] * b[1] + a[2] * b[2]

def cross (a: [3]f64) (b: [3]f64): [3]f64 =
  [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]

def rotated (by: [3]f64) (x: [3]f64): [3]f64 =
  let square = dot by by
  in if square == 0 then map2 (+) x (cross by x)
     else let angle = f64.sqrt square
          let axis = map (/ angle) by
          let (c, s) = (f64.cos angle, f64.sin angle)
          let along = dot axis x * (1 - c)
          in map3 (\v w a -> v * c + w * s + a * along) x (cross axis x) axis

def projected (camera: [11]f64) (point: [3]f64): (f64, f64) =
  let seen = rotated (take 3 camera) (map2 (-) point (camera[3:6] :> [3]f64))
  let (x, y) = (seen[0] / seen[2], seen[1] / seen[2])
  let square = x * x + y * y
  let bend = 1 + camera[9] * square + camera[10] * square * square
  in (x * bend * camera[6] + camera[7], y * bend * camera[6] + camera[8])

entry ba [n] [m] [p] (cameras: [n][11]f64) (points: [m][3]f64) (weights: [p]f64)
                     (which: [p][2]i32) (seen: [p][2]f64): f64 =
  let error w (o: [2]i32) (at: [2]f64) =
    let (x, y) = projected cameras[o[0]] points[o[1]]
    in (w * (x - at[0])) ** 2 + (w * (y - at[1])) ** 2
  in f64.sum (map3 error weights which seen)
     + f64.sum (map (\w -> (1 - w * w) ** 2) weights)
