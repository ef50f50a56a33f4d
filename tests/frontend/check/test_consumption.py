"""Consumption: what may be updated in place or passed as `*`, and what not after."""

from __future__ import annotations

import re

import pytest

from minifut.errors import CompileError

from .checking import check

CONSUME = "def consume [n] (xs: *[n]i32) : *[n]i32 = xs with [0] = 0\n"


@pytest.mark.parametrize(
    "text",
    [
        # the components of a record are distinct memory
        "def f [n] (p: *([n]i32, [n]i32)) = (p with 0[0] = 0) with 1[0] = 0\n"
        "def g [n] (p: *([n]i32, [n]i32)) = f p",
        "type c [n] = {a: [n]i32, b: [n]i32}\n"
        "def f [n] (c: *c [n]) : *c [n] = c with a[0] = 1\n"
        "def g [n] (c: *c [n]) = loop c for _i < 3 do f c",
        "def f [n] (c: *{a: [n]i32, b: [n]i32}) : (*[n]i32, *[n]i32) = (c.a, c.b)",
        # only the components that a parameter marks are consumed
        "def f [n] (p: (*[n]i32, [n]i32)) : *[n]i32 = p.0 with [0] = p.1[0]\n"
        "def g [n] (xs: *[n]i32) (ys: [n]i32) = let r = f (xs, ys) in (r, ys[0])",
        # a loop parameter that is only read may start from what may not be consumed
        "def f (arr: []i32) = loop (xs: *[]i32, k) = (arr, 0i64)\n"
        "  while length xs != 0 do (copy xs[1:], k + length xs)",
        "def f [n] (x: [n]i32) = loop (xs: *[n]i32) = copy x for _i < 3 do consume xs",
        # an instance at the function's own sizes is made anew
        "def zeros [n] : [n]i32 = replicate n 0\n"
        "def f (n: i64) = consume (zeros : [n]i32)",
        # a size is an expression like another
        "def f (n: i64) = iota (length (consume (replicate n 0)))",
    ],
)
def test_accepted(text: str) -> None:
    check(CONSUME + text)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("def f (xs: []i32) = consume xs", 'Consuming variable "xs".*not consumable'),
        (
            "def f (xs: *[]i32) = let ys = consume xs in ys[0] + xs[0]",
            'Using variable "xs", but this was consumed at 2:39',
        ),
        (
            "def f [n] (p: *([n]i32, [n]i32)) = let q = consume p.0 in q[0] + p.1[0]",
            'Using variable "p"',
        ),
        (
            "def f [n] (p: ([n]i32, *[n]i32)) = p.1 with [0] = p.0[0]\n"
            "def g [n] (xs: *[n]i32) = f (xs, xs)",
            "self-aliased",
        ),
        (
            "def f [n] (xs: *[n]i32) (ys: [n]i32) = consume xs with [0] = ys[0]\n"
            "def g [n] (p: *([n]i32, [n]i32)) = f p.0 p.1",
            "also aliased by other argument p.1",
        ),
        ("def f (x: []i32) = loop (x: *[]i32) for _i < 3 do x", "Consuming.*x"),
        (
            "def f [n] (x: [n]i32) = loop (y: *[n]i32) = x for _i < 3 do consume y",
            "Consuming.*x",
        ),
        ("def empty = []\ndef f = consume empty", 'Consuming variable "empty"'),
        (
            "def take' (xs: *[]i64) : i64 = xs[0]\n"
            "def f [n] (ns: *[n]i64) (xs: [take' ns]f32) = xs[0]",
            'Consuming variable "ns".*not consumable',
        ),
        ("def f [n] (xs: [n]i32) : *[n]i32 = xs", 'aliased to "xs"'),
        (
            "def f [n] (p: *([n]i32, [n]i32)) : (*[n]i32, *[n]i32) = (p.0, p.0)",
            "aliased to some other component",
        ),
    ],
)
def test_refused(text: str, words: str) -> None:
    with pytest.raises(CompileError) as caught:
        check(CONSUME + text)
    assert re.search(words, str(caught.value), re.S), str(caught.value)
    assert caught.value.location is not None and caught.value.anchor
