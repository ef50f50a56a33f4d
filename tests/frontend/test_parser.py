"""How expressions, types and declarations are read: precedence and ambiguities."""

from __future__ import annotations

import pytest

from minifut.errors import CompileError, Location, Source
from minifut.frontend import syntax as s
from minifut.frontend.parser import NESTING_LIMIT, parse_program
from tests.frontend.parsing import parse_expression

from .shapes import declaration, expression, program, shape, type_of


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("a + b * c - d", "(- (+ a (* b c)) d)"),
        ("a - b - c", "(- (- a b) c)"),
        ("a ** b ** c", "(** (** a b) c)"),
        ("a |> f |> g", "(|> (|> a f) g)"),
        ("f <| g <| x", "(<| f (<| g x))"),
        ("a |> f <| b", "(|> a (<| f b))"),
        (
            "a || b && c == d | e << f + g * h ** i",
            "(|| a (&& b (== c (| d (<< e (+ f (* g (** h i))))))))",
        ),
        ("a <*> b + c", "(<*> a (+ b c))"),
        ("a >>= b + c", "(>>= a (+ b c))"),
        ("a `f` b || c", "(f a (|| b c))"),
        ("x M.+ y * z", "(M.+ x (* y z))"),
        ("a !! b == c", "(== (!! a b) c)"),
        ("a + b with [0] = 1 + 2", "(Update (+ a b) [[0]] (+ 1 2))"),
        ("a with [0] = 1 with [1] = 2", "(Update (Update a [[0]] 1) [[1]] 2)"),
        ("a `f` b with [0] = 1", "(f a (Update b [[0]] 1))"),
        ("r with x.y[1].z = 2", "(Update r [x y [1] z] 2)"),
        ("0..<n + 1", "(RangeExp 0 none (+ n 1) ..<)"),
        ("0..2...n", "(RangeExp 0 2 n ...)"),
        ("a...b `f` c", "(RangeExp a none (f b c) ...)"),
        ("x : i32 :> t", "(Coercion (Ascription x i32) t)"),
    ],
)
def test_operators_bind_by_their_first_characters(text: str, read: str) -> None:
    assert expression(text) == read


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("-x + y", "(+ (neg x) y)"),
        ("-x ** 2", "(** (neg x) 2)"),
        ("- - x", "(neg (neg x))"),
        ("-f x", "(neg (f x))"),
        ("!a && b", "(&& (not a) b)"),
        ("-if a then b else c", "(neg (If a b c))"),
        ("if a then b else c + d", "(If a b (+ c d))"),
        ("if a then b else if c then d else e", "(If a b (If c d e))"),
        ("x + if a then b else c + d : i32", "(+ x (If a b (Ascription (+ c d) i32)))"),
        ("\\x y -> x + y : i32", "(Lambda [x y] none (Ascription (+ x y) i32))"),
        ("map \\x -> x + 1", "(map (Lambda [x] none (+ x 1)))"),
        ("f x \\y : i32 -> y", "(f x (Lambda [y] i32 y))"),
        ("assert c x + y", "(Assert c (+ x y))"),
        (
            "#[a(b,2)] x + y",
            "(Attributed (Attribute a [(Attribute b none) (Attribute 2 none)]) (+ x "
            "y))",
        ),
        (
            "match a case 1 -> match b case _ -> c case -1 -> d",
            "(Match a [(Case (LiteralPattern 1) (Match b [(Case (WildcardPattern) "
            "c) (Case (LiteralPattern -1) d)]))])",
        ),
    ],
)
def test_prefix_forms_reach_far_right(text: str, read: str) -> None:
    assert expression(text) == read


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("f -1", "(- f 1)"),
        ("f x y.z (g 1)", "(f x y.z <(g 1)>)"),
        ("f a[0] [1]", "(f (Index a [0]) (ArrayExp [1]))"),
        ("a[i] + b [i]", "(+ (Index a [i]) (b (ArrayExp [i])))"),
        ("a[0][1,2]", "(Index (Index a [0]) [1 2])"),
        ("a[::-1]", "(Index a [(SliceIndex none none (neg 1))])"),
        (
            "a[i:j:k, :n, 1:, :]",
            "(Index a [(SliceIndex i j k) (SliceIndex none n none) (SliceIndex 1 "
            "none none) (SliceIndex none none none)])",
        ),
        ("x.0.1", "(Project (Project x 0) 1)"),
        ("(x).0.y", "(Project (Project <x> 0) y)"),
        ("m.(a + b)", "(QualParens m (+ a b))"),
        ("#foo #bar 1", "(Constructor foo [(Constructor bar []) 1])"),
        (
            "{x = 1, y, 0 = 2,}",
            "(RecordExp [(FieldAssignment x 1) (FieldAssignment y y) "
            "(FieldAssignment 0 2)])",
        ),
        ("[1, 2,]", "(ArrayExp [1 2])"),
        ("()", "(TupleExp [])"),
        ("(1, 2,)", "(TupleExp [1 2])"),
        ("{}", "(RecordExp [])"),
        ("???", "(Hole)"),
    ],
)
def test_atoms_and_application(text: str, read: str) -> None:
    assert expression(text) == read


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("(+)", "(OperatorSection + none none)"),
        ("(-)", "(OperatorSection - none none)"),
        ("(+ 1)", "(OperatorSection + none 1)"),
        ("(1 -)", "(OperatorSection - 1 none)"),
        ("(-1)", "<(neg 1)>"),
        ("(a * b +)", "(OperatorSection + (* a b) none)"),
        ("(`f` x)", "(OperatorSection f none x)"),
        ("(x `m.f`)", "(OperatorSection m.f x none)"),
        ("(.x.y)", "(ProjectSection [x y])"),
        ("(.[0, 1])", "(IndexSection [0 1])"),
        ("(.x[0].y)", "(UpdateSection [x [0] y])"),
    ],
)
def test_sections(text: str, read: str) -> None:
    assert expression(text) == read


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("let x = 1 let y = 2 in x + y", "(Let [] x 1 (Let [] y 2 (+ x y)))"),
        (
            "let x = let y = 1 in y let z = 2 in z",
            "(Let [] x (Let [] y 1 y) (Let [] z 2 z))",
        ),
        (
            "let [n] (xs: [n]i32) = e in n",
            "(Let [(SizeParam n)] (ParensPattern (AscribedPattern xs (TypeArray n "
            "i32))) e n)",
        ),
        (
            "let f [n] 't x : t = x in f",
            "(LetFunction f [(SizeParam n) (TypeParam t )] [x] t x f)",
        ),
        ("let x[0].y = 1 in x", "(LetUpdate x [[0] y] 1 x)"),
        ("loop x for i < n do x + 1", "(Loop x none (ForLess i n) (+ x 1))"),
        (
            "loop (a, b) = (1, 2) while a do c",
            "(Loop (TuplePattern [a b]) (TupleExp [1 2]) (While a) c)",
        ),
        ("loop a = 0 for x in xs do a", "(Loop a 0 (ForIn x xs) a)"),
    ],
)
def test_bindings_and_loops(text: str, read: str) -> None:
    assert expression(text) == read


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("[n]i32", "(TypeArray n i32)"),
        ("[n][m]t u", "(TypeArray n (TypeArray m (TypeApply t [u])))"),
        ("p [n] t", "(TypeApply p [(SizeArgument n) t])"),
        (
            "p [n] ([m]t) []",
            "(TypeApply p [(SizeArgument n) <(TypeArray m t)> (SizeArgument none)])",
        ),
        ("a -> b -> c", "(a -> (b -> c))"),
        ("(x: i64) -> [x]t", "(TypeArrow x i64 (TypeArray x t))"),
        ("*[]i32", "(TypeUnique (TypeArray none i32))"),
        ("#a [n]t | #b | #c t u", "(TypeSum [[a [(TypeArray n t)]] [b []] [c [t u]]])"),
        ("[n]#a | #b", "(TypeArray n (TypeSum [[a []] [b []]]))"),
        (
            "?[n][m].[n][m]f32",
            "(TypeExistential [n m] (TypeArray n (TypeArray m f32)))",
        ),
        ("{x: a, 0: b,}", "(TypeRecord [[x a] [0 b]])"),
        ("(a, b)", "(TypeTuple [a b])"),
        ("m.n.t", "m.n.t"),
    ],
)
def test_types(text: str, read: str) -> None:
    assert type_of(text) == read


