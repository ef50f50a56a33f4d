"""Statements that call modules, functors, and polymorphic and lifted functions.

Declarations precede main: `Maker.declare` keeps each text once.
"""

from __future__ import annotations

from tests.random_sources.maker import FLOATS, I64, Maker, Scope, Type, factor

MONOID = """module type monoid = {
  type t
  val op : t -> t -> t
  val unit : t
  val of : i64 -> t
  val out : t -> i64
}"""
PAIR = """module pair (A: monoid) (B: monoid) : monoid = {
  type t = (A.t, {second: B.t})
  def op (a, b: {second: B.t}) (c, d: {second: B.t}) : t =
    (A.op a c, {second = B.op b.second d.second})
  def unit : t = (A.unit, {second = B.unit})
  def of (x: i64) : t = (A.of x, {second = B.of (x + 1)})
  def out ((a, b): t) = A.out a * 2 + B.out b.second
}"""
ROW = """module row (A: monoid) : monoid = {
  type t = [3]A.t
  def op (x: t) (y: t) : t = map2 A.op x y
  def unit : t = replicate 3 A.unit
  def of (x: i64) : t = map (\\i -> A.of (x * i)) (iota 3)
  def out (x: t) = reduce (\\a b -> a + b) 0 (map A.out x)
}"""
OPTION = """module option (A: monoid) : monoid = {
  type t = #some A.t | #none
  def op (x: t) (y: t) : t =
    match (x, y)
    case (#none, r) -> r
    case (r, #none) -> r
    case (#some a, #some b) -> #some (A.op a b)
  def unit : t = #none
  def of (x: i64) : t = if x % 3 == 0 then #none else #some (A.of x)
  def out (x: t) = match x case #none -> -7 case #some a -> A.out a
}"""
FOLDS = """module folds (M: monoid) = {
  def all [p] (xs: [p]i64) : i64 = M.out (reduce M.op M.unit (map M.of xs))
  def prefixes [p] (xs: [p]i64) : [p]i64 =
    map M.out (scan M.op M.unit (map M.of xs))
  def power (k: i64) (x: i64) : i64 =
    M.out (loop a = M.of x for i < k do M.op a (M.of i))
}"""
FUNCTORS = {"pair": PAIR, "row": ROW, "option": OPTION}
LIBRARY = {
    "twice": "def twice 'a (f: a -> a) (x: a) : a = f (f x)",
    "with_index": "def with_index [p] 'a 'b (f: i64 -> a -> b) (xs: [p]a) : [p]b = "
    "map2 f (iota p) xs",
    "fold_rows": "def fold_rows [p][q] 'a (op: a -> a -> a) (ne: a) (xs: [p][q]a) : "
    "[p]a = map (reduce op ne) xs",
    "pairs_of": "def pairs_of [p] 'a 'b (xs: [p]a) (ys: [p]b) : [p]{l: a, r: b} = "
    "map2 (\\x y -> {l = x, r = y}) xs ys",
    "choose": "def choose 'a (c: bool) (f: () -> a) (g: () -> a) : a = "
    "if c then f () else g ()",
}


def functor(make: Maker, scope: Scope) -> None:
    """A fold in a module made of other modules."""
    found = [
        (name, type_)
        for name, type_ in scope.values
        if len(type_.dims) == 1 and type_.element in ("i32", "i64")
    ]
    if not found or make.depth_left(scope) < 2:
        return
    name, type_ = make.random.choice(found[-6:])
    make.declare(MONOID)
    make.declare(FOLDS)
    inside = _base(make)
    for _ in range(make.random.randint(0, 2)):
        functor = make.one_of(*FUNCTORS)
        make.declare(FUNCTORS[functor])
        second = f" {_base(make)}" if functor == "pair" else ""
        outside = make.fresh("M")
        make.declare(f"module {outside} = {functor} {inside}{second}")
        inside = outside
    module = make.fresh("F")
    make.declare(f"module {module} = folds {inside}")
    values = f"(map (\\v -> i64.{type_.element} v % 100) {name})"
    match make.random.randrange(3):
        case 0:
            make.bind(scope, I64, f"{module}.all {values}")
        case 1:
            make.bind(scope, I64.of(type_.dims[0]), f"{module}.prefixes {values}")
        case _:
            k, x = make.scalar(scope, "i64"), make.scalar(scope, "i64")
            make.bind(scope, I64, f"{module}.power ({k} & 3) {x}")


