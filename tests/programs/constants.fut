-- Constants that their types do not hold: floats are rounded, integers wrap.
-- ==
-- entry: product
-- input { 0.52420723f32 } output { 436905.0f32 true }

-- The product with the exact number, rounded once, is 436905.03f32.
entry product (x: f32) = let y = x * 833458.57832f32 in (y, y == 436905f32)

-- ==
-- entry: circle
-- input { 5f32 } output { 15.707964f32 true }

-- 5 * pi, rounded once, is 15.707963f32; the nearest f32 to pi is a little greater.
entry circle (x: f32) = let y = x * f32.pi in (y, y == 15.707964f32)

-- ==
-- entry: bytes
-- input { 0i8 } output { [-1i8, -128i8, 0i8] true }
entry bytes (x: i8) = ([255i8, 128i8, x], 255i8 < x)

-- ==
-- entry: half
-- input { 1f16 } output { true }
entry half (x: f16) = f32.f16 (x * 0.1f16) == 0.099975586f32
