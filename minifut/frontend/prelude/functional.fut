-- Functions on functions, and the rest.

def (|>) '^a '^b (x: a) (f: a -> b) : b = f x

def (<|) '^a '^b (f: a -> b) (x: a) : b = f x

def (>->) '^a '^b '^c (f: a -> b) (g: b -> c) (x: a) : c = g (f x)

def (<-<) '^a '^b '^c (g: b -> c) (f: a -> b) (x: a) : c = g (f x)

def flip '^a '^b '^c (f: a -> b -> c) (b: b) (a: a) : c = f a b

def curry '^a '^b '^c (f: (a, b) -> c) (a: a) (b: b) : c = f (a, b)

def uncurry '^a '^b '^c (f: a -> b -> c) (a: a, b: b) : c = f a b

def const '^a '^b (x: a) (_: b) : a = x

def id '^a (x: a) : a = x

def iterate 'a (n: i32) (f: a -> a) (x: a) : a = loop y = x for _i < n do f y

def iterate_until 'a (p: a -> bool) (f: a -> a) (x: a) : a =
  loop y = x while !(p y) do f y

def iterate_while 'a (p: a -> bool) (f: a -> a) (x: a) : a = loop y = x while p y do f y

def not (x: bool) : bool = !x

def r32 (x: i32) : f32 = f32.i32 x

def t32 (x: f32) : i32 = i32.f32 x

def r64 (x: i32) : f64 = f64.i32 x

def t64 (x: f64) : i32 = i32.f64 x

def opaque 't (x: t) : t = #[opaque] x

def trace 't (x: t) : t = #[trace(trace)] x

def break 't (x: t) : t = #[break] x