def _base(make: Maker) -> str:
    """A module of a scalar type."""
    element = make.one_of("i32", "i64", "u8", "f64", "i16")
    operator, unit = make.operator(element)
    value = "x % 5" if element in FLOATS else "x"
    name = make.fresh("B")
    make.declare(
        f"module {name} : monoid = {{\n  type t = {element}\n"
        f"  def op (x: {element}) (y: {element}) : {element} = {operator} x y\n"
        f"  def unit = {unit}\n  def of (x: i64) = {element}.i64 ({value})\n"
        f"  def out (x: {element}) = i64.{element} x\n}}"
    )
    return name


def polymorphic(make: Maker, scope: Scope) -> None:
    """A call of a function of functions."""
    which = make.one_of(*LIBRARY)
    make.declare(LIBRARY[which])
    if which == "choose":
        type_ = make.known_type(scope)
        condition = make.operation(scope, "bool")
        bodies = [make.body(scope.inner(), [type_], 2) for _ in range(2)]
        text = " ".join(f"(\\() -> {body})" for body in bodies)
        make.bind(scope, type_, f"choose ({condition}) {text}")
        return
    if which == "twice":
        type_ = make.known_type(scope)
        function = make.function(scope, [type_], [type_], 2)
        make.bind(scope, type_, f"twice {function} {make.value(scope, type_)}")
        return
    found = make.array(scope, most=2)
    if found is None:
        return
    name, type_ = found
    outer, result = type_.dims[0], make.result_type(scope)
    if which == "with_index":
        function = make.function(scope, [I64, type_.row], [result], 2)
        make.bind(scope, result.of(outer), f"with_index {function} {name}")
    elif which == "fold_rows" and len(type_.dims) == 2:
        operator, unit = make.operator(type_.element)
        text = f"fold_rows {operator} {unit} {name}"
        make.bind(scope, Type(type_.element, type_.dims[:1]), text)
    elif which == "pairs_of":
        x, i = make.fresh("x"), make.fresh("x")
        inner = scope.inner([(x, type_.row), (i, I64)])
        body = make.body(inner, [result], 2)
        pairs = f"(pairs_of {name} (iota {factor(outer)}))"
        text = f"map (\\{{l = {x}, r = {i}}} -> {body}) {pairs}"
        make.bind(scope, result.of(outer), text)


def function(make: Maker, scope: Scope) -> None:
    """A function of the top level, called here at one or two arrays."""
    found = make.array(scope, most=1)
    if found is None or make.depth_left(scope) < 2:
        return
    name, type_ = found
    result = Type(make.element())
    row = make.chance(0.5)
    given = [("xs", Type(type_.element, ("p",))), ("k", I64), ("p", I64)]
    own = Scope(given, ("p", "3"), 1)
    whole = result.of("p") if row else result
    body = make.body(own, [whole], 3)
    called = make.fresh("fun")
    make.declare(
        f"def {called} [p] (xs: [p]{type_.element}) (k: i64) : {whole} =\n  {body}"
    )
    others = [n for n, t in scope.values if t.dims and t.row == type_.row]
    for array in {name, make.random.choice(others)}:
        dims = next(t.dims for n, t in reversed(scope.values) if n == array)
        text = f"{called} {array} {make.scalar(scope, 'i64')}"
        make.bind(scope, Type(result.element, dims) if row else result, text)
