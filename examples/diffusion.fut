-- Edge-preserving smoothing of a photograph (Perona and Malik, 1990).
--
-- Every step moves each pixel towards its four neighbours, less so across strong edges:
-- a stencil over a colour image [height][width][3], the edges of the image reflecting.
-- ==
-- entry: main
-- input { 3 0.2f32 0.1f32 [[[0.5f32], [0.5f32]], [[0.5f32], [0.5f32]]] }
-- output { [[[0.5f32], [0.5f32]], [[0.5f32], [0.5f32]]] }

-- How much of a difference flows: near 1 for small ones, near 0 across edges.
def flow (sharpness: f32) (difference: f32): f32 =
  let ratio = difference / sharpness
  in difference / (1 + ratio * ratio)

def step [height] [width] [channels]
    (rate: f32) (sharpness: f32) (image: [height][width][channels]f32)
    : [height][width][channels]f32 =
  tabulate_3d height width channels (\y x c ->
    let here = image[y, x, c]
    let north = image[i64.max 0 (y - 1), x, c]
    let south = image[i64.min (height - 1) (y + 1), x, c]
    let west = image[y, i64.max 0 (x - 1), c]
    let east = image[y, i64.min (width - 1) (x + 1), c]
    let change =
      flow sharpness (north - here) + flow sharpness (south - here)
      + flow sharpness (west - here) + flow sharpness (east - here)
    in here + rate * change)

entry main [height] [width] [channels]
    (steps: i32) (rate: f32) (sharpness: f32) (image: [height][width][channels]f32)
    : [height][width][channels]f32 =
  loop image for _i < steps do step rate sharpness image