def test_a_section_takes_a_whole_operand_only() -> None:
    with pytest.raises(CompileError, match="binds more tightly"):
        expression("(a + b *)")


def test_a_definition_has_all_its_parts() -> None:
    found = declaration("def f [n] 't '~u '^v (xs: [n]t) {a, b = _} : t = xs[0]")
    assert isinstance(found, s.ValueDeclaration)
    assert (found.name, found.is_entry) == ("f", False)
    assert shape(found.type_parameters) == (
        "[(SizeParam n) (TypeParam t ) (TypeParam u ~) (TypeParam v ^)]"
    )
    assert shape(found.parameters) == (
        "[(ParensPattern (AscribedPattern xs (TypeArray n t))) "
        "(RecordPattern [[a a] [b (WildcardPattern)]])]"
    )
    assert shape(found.result) == "t"
    assert shape(found.body) == "(Index xs [0])"


@pytest.mark.parametrize(
    "text",
    ["def (x: t) +^ (y: t) = x", "def (+^) (x: t) (y: t) = x", "let x +^ y = x"],
)
def test_an_operator_is_defined_in_two_ways(text: str) -> None:
    found = declaration(text)
    assert found.name == "+^"
    assert len(found.parameters) == 2


def test_an_operator_in_backquotes_is_defined() -> None:
    assert declaration("def x `plus` y = x").name == "plus"
    with pytest.raises(CompileError, match="belongs to another module"):
        program("def x `m.plus` y = x")


