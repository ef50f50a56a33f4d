"""A search finds what a walk finds, and leaves out what cannot have it."""

from __future__ import annotations

import pytest

from minifut.ir import core, fields, search
from minifut.ir.search import classes_in, contains, nodes_of
from minifut.ir.traverse import children, walk
from minifut.ir.types import I32
from minifut.kernel_ir import nodes as kc
from minifut.kernel_ir.expressions import VectorType
from minifut.names import Name

X = kc.Variable(Name("x", 1), VectorType(I32))
ARRAY = kc.Memory(Name("xs", 2), I32)
BLOCK = kc.Block(
    (
        kc.Declare(X, kc.Load(ARRAY, X + 1, VectorType(I32))),
        kc.Branch(
            X < 3,
            kc.Block((kc.Assign(X, X * 2), kc.Store(ARRAY, X, X + X))),
            kc.Block((kc.For(X, X, X, X, kc.Block((kc.Store(ARRAY, X, X),))),)),
        ),
        kc.Store(ARRAY, X, X),
    )
)
KINDS = (
    kc.Store,
    kc.Variable,
    kc.Load | kc.Store,
    (kc.Declare, kc.For),
    kc.Block,
    kc.Expression,
    object,
    kc.Barrier,
)


@pytest.mark.parametrize("kinds", KINDS, ids=str)
def test_a_search_gives_the_nodes_of_a_walk_in_order(kinds: type) -> None:
    wanted = [node for node in walk(BLOCK) if isinstance(node, kinds)]
    assert list(nodes_of(kinds, BLOCK)) == wanted
    assert list(nodes_of(kinds, *BLOCK.statements)) == [n for n in wanted if n != BLOCK]
    assert contains(BLOCK, kinds) is bool(wanted)


def test_expressions_have_expressions_only() -> None:
    for exp in nodes_of(kc.Expression, BLOCK):
        assert all(isinstance(inner, kc.Expression) for inner in children(exp))
        assert fields.statements_of(type(exp)) is None


def test_a_search_for_statements_passes_expressions_by() -> None:
    statements_of = fields.statements_of(kc.Branch)
    assert statements_of is not None
    branch = BLOCK.statements[1]
    assert isinstance(branch, kc.Branch)
    assert statements_of(branch) == [branch.then, branch.otherwise]


def test_bodies_keep_their_classes() -> None:
    body = core.Body((core.Stm((), core.Copy(Name("a", 3))),), ())
    assert classes_in(body) is classes_in(body) == {core.Stm, core.Copy}
    assert contains(body, core.Copy)
    assert not contains(body, core.Loop)


def test_nodes_with_the_same_leaves_are_walked_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def body(x: Name) -> core.Body:
        return core.Body((core.Stm((), core.Copy(x)),), ())

    first = classes_in(body(Name("x", 1)).statements[0])
    monkeypatch.setattr(search, "_SETS", None)  # needed when sets are put together
    assert classes_in(body(Name("y", 2)).statements[0]) is first == {core.Copy}
