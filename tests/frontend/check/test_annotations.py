"""What elaboration finds in the checked slots."""

from __future__ import annotations

from minifut.frontend import syntax, types
from minifut.frontend.types import Scalar, SizeVar

from .checking import check, declaration, has_metas, nodes


def test_instances_tell_types_and_sizes() -> None:
    checked = check("def f [n] (xs: [n]i32) = map (\\x -> x > 0) xs")
    (use,) = [v for v in nodes(checked, syntax.Var) if v.name.name == "map"]
    by_name = {name.base: term for name, term in use.instance.items()}
    assert by_name["a"] == Scalar("i32")
    assert by_name["x"] == Scalar("bool")
    assert by_name["n"] == SizeVar(declaration(checked, "f").scheme_parameters[0])


def test_operators_tell_their_scalar_type() -> None:
    checked = check("def f (x: f32) = x * 2")
    (operation,) = nodes(checked, syntax.BinaryOp)
    assert list(operation.operator.instance.values()) == [Scalar("f32")]
    assert operation.right.type == Scalar("f32")
    symbol = checked.prelude.intrinsics[operation.operator.name_resolved]
    assert symbol == "*"


def test_unknown_sizes_are_named_where_they_come_into_being() -> None:
    checked = check("def f (xs: []i32) = let ys = filter (> 0) xs in length ys")
    calls = [a for a in nodes(checked, syntax.Apply) if len(a.arguments) == 2]
    (call,) = calls
    assert isinstance(call.type, types.Array)
    assert call.exts == (call.type.size.name,)
    (bound,) = nodes(checked, syntax.Let)
    assert bound.pattern.type == call.type


def test_loops_bind_the_sizes_that_vary() -> None:
    checked = check("def f (n: i32) = loop xs = [0i32] for i < n do xs ++ [i]")
    (loop,) = nodes(checked, syntax.Loop)
    (size,) = loop.sizes
    assert loop.pattern.type.size == SizeVar(size)
    assert loop.type.size == SizeVar(loop.exts[0])


def test_a_loop_without_initial_value_gets_one() -> None:
    checked = check("def f (x: i32) = loop x for i < 3i32 do x + i")
    (loop,) = nodes(checked, syntax.Loop)
    assert isinstance(loop.initial, syntax.Var)


def test_fields_behind_a_variable() -> None:
    checked = check("def f (r: {a: {b: i32}}) = r.a.b")
    (use,) = nodes(checked, syntax.Var)
    assert use.fields == ("a", "b")
    assert use.type == Scalar("i32")


def test_nothing_is_left_to_be_found() -> None:
    checked = check(
        """
        def twice f x = f (f x)
        def f [n] (xs: [n]i64) =
          let g ys = map2 (+) ys (iota n)
          let (a, b) = unzip (zip xs (g xs))
          let c = loop acc = [] for i < 3i32 do acc ++ filter (\\x -> x > 1) a
          let d = match (#some a : #some ([]i64) | #none)
                  case #some x -> x
                  case #none -> b
          in (twice g a, b, c, d)
        entry main (n: i64) = f (iota n)
        """
    )
    for kind in (syntax.Exp, syntax.Pattern):
        for node in nodes(checked, kind):
            assert node.type is not None and not has_metas(node.type)
    assert [e.name for e in checked.entries] == ["main"]


def test_only_what_is_mentioned_of_the_prelude_is_checked() -> None:
    checked = check("def f (x: i32) = x + 1")
    assert list(checked.prelude.intrinsics.values()) == ["+"]
    assert not checked.prelude.definitions


def test_definitions_of_the_prelude_come_after_those_they_use() -> None:
    checked = check("def f = map3 (\\a b c -> a + b * c) [1i32] [2] [3]")
    names = [name.base for name in checked.prelude.definitions]
    assert names.index("zip3") < names.index("map3")


def test_functors_say_what_their_names_stand_for() -> None:
    checked = check(
        """
        module type monoid = { type t val zero : t val add : t -> t -> t }
        module sums (m: monoid) = {
          def total [n] (xs: [n]m.t) = reduce m.add m.zero xs
        }
        module numbers = { type t = i32 def zero = 0i32 def add (x: i32) y = x + y }
        module adding = sums numbers
        def f (xs: []i32) = adding.total xs
        """
    )
    module = next(
        d
        for d in checked.program.declarations
        if isinstance(d, syntax.ModuleDeclaration) and d.name == "adding"
    )
    assert isinstance(module.value, syntax.ModuleApply)
    parameter = module.value.bindings.parameter
    assert [b.type for b in parameter.types.values()] == [Scalar("i32")]
    assert {n.base for n in parameter.values} == {"zero", "add"}
    assert [n.base for n in module.value.bindings.result.values] == ["total"]


def test_imports_are_loaded_once_and_by_relative_path() -> None:
    checked = check(
        'import "a"\nimport "b"\ndef f = one + two',
        a="def one = 1i32",
        b='import "a"\ndef two = one + one',
    )
    assert list(checked.imports) == ["a.fut", "b.fut"]
