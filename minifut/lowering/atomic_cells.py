"""Cells that many work-items update at once: `cell = cell op value` in one step.

    native    one integer of 32 or 64 bits, and add, min, max, and, or, xor: an atomic;
              one float, and add: the same, where the device has it
    swap      what fits into a word of 32 or 64 bits: compute the new word from the old,
              put it there if the old one is unchanged, else try again
    lock      more than a word: a lock for each cell, taken and given back within one
              round of a loop, so that work-items in lockstep cannot wait for each
              other; the words are touched only by atomics, which no cache hides

A cell is in word arrays; `encode` and `decode` go between values and words. Of native
and many swap cells the words are the values as they are stored in any array
(`is_plain`).
"""

from __future__ import annotations

from collections.abc import Sequence

from minifut.analysis.operators import component_operators
from minifut.ir.core import Lambda
from minifut.ir.node import immutable
from minifut.ir.types import F32, F64, I32, I64, U32, U64, ScalarType, element_of
from minifut.kernel_ir import nodes as kc
from minifut.lowering.threads.builder import KernelBuilder

CellAddress = tuple[kc.Memory, kc.Expression]
"""A memory and an index into it"""
CellValues = Sequence[kc.Expression]

NATIVE = ("add", "min", "max", "and", "or", "xor")


@immutable
class Cells:
    """How the values of an operator are kept and updated; see the module."""

    kind: str
    operator: Lambda
    types: tuple[ScalarType, ...]
    words: tuple[ScalarType, ...]
    """the element types of the word arrays; of locked cells the lock comes first"""
    function: str = ""

    @property
    def is_plain(self) -> bool:
        """Whether the only word is the only value, as an array has it."""
        return len(self.types) == 1 and self.types[0].bits in (32, 64)

    @property
    def bytes(self) -> int:
        """What a cell takes."""
        return sum(word.bytes for word in self.words)

    def encode(self, k: KernelBuilder, values: CellValues) -> list[kc.Expression]:
        """The words of a cell that holds the values; an open lock."""
        if self.kind == "native":
            return list(values)
        if self.kind == "lock":
            bits = [to_word(v, t) for v, t in zip(values, self.types, strict=True)]
            return [kc.Literal(0, kc.VectorType(U32)), *bits]
        return [k.named(_pack(values, self.types, self.words[0]), "word")]

    def decode(self, k: KernelBuilder, words: CellValues) -> list[kc.Expression]:
        """The values of a cell."""
        if self.kind == "native":
            return list(words)
        if self.kind == "lock":
            pairs = zip(words[1:], self.types, strict=True)
            return [k.declare("value", from_word(w, t)) for w, t in pairs]
        parts = _unpack(words[0], self.types)
        return [k.declare("value", part) for part in parts]

    def update(
        self, k: KernelBuilder, places: Sequence[CellAddress], values: CellValues
    ) -> None:
        """`cell = cell op values`, in one step as others see it."""
        values = [k.named(value, "value") for value in values]
        if self.kind == "native":
            memory, index = places[0]
            memory = _as(memory, self.words[0])
            k.use(memory, written=True)
            k.emit(kc.AtomicUpdate(self.function, memory, index, (values[0],)))
        elif self.kind == "swap":
            self._swap(k, places[0], values)
        else:
            self._lock(k, places, values)

    def _swap(self, k: KernelBuilder, place: CellAddress, values: CellValues) -> None:
        memory, index = _as(place[0], self.words[0]), k.named(place[1], "cell")
        zero = kc.Literal(0, kc.VectorType(self.words[0]))
        seen = k.atomic("atomic_add", memory, index, zero, base="seen")
        again = k.declare("again", kc.Literal(True, kc.TRUTH))
        with k.while_loop(again):
            new = k.apply(self.operator, (*self.decode(k, [seen]), *values))
            (word,) = self.encode(k, new)
            k.assign(again, word.differs(seen))
            with k.branch(again):
                found = k.atomic("atomic_cmpxchg", memory, index, seen, word)
                k.assign(again, found.differs(seen))
                k.assign(seen, found)

    def _lock(
        self, k: KernelBuilder, places: Sequence[CellAddress], values: CellValues
    ) -> None:
        lock, at = places[0]
        zero, one = (kc.Literal(n, kc.VectorType(U32)) for n in (0, 1))
        again = k.declare("again", kc.Literal(True, kc.TRUTH))
        with k.while_loop(again):
            taken = k.atomic("atomic_cmpxchg", lock, at, zero, one, base="taken")
            with k.branch(taken.equals(0)):
                _fence(k)
                self._while_locked(k, places[1:], values)
                _fence(k)
                k.atomic("atomic_xchg", lock, at, zero)
                k.assign(again, kc.Literal(False, kc.TRUTH))

    def _while_locked(
        self, k: KernelBuilder, places: Sequence[CellAddress], values: CellValues
    ) -> None:
        """If the operator fails the lock must be given back all the same."""
        before, label = k.fail_label, str(k.names.fresh("unlock"))
        could_fail, k.can_fail, k.fail_label = k.can_fail, False, label
        words: list[kc.Expression] = [kc.Literal(0, kc.VectorType(U32))]
        for memory, index in places:
            zero = kc.Literal(0, kc.VectorType(memory.element))
            words.append(k.atomic("atomic_add", memory, index, zero, base="word"))
        new = k.apply(self.operator, (*self.decode(k, words), *values))
        encoded = self.encode(k, new)[1:]
        for (memory, index), word in zip(places, encoded, strict=True):
            k.atomic("atomic_xchg", memory, index, word)
        if k.can_fail:
            k.emit(kc.Label(label))
        k.fail_label, k.can_fail = before, could_fail or k.can_fail