def test_attributes_and_comments_stay_with_their_declaration() -> None:
    found = program(
        "-- | The file.\n-- More.\n\n-- | A function.\n#[a] #[b(c)]\nentry f x = x\n"
        "-- plain\ndef g = 1\n"
    )
    first, second = found.declarations
    assert found.doc == "The file.\nMore."
    assert first.doc == "A function."
    assert [attribute.name for attribute in first.attributes] == ["a", "b"]
    assert isinstance(first, s.ValueDeclaration) and first.is_entry
    assert second.doc is None


def test_a_first_comment_alone_is_of_the_file() -> None:
    found = program("-- | The file.\ndef f = 1")
    assert (found.doc, found.declarations[0].doc) == ("The file.", None)


def test_an_empty_text_is_a_program() -> None:
    assert program("").declarations == ()
    assert program("-- nothing\n").declarations == ()


@pytest.mark.parametrize(
    ("text", "read"),
    [
        (
            "module m = f (g x) {def y = 1}",
            "(ModuleDeclaration m [] none (ModuleApply (ModuleApply (ModuleRef f) "
            "(ModuleParens (ModuleApply (ModuleRef g) (ModuleRef x)))) (ModuleBody "
            "[(ValueDeclaration y [] [] none 1 False)])))",
        ),
        (
            "module m (p: a) : b with t 'x = x -> x with u = i32 = p.q",
            "(ModuleDeclaration m [(ModuleParam p (ModuleTypeRef a))] (ModuleTypeWith "
            "(ModuleTypeWith (ModuleTypeRef b) t [(TypeParam x )] (x -> x)) u [] i32) "
            "(ModuleRef p.q))",
        ),
        (
            "open \\(p: a) : b -> p : c",
            "(Open (ModuleAscription (ModuleLambda (ModuleParam p (ModuleTypeRef a)) "
            "(ModuleTypeRef b) (ModuleRef p)) (ModuleTypeRef c)))",
        ),
        (
            "module type t = (p: a) -> b -> c with x = y",
            "(ModuleTypeDeclaration t (ModuleTypeArrow p (ModuleTypeRef a) "
            "(ModuleTypeArrow none (ModuleTypeRef b) (ModuleTypeWith (ModuleTypeRef c) "
            "x [] y))))",
        ),
        ('local import "a/b"', "(Local (Import a/b))"),
        (
            "type~ t [n] 'a = ?[m].[m]a",
            "(TypeDeclaration t ~ [(SizeParam n) "
            "(TypeParam a )] (TypeExistential [m] (TypeArray m a)))",
        ),
    ],
)
def test_modules_and_types(text: str, read: str) -> None:
    assert shape(declaration(text)) == read


