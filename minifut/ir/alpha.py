"""Equality of nodes up to the names they bind.

    \\ (x: i32) -> add_i32(x, n)     equals     \\ (y: i32) -> add_i32(y, n)

Both are walked in step; a pair of bound names is noted when it is reached, which is
always before its uses, and every use must respect the pairs. Locations do not count.
"""

from __future__ import annotations

from typing import Any

from minifut.ir import core, fields, types
from minifut.ir.sizes import Size
from minifut.names import Name

_IGNORED = ("location",)


def alpha_equal(left: object, right: object) -> bool:
    """Whether two nodes (or tuples of nodes) are the same up to bound names."""
    return _Pairing().same(left, right)


class _Pairing:
    def __init__(self) -> None:
        self.forward: dict[Name, Name] = {}
        self.backward: dict[Name, Name] = {}
        self.functions: dict[Name, Name] = {}

    def same(self, left: Any, right: Any) -> bool:
        if isinstance(left, tuple):
            if not isinstance(right, tuple) or len(left) != len(right):
                return False
            return all(self.same(a, b) for a, b in zip(left, right, strict=True))
        if type(left) is not type(right):
            return False
        if isinstance(left, Name):
            if left in self.forward or right in self.backward:
                return bool(self.forward.get(left) == right)
            return bool(left == right)
        if isinstance(left, core.Constant):
            same_number = repr(left.value) == repr(right.value)
            return bool(left.type == right.type and same_number)
        if isinstance(left, Size):
            return bool(self.size(left) == right)
        if isinstance(left, types.ArrayType):
            same_element = bool(left.element == right.element)
            return same_element and self.same(left.shape, right.shape)
        if isinstance(left, types.AccType):
            ours = (left.root, left.shape, left.elements)
            return self.same(ours, (right.root, right.shape, right.elements))
        if not fields.is_node(type(left)):
            return bool(left == right)
        if isinstance(left, core.Program):
            for a, b in zip(left.functions, right.functions, strict=False):
                self.functions[a.name] = b.name
        return self.same_node(left, right)

    def same_node(self, left: Any, right: Any) -> bool:
        cls = type(left)
        introduced = getattr(cls, "introduces", ())
        called = getattr(cls, "calls", ())
        binding = getattr(cls, "binds", {})
        for name in sorted(fields.all_fields(cls), key=lambda f: f not in binding):
            if name in _IGNORED:
                continue
            a, b = getattr(left, name), getattr(right, name)
            if name in called:
                if self.functions.get(a, a) != b:
                    return False
            elif name in introduced:
                if not self.pair(a, b):
                    return False
            elif name == "entries":
                if not self.same_entries(a, b):
                    return False
            elif not self.same(a, b):
                return False
        return True

    def pair(self, a: Any, b: Any) -> bool:
        left, right = (x if isinstance(x, tuple) else (x,) for x in (a, b))
        if len(left) != len(right):
            return False
        for one, other in zip(left, right, strict=True):
            if one in self.forward or other in self.backward:
                return False
            self.forward[one] = other
            self.backward[other] = one
        return True

    def size(self, size: Size) -> Size:
        names = size.names()
        if any(self.forward.get(n) is None and n in self.backward for n in names):
            return Size.constant(-1)  # a free name cannot equal a bound one
        return size.substitute(
            {n: Size.of(self.forward[n]) for n in names if n in self.forward}
        )

    def same_entries(self, left: Any, right: Any) -> bool:
        if len(left) != len(right):
            return False
        return all(
            (a.name, a.sizes, a.parameters, a.results, a.attributes)
            == (b.name, b.sizes, b.parameters, b.results, b.attributes)
            and self.functions.get(a.function, a.function) == b.function
            for a, b in zip(left, right, strict=True)
        )