def cells_of(operator: Lambda) -> Cells:
    """The way to keep the values of an operator on scalars."""
    types = tuple(element_of(t) for t in operator.results)
    components = component_operators(operator)
    if components is not None and len(types) == 1:
        name = components[0].operator.name
        wanted = NATIVE if types[0] in (I32, I64, U32, U64) else ()
        if name in (("add",) if types[0] in (F32, F64) else wanted):
            return Cells("native", operator, types, types, f"atomic_{name}")
    width = sum(_width(t) for t in types)
    if width <= 64:
        return Cells("swap", operator, types, (U32 if width <= 32 else U64,))
    words = tuple(word_of(t) for t in types)
    return Cells("lock", operator, types, (U32, *words))


# --- values as words ------------------------------------------------------------------


def _width(type_: ScalarType) -> int:
    """Bits of a value in a word; f16 is a float in registers."""
    return 32 if type_.name == "f16" else max(8, type_.bits)


def word_of(type_: ScalarType) -> ScalarType:
    """The type of words that hold values of a type."""
    return U64 if type_.bits == 64 else U32


def to_word(exp: kc.Expression, type_: ScalarType) -> kc.Expression:
    """The bits of a value, without sign extension."""
    word = kc.VectorType(word_of(type_))
    if type_.is_float:
        return kc.Call("as_ulong" if type_.bits == 64 else "as_uint", (exp,), word)
    bits = kc.Cast(exp, word)
    return bits & ((1 << type_.bits) - 1) if type_.bits < 32 else bits


def from_word(word: kc.Expression, type_: ScalarType) -> kc.Expression:
    """The value whose bits a word holds."""
    wanted = kc.VectorType(type_)
    if type_.is_float:
        function = "as_double" if type_.bits == 64 else "as_float"
        return kc.Call(function, (word,), wanted)
    if type_.kind == "bool":
        return word.differs(0)
    return kc.Cast(word, wanted)


def _pack(
    values: CellValues, types: Sequence[ScalarType], word: ScalarType
) -> kc.Expression:
    shift, packed = 0, None
    for value, type_ in zip(values, types, strict=True):
        part = to_word(value, type_)
        if part.type.scalar != word:
            part = kc.Cast(part, kc.VectorType(word))
        if shift:
            part = part << shift
        packed = part if packed is None else packed | part
        shift += _width(type_)
    assert packed is not None
    return packed


def _unpack(word: kc.Expression, types: Sequence[ScalarType]) -> list[kc.Expression]:
    shift, parts = 0, []
    for type_ in types:
        part = word >> shift if shift else word
        if word_of(type_) != word.type.scalar:
            part = kc.Cast(part, kc.VectorType(word_of(type_)))
        if type_.bits < 32:
            part = part & ((1 << type_.bits) - 1) if not type_.is_float else part
        parts.append(from_word(part, type_))
        shift += _width(type_)
    return parts


def _as(memory: kc.Memory, word: ScalarType) -> kc.Memory:
    """The same memory seen as words (atomics convert the pointer)."""
    return kc.Memory(memory.name, word, memory.space)


def _fence(k: KernelBuilder) -> None:
    local, both = (kc.Variable(name, kc.INT) for name in kc.FENCES)
    k.emit(kc.Evaluate(kc.Call("mem_fence", (local | both,), kc.INT)))