def test_module_types_hold_specs() -> None:
    found = declaration(
        "module type t = {type a type^ b [n] 'c type d = i32 val f [n] 't: [n]t -> t "
        "val (+) : a -> a val * : a module m: u include v}"
    )
    kinds = [type(spec).__name__ for spec in found.value.specs]
    assert kinds == [
        "TypeSpec",
        "TypeSpec",
        "TypeAbbreviationSpec",
        "ValueSpec",
        "ValueSpec",
        "ValueSpec",
        "ModuleSpec",
        "IncludeSpec",
    ]
    assert [spec.name for spec in found.value.specs[3:6]] == ["f", "+", "*"]


@pytest.mark.parametrize(
    ("text", "read"),
    [
        (
            "case (x: t, _) -> x",
            "(TuplePattern [(AscribedPattern x t) (WildcardPattern)])",
        ),
        (
            "case #a #b -1 'c' -> x",
            "(ConstructorPattern a [(ConstructorPattern b []) "
            "(LiteralPattern -1) (LiteralPattern 99)])",
        ),
        (
            "case #[w] -2.5f32 -> x",
            "(AttributedPattern (Attribute w none) (LiteralPattern -2.5f32))",
        ),
        (
            "case {x, y: t, 0 = ()} -> x",
            "(RecordPattern [[x x] [y (AscribedPattern y t)] [0 (TuplePattern [])]])",
        ),
    ],
)
def test_patterns(text: str, read: str) -> None:
    match parse_expression(Source("test.fut", f"match e {text}")):
        case s.Match(cases=(case,)):
            assert shape(case.pattern) == read
        case other:
            raise AssertionError(other)


def test_places_are_exact() -> None:
    source = Source("test.fut", "def f =\n  let a = 1\n  in g (a +\n    b.x)\n")
    let = parse_program(source).declarations[0].body  # type: ignore[attr-defined]
    assert let.location == Location(source, 2, 3, 4, 9)
    (argument,) = let.body.arguments
    assert argument.location == Location(source, 3, 8, 4, 9)
    assert argument.inner.location.text() == "a +\n    b.x"
    assert argument.inner.operator.location == Location(source, 3, 11, 3, 12)


def test_a_long_run_of_lets_is_not_nesting() -> None:
    found = parse_expression(Source("t", "let x = 1 " * (3 * NESTING_LIMIT) + "in x"))
    depth = 0
    while isinstance(found, s.Let):
        depth, found = depth + 1, found.body
    assert depth == 3 * NESTING_LIMIT


@pytest.mark.parametrize(
    "text",
    [
        "(" * 9000 + "x" + ")" * 9000,
        "[" * 9000,
        "- " * 9000 + "x",
        "+".join(["x"] * 9000),
        "a" + ".b" * 9000,
        "if a then b else " * 9000 + "c",
        "x : " + "[]" * 9000 + "t",
    ],
)
def test_deep_nesting_is_an_error_of_the_program(text: str) -> None:
    with pytest.raises(CompileError):
        parse_expression(Source("test.fut", text))


def test_nesting_up_to_the_limit_is_fine() -> None:
    depth = NESTING_LIMIT - 1
    assert parse_expression(Source("t", "(" * depth + "x" + ")" * depth))
