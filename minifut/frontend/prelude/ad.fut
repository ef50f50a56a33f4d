-- Derivatives of functions. The names ending in 2 give the results of the function, too.

val jvp2 'a 'b : (f: a -> b) -> (x: a) -> (x': a) -> (b, b)

val vjp2 'a 'b : (f: a -> b) -> (x: a) -> (y': b) -> (b, a)

val jmp2 'a 'b [n] : (f: a -> b) -> (x: a) -> (x': [n]a) -> (b, [n]b)

val mjp2 'a 'b [n] : (f: a -> b) -> (x: a) -> (y': [n]b) -> (b, [n]a)

def jvp 'a 'b (f: a -> b) (x: a) (x': a) : b = (jvp2 f x x').1

def vjp 'a 'b (f: a -> b) (x: a) (y': b) : a = (vjp2 f x y').1

def jmp 'a 'b [n] (f: a -> b) (x: a) (x': [n]a) : [n]b = (jmp2 f x x').1

def mjp 'a 'b [n] (f: a -> b) (x: a) (y': [n]b) : [n]a = (mjp2 f x y').1

-- In reverse mode the adjoint of f is f', which gets the result and its adjoint.
val with_vjp 'a 'b : (f: a -> b) -> (f': b -> b -> a) -> (x: a) -> b

-- The same with what only the adjoint needs (c) apart from the result.
def with_vjp_tape 'a 'b 'c (f: a -> (c, b)) (f': (c, b) -> a) (x: a) : b =
  (with_vjp f (\(tape, _) (_, adjoint) -> f' (tape, adjoint)) x).1
