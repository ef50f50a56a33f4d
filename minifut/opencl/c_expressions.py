"""Expressions of KernelCode as C, with readable names.

    Binary("*", Variable(x), SizeValue(n + 1))       x * (n + 1)

Names keep their base and get numbers only where they clash. `primary` gives a text that
needs no parentheses, `exp` one that may need parentheses inside another.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import cache, lru_cache

from minifut.ir import core, opencl_words, scalar_opencl, scalars, types
from minifut.ir.sizes import Extreme, Quotient, Size, SizeFactor
from minifut.kernel_ir import expressions, powers, shuffles
from minifut.kernel_ir import nodes as kc
from minifut.names import Name
from minifut.opencl.c_macros import GROUP, WORK_ITEMS
from minifut.opencl.masked_accesses import INTEGERS, masked_access, required
from minifut.opencl.vector_reciprocal import RECIPROCAL, divisor_of_one

_OWN = re.compile(
    r"(?:minifut|loose|fun)_\w+|(?:round|load|store)_f16_\d+"
    r"|\w+_(?:[iu](?:8|16|32|64)|f(?:16|32|64))"
)
"""helper functions, types and functions of the device, whichever a kernel has"""


@lru_cache(10_000)
def is_word(text: str) -> bool:
    """Whether no variable of a kernel may be called that."""
    return opencl_words.is_opencl_word(text) or _OWN.fullmatch(text) is not None


def _long(number: int) -> str:
    return f"{number}L" if number > 2**31 - 1 else str(number)


_UNFIT = re.compile(r"[^A-Za-z0-9_]")


class Names:
    """Readable texts for names: the base, with a number where it is taken."""

    def __init__(self, is_word: Callable[[str], bool]) -> None:
        """`is_word` holds for texts that no name may have."""
        self._texts: dict[Name, str] = {}
        self._is_word = is_word
        self._taken: set[str] = set()
        self._next: dict[str, int] = {}

    def reserve(self, words: Iterable[str]) -> None:
        """Words that no name may have from now on."""
        self._taken.update(words)

    def call(self, name: Name, text: str) -> None:
        """Give a name this text."""
        self._texts[name] = text

    def text(self, name: Name) -> str:
        """The text of a name, the same each time."""
        text = self._texts.get(name)
        if text is None:
            base = _fitting(name.base, self._is_word)
            text, number = base, self._next.get(base, 0)
            while text in self._taken or self._is_word(text):
                number += 1
                text = f"{base}_{number}"
            self._next[base] = number
            self._taken.add(text)
            self._texts[name] = text
        return text


@lru_cache(10_000)
def _fitting(base: str, is_word: Callable[[str], bool]) -> str:
    """A base with which, and some number, a name can be written."""
    base = _UNFIT.sub("_", base).strip("_") or "x"
    if base[0].isdigit():
        base = f"x{base}"
    # reserved with any number, as `mem_..`: none would be free
    return f"x_{base}" if is_word(f"{base}_1") else base


@cache
def _written(
    operator: scalars.Operator, width: int
) -> tuple[str, str, tuple[str, ...]]:
    """How an operation of vectors of this width is written, with {0}, .. for its
    operands: where it needs no parentheses, and where it may need parentheses; and the
    functions that it calls."""
    spelled = scalar_opencl.spelling(operator)
    count = len(operator.operands)
    bare = spelled.text(*[f"{{{i}}}" for i in range(count)], width=width)
    primary = bare if _is_primary(bare.format(*"x" * count)) else f"({bare})"
    if _is_wrapped(primary):
        bare = primary[1:-1]
    return primary, bare, spelled.helpers_for(width)


class ExpressionPrinter:
    """Prints expressions; remembers the helper functions that they need."""

    def __init__(self) -> None:
        self.names = Names(is_word)
        for fence in expressions.FENCES:
            self.names.call(fence, fence.base)
        self.macros: set[Name] = set()
        self.helpers: dict[str, None] = {}
        self.loose_types: dict[str, tuple[str, types.ScalarType]] = {}

    def call_macro(self, name: Name, text: str) -> None:
        """Let a macro stand for a name."""
        self.names.call(name, text)
        self.macros.add(name)

    # --- types and expressions --------------------------------------------------------

    def type(self, type_: kc.VectorType) -> str:
        return scalar_opencl.register_type(type_.scalar, type_.lanes)

    def element(self, memory: kc.Memory) -> str:
        """The type of an array's elements; f16 is stored as half only globally."""
        if memory.space != "global" and memory.element.name == "f16":
            return "float"
        return scalar_opencl.memory_type(memory.element)

    def size(self, size: Size) -> str:
        """A size as a C expression, in parentheses where needed."""
        return size.text(self.size_atom, _long)

    def size_atom(self, atom: SizeFactor) -> str:
        match atom:
            case Name():
                return self.names.text(atom)
            case Quotient(dividend, divisor, up):
                function = "ceil_div" if up else "floor_div"
                self.helpers[f"{function}_size"] = None
                return f"{function}_size({self.size(dividend)}, {self.size(divisor)})"
            case Extreme(operands, greatest):
                function = "max" if greatest else "min"
                self.helpers[function] = None
                text = f"(long)({self.size(operands[0])})"
                for operand in operands[1:]:
                    text = f"{function}({text}, (long)({self.size(operand)}))"
                return text

    def exp(self, exp: kc.Expression) -> str:
        """An expression that may need parentheses inside another."""
        if type(exp) is kc.Variable:  # most are
            return self.names.text(exp.name)
        match exp:
            case kc.Binary(symbol, left, right, _):
                return f"{self.primary(left)} {symbol} {self.primary(right)}"
            case kc.SizeValue(size, _):
                return self.size(size)
            case kc.Select(condition, then, otherwise, _):
                parts = [self.primary(e) for e in (condition, then, otherwise)]
                return f"{parts[0]} ? {parts[1]} : {parts[2]}"
            case kc.Operation():
                return self.operation(exp, alone=False)
        return self.primary(exp)

    def primary(self, exp: kc.Expression) -> str:
        """An expression that needs no parentheses."""
        match exp:
            case kc.Variable(name, _):
                return self.names.text(name)
            case kc.Register(family, indices, _):
                numbers = "x".join(map(self.register_index, indices))
                text = self.names.text(family)
                return f"{text}_r{numbers}" if numbers else text
            case kc.Literal(value, type_):
                text = scalar_opencl.constant_text(core.Constant(value, type_.scalar))
                return text if type_.lanes == 1 else f"({self.type(type_)})({text})"
            case kc.Operation():
                return self.operation(exp, alone=True)
            case kc.Call("!", (operand,), _):
                return f"(!{self.primary(operand)})"
            case kc.Call(function, operands, _):
                if function in shuffles.SHUFFLES:
                    self.helpers[function] = None
                inner = ", ".join(self._argument(function, o) for o in operands)
                return f"{function}({inner})"
            case kc.Cast(operand, type_):
                if type_.lanes > 1:
                    return f"convert_{self.type(type_)}({self.exp(operand)})"
                return f"(({self.type(type_)}){self.primary(operand)})"
            case kc.Load(memory, index, type_, None):
                return self.load(memory, index, type_)
            case kc.Load(memory, index, type_, mask):
                assert mask is not None
                verb = "load" if index.type.lanes == 1 else "gather"
                loaded = self.masked(verb, memory, index, mask)
                return f"as_{self.type(type_)}({loaded})"
            case kc.Component(vector, lane, _):
                return f"{self.primary(vector)}.s{lane:x}"
            case kc.Vector(components, type_):
                inner = ", ".join(self.exp(c) for c in components)
                return f"(({self.type(type_)})({inner}))"
        return f"({self.exp(exp)})"

    def operation(self, exp: kc.Operation, alone: bool) -> str:
        """A scalar operation, that needs no parentheses or may need them."""
        found = powers.shift_or_mask(exp.operator, exp.operands[-1])
        if found is not None and exp.type.lanes == 1:
            shifted = kc.Binary(found[0], exp.operands[0], found[1], exp.type)
            return self.primary(shifted) if alone else self.exp(shifted)
        if (divisor := divisor_of_one(exp)) is not None:
            self.helpers[RECIPROCAL] = None
            return f"{RECIPROCAL}({self.exp(divisor)})"
        width = max([operand.type.lanes for operand in exp.operands])
        primary, bare, helpers = _written(exp.operator, width)
        self.helpers.update(dict.fromkeys(helpers))
        form = primary if alone else bare
        return form.format(*[self.primary(operand) for operand in exp.operands])

    def register_index(self, index: Name | Size) -> str:
        """The number of a copy, or what the runtime computes it from."""
        if isinstance(index, Name):
            return self.names.text(index)
        known = index.as_constant
        return str(known) if known is not None else f"$[{self.static_size(index)}]"

    def static(self, exp: kc.Expression) -> str:
        """What the runtime computes when it builds the kernel, as it reads it."""
        match exp:
            case kc.Literal(value, _):
                return str(value)
            case kc.Binary(symbol, left, right, _):
                sign = {"/": "//", "&&": "and", "||": "or"}.get(symbol, symbol)
                return f"({self.static(left)} {sign} {self.static(right)})"
            case kc.SizeValue(size, _):
                return self.static_size(size)
        text = self.exp(exp)
        return WORK_ITEMS if text == GROUP else text

    def static_size(self, size: Size) -> str:
        """The same for a size, of which only floor divisions differ from C."""
        terms = []
        for monomial, coefficient in size.terms:
            factors = [str(coefficient)]
            for atom in monomial:
                match atom:
                    case Quotient(dividend, divisor, False):
                        parts = self.static_size(dividend), self.static_size(divisor)
                        factors.append(f"({parts[0]} // {parts[1]})")
                    case _:
                        factors.append(self.size_atom(atom))
            terms.append(" * ".join(factors))
        return f"({' + '.join(terms)})" if terms else "0"

    def _argument(self, function: str, operand: kc.Expression) -> str:
        """min, max and clamp are overloaded, so that a plain 0, or a macro that stands
        for it, would not fit a long."""
        text = self.exp(operand)
        overloaded = function in ("min", "max", "clamp") and operand.type == kc.LONG
        declared = isinstance(operand, kc.Variable) and operand.name not in self.macros
        return f"(long)({text})" if overloaded and not declared else text

    def load(
        self, memory: kc.Memory, index: kc.Expression, type_: kc.VectorType
    ) -> str:
        name, at = self.names.text(memory.name), self.exp(index)
        if memory.element.name == "f16" and memory.space == "global":
            function = self.half_access("load", type_.lanes)
            return f"{function}({name} + {self.primary(index)})"
        if type_.lanes > 1:
            pointer = self.loose(memory, type_.lanes, const=True)
            return f"(*({pointer})({name} + {self.primary(index)}))"
        return f"{name}[{at}]"

    def masked(self, verb: str, memory: kc.Memory, *operands: kc.Expression) -> str:
        """The call that loads or stores at an index the lanes of a mask."""
        index, mask, *value = operands
        lanes, bits = mask.type.lanes, memory.element.bits
        self.helpers.update(dict.fromkeys(required(verb, lanes, bits)))
        constant, integer = "" if verb == "store" else "const ", INTEGERS[bits]
        start, more = self.names.text(memory.name), [self.exp(mask)]
        if verb == "gather":
            more.insert(0, self.exp(index))
        else:
            start = f"({start} + {self.primary(index)})"
        more += [f"as_{integer}{lanes}({self.exp(v)})" for v in value]
        place = f"(__global {constant}{integer} *){start}"
        return f"{masked_access(verb, lanes, bits)}({place}, {', '.join(more)})"

    def half_access(self, verb: str, lanes: int) -> str:
        """The function that loads or stores halves."""
        name = f"{verb}_f16" if lanes == 1 else f"{verb}_f16_{lanes}"
        self.helpers[name] = None
        return name

    def loose(self, memory: kc.Memory, lanes: int, const: bool = False) -> str:
        """The type of a pointer to vectors that need not be aligned. PoCL does not
        inline vloadN and vstoreN where there are many of them."""
        type_ = f"{self.element(memory)}{lanes}"
        self.loose_types[f"loose_{type_}"] = (type_, memory.element)
        space = f"__{memory.space} " + ("const " if const else "")
        return f"{space}loose_{type_} *"


SIZE_HELPERS = {
    "ceil_div_size": (
        "static long ceil_div_size(long a, long b)\n"
        "{\n    return a / b + (a % b > 0);\n}\n"
    ),
    "floor_div_size": (
        "static long floor_div_size(long a, long b)\n"
        "{\n    return a / b - (a % b < 0);\n}\n"
    ),
}


def _is_primary(text: str) -> bool:
    """Whether a text is a name, a number, a call, or all in one pair of parentheses."""
    if _is_wrapped(text):
        return True
    call = re.fullmatch(r"[A-Za-z_0-9.]*(\(.*\))?", text)
    return call is not None and (call[1] is None or _is_wrapped(call[1]))


def _is_wrapped(text: str) -> bool:
    """Whether the first parenthesis closes at the very end."""
    if not text.startswith("("):
        return False
    depth = 0
    for position, character in enumerate(text):
        depth += (character == "(") - (character == ")")
        if depth == 0:
            return position == len(text) - 1
    return False
