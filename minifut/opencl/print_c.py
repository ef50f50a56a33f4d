"""KernelCode to OpenCL C, as a person would write it.

    For(i, at, stop, 1, Store(ys, i, x * 2))
  →
    for (long i = at; i < stop; i++) {
        ys[i] = x * 2.0f;
    }

Names keep their base and get numbers only where they clash. Helper functions are printed
only if used. Contraction of a * b + c is off, so that simple maps agree with NumPy to the
last bit, and on inside `Reassociate`.
"""

from __future__ import annotations

import re

from minifut.ir.core import Constant
from minifut.ir.scalar_opencl import (
    constant_text,
    helper_text,
    memory_type,
    register_type,
    spelling,
)
from minifut.ir.sizes import Atom as SizeAtom
from minifut.ir.sizes import Extreme, Quotient, Size
from minifut.ir.types import ScalarType
from minifut.kernel_code import nodes as kc
from minifut.names import Name

PRELUDE = """\
#pragma OPENCL FP_CONTRACT OFF
#if defined(__clang__) && __clang_major__ >= 11
#define REASSOCIATE _Pragma("clang fp reassociate(on) contract(fast)")
#define PARALLEL _Pragma("clang loop vectorize(assume_safety)")
#else
#define REASSOCIATE
#define PARALLEL
#endif
"""
DOUBLES = "#pragma OPENCL EXTENSION cl_khr_fp64 : enable\n"
LONG_ATOMICS = "#pragma OPENCL EXTENSION cl_khr_int64_base_atomics : enable\n"

_WORDS = """
    auto break case char const continue default do double else enum extern float for goto
    if inline int long register restrict return short signed sizeof static struct switch
    typedef union unsigned void volatile while bool half uchar ushort uint ulong size_t
    kernel global local constant private image event sampler pipe generic true false
    failure main abs min max clamp select step sign mix dot cross length distance
    normalize all any fma mad exp log pow sqrt sin cos tan floor ceil round trunc rint
    read_only write_only read_write uniform as convert vec_step NAN INFINITY NULL
    complex imaginary I popcount clz rotate shuffle signbit isnan isinf printf
""".split()
RESERVED = frozenset(_WORDS)
_UNFIT = re.compile(r"[^A-Za-z0-9_]")


class Names:
    """Readable texts for names: the base, with a number where it is taken."""

    def __init__(self, reserved: frozenset[str]) -> None:
        self._texts: dict[Name, str] = {}
        self._taken: set[str] = set(reserved)
        self._next: dict[str, int] = {}

    def text(self, name: Name) -> str:
        """The text of a name, the same each time."""
        text = self._texts.get(name)
        if text is None:
            base = _UNFIT.sub("_", name.base).strip("_") or "x"
            if base[0].isdigit():
                base = f"x{base}"
            text, number = base, self._next.get(base, 0)
            while text in self._taken:
                number += 1
                text = f"{base}_{number}"
            self._next[base] = number
            self._taken.add(text)
            self._texts[name] = text
        return text


class KernelPrinter:
    """Prints one kernel; remembers the helpers that it needs."""

    def __init__(self) -> None:
        self.names = Names(RESERVED)
        self.helpers: dict[str, None] = {}
        self.lines: list[str] = []
        self.depth = 0

    # --- types and expressions ----------------------------------------------------------

    def type(self, type_: kc.VectorType) -> str:
        return register_type(type_.scalar, type_.lanes)

    def element(self, memory: kc.Memory) -> str:
        """The type of an array's elements; f16 is stored as half only globally."""
        if memory.space != "global" and memory.element.name == "f16":
            return "float"
        return memory_type(memory.element)

    def size(self, size: Size) -> str:
        """A size as a C expression, in parentheses where needed."""
        if not size.terms:
            return "0"
        text = ""
        for monomial, coefficient in size.terms:
            factors = [self.size_atom(atom) for atom in monomial]
            if abs(coefficient) != 1 or not factors:
                suffix = "L" if abs(coefficient) > 2**31 - 1 else ""
                factors.insert(0, f"{abs(coefficient)}{suffix}")
            term = " * ".join(factors)
            if text:
                text += f" {'-' if coefficient < 0 else '+'} {term}"
            else:
                text = f"-{term}" if coefficient < 0 else term
        return text

    def size_atom(self, atom: SizeAtom) -> str:
        match atom:
            case Name():
                return self.names.text(atom)
            case Quotient(dividend, divisor, up):
                function = "ceil_div" if up else "floor_div"
                self.helpers[f"{function}_size"] = None
                return f"{function}_size({self.size(dividend)}, {self.size(divisor)})"
            case Extreme(operands, greatest):
                function = "max" if greatest else "min"
                text = f"(long)({self.size(operands[0])})"
                for operand in operands[1:]:
                    text = f"{function}({text}, (long)({self.size(operand)}))"
                return text

    def exp(self, exp: kc.Expression) -> str:
        """An expression that may need parentheses inside another."""
        match exp:
            case kc.Binary(symbol, left, right, _):
                return f"{self.primary(left)} {symbol} {self.primary(right)}"
            case kc.SizeValue(size, _):
                return self.size(size)
            case kc.Select(condition, then, otherwise, _):
                parts = [self.primary(e) for e in (condition, then, otherwise)]
                return f"{parts[0]} ? {parts[1]} : {parts[2]}"
            case kc.Operation():
                text = self.primary(exp)
                return text[1:-1] if _is_wrapped(text) else text
        return self.primary(exp)

    def primary(self, exp: kc.Expression) -> str:
        """An expression that stands alone anywhere."""
        match exp:
            case kc.Variable(name, _):
                return self.names.text(name)
            case kc.Literal(value, type_):
                text = constant_text(Constant(value, type_.scalar))
                return text if type_.lanes == 1 else f"({self.type(type_)})({text})"
            case kc.Operation(operator, operands, type_):
                spelled = spelling(operator)
                for helper in spelled.helpers:
                    self.helpers[helper] = None
                width = max([o.type.lanes for o in operands])
                texts = [self.primary(o) for o in operands]
                text = spelled.text(*texts, width=width)
                return text if _is_primary(text) else f"({text})"
            case kc.Call("!", (operand,), _):
                return f"(!{self.primary(operand)})"
            case kc.Call(function, operands, _):
                inner = ", ".join(self._argument(function, o) for o in operands)
                return f"{function}({inner})"
            case kc.Cast(operand, type_):
                if type_.lanes > 1:
                    return f"convert_{self.type(type_)}({self.exp(operand)})"
                return f"(({self.type(type_)}){self.primary(operand)})"
            case kc.Load(memory, index, type_):
                return self.load(memory, index, type_)
            case kc.Component(vector, lane, _):
                return f"{self.primary(vector)}.s{lane:x}"
            case kc.Vector(components, type_):
                inner = ", ".join(self.exp(c) for c in components)
                return f"(({self.type(type_)})({inner}))"
        return f"({self.exp(exp)})"

    def _argument(self, function: str, operand: kc.Expression) -> str:
        """min, max and clamp are overloaded, so that a plain 0 would not fit a long."""
        text = self.exp(operand)
        if function in ("min", "max", "clamp") and operand.type == kc.LONG:
            if not isinstance(operand, kc.Variable):
                return f"(long)({text})"
        return text

    def load(self, memory: kc.Memory, index: kc.Expression, type_: kc.VectorType) -> str:
        name, at = self.names.text(memory.name), self.exp(index)
        if memory.element.name == "f16" and memory.space == "global":
            lanes = "" if type_.lanes == 1 else str(type_.lanes)
            return f"vload_half{lanes}(0, {name} + {self.primary(index)})"
        if type_.lanes > 1:
            return f"vload{type_.lanes}(0, {name} + {self.primary(index)})"
        return f"{name}[{at}]"

    # --- statements ------------------------------------------------------------------------

    def line(self, text: str) -> None:
        self.lines.append("    " * self.depth + text)

    def block(self, block: kc.Block) -> None:
        """The statements, one level deeper."""
        self.depth += 1
        for statement in block.statements:
            self.statement(statement)
        self.depth -= 1

    def statement(self, statement: kc.Statement) -> None:
        match statement:
            case kc.Declare(variable, None):
                self.line(f"{self.type(variable.type)} {self.primary(variable)};")
            case kc.Declare(variable, init):
                assert init is not None
                left = f"{self.type(variable.type)} {self.primary(variable)}"
                self.line(f"{left} = {self.exp(init)};")
            case kc.Assign(target, exp):
                self.line(f"{self.primary(target)} = {self.exp(exp)};")
            case kc.Store(memory, index, exp):
                self.store(memory, index, exp)
            case kc.DeclareArray(memory, count):
                space = "__local " if memory.space == "local" else ""
                name, number = self.names.text(memory.name), count.as_constant
                self.line(f"{space}{self.element(memory)} {name}[{number}];")
            case kc.Evaluate(exp):
                self.line(f"{self.exp(exp)};")
            case kc.AtomicUpdate():
                self.atomic(statement)
            case kc.Barrier(spaces):
                fences = [f"CLK_{s.upper()}_MEM_FENCE" for s in ("local", "global")
                          if spaces in (s, "both")]  # fmt: skip
                self.line(f"barrier({' | '.join(fences)});")
            case kc.Fail(number, values, label):
                self.fail(number, values, label)
            case kc.Label(name):
                self.line(f"{name}:;")
            case kc.Return():
                self.line("return;")
            case kc.Break():
                self.line("break;")
            case kc.Comment(text):
                self.line(f"// {text}")
            case _:
                self.control(statement)

    def control(self, statement: kc.Statement) -> None:
        match statement:
            case kc.Block():
                self.line("{")
                self.block(statement)
            case kc.For():
                if statement.parallel:
                    self.line("PARALLEL")
                self.line(f"{self.head(statement)} {{")
                self.block(statement.body)
            case kc.While(condition, body):
                self.line(f"while ({self.exp(condition)}) {{")
                self.block(body)
            case kc.Branch(condition, then, otherwise):
                self.line(f"if ({self.exp(condition)}) {{")
                self.block(then)
                if otherwise is not None and otherwise.statements:
                    self.line("} else {")
                    self.block(otherwise)
            case kc.Reassociate(body):
                self.line("{ REASSOCIATE")
                self.block(body)
        self.line("}")

    def head(self, loop: kc.For) -> str:
        name = self.primary(loop.variable)
        step = loop.step
        plain = isinstance(step, kc.Literal) and step.value == 1
        advance = f"{name}++" if plain else f"{name} += {self.exp(step)}"
        start = f"{self.type(loop.variable.type)} {name} = {self.exp(loop.start)}"
        return f"for ({start}; {name} < {self.primary(loop.bound)}; {advance})"

    def store(self, memory: kc.Memory, index: kc.Expression, exp: kc.Expression) -> None:
        name, value = self.names.text(memory.name), self.exp(exp)
        lanes = exp.type.lanes
        where = f"{name} + {self.primary(index)}"
        if memory.element.name == "f16" and memory.space == "global":
            suffix = "" if lanes == 1 else str(lanes)
            self.line(f"vstore_half{suffix}_rte({value}, 0, {where});")
        elif lanes > 1:
            self.line(f"vstore{lanes}({value}, 0, {where});")
        else:
            self.line(f"{name}[{self.exp(index)}] = {value};")

    def atomic(self, update: kc.AtomicUpdate) -> None:
        memory, space = update.memory, update.memory.space
        type_ = memory_type(memory.element)
        function = update.function
        if memory.element.bits == 64:
            function = function.replace("atomic_", "atom_")
        place = f"{self.names.text(memory.name)} + {self.primary(update.index)}"
        inner = [f"(volatile __{space} {type_} *)({place})"]
        inner += [self.exp(o) for o in update.operands]
        text = f"{function}({', '.join(inner)});"
        old = "" if update.old is None else f"{self.primary(update.old)} = "
        self.line(old + text)

    def fail(self, number: int, values: tuple[kc.Expression, ...], label: str | None) -> None:
        texts = [self.as_long(value) for value in values[:8]]
        inner = ", ".join(["failure", str(number), *texts])
        self.line(f"minifut_fail{len(texts)}({inner});")
        self.line("return;" if label is None else f"goto {label};")

    def as_long(self, value: kc.Expression) -> str:
        text = self.primary(value)
        if value.type.scalar.is_float:
            return f"as_long((double){text})"
        return text if value.type == kc.LONG else f"(long){text}"

    # --- the kernel ------------------------------------------------------------------------

    def kernel(self, kernel: kc.Kernel) -> str:
        """The kernel with its helpers, without the prelude."""
        parameters = ["__global int *failure"]
        for parameter in kernel.parameters:
            parameters.append(self.parameter(parameter, kernel.fresh))
        self.enter(kernel)
        self.block(kernel.body)
        joined = ",\n        ".join(parameters)
        sized = ""
        if kernel.group_size is not None:
            sizes = (*kernel.group_size, 1, 1)[:3]
            inner = ", ".join(str(s) for s in sizes)
            sized = f"__attribute__((reqd_work_group_size({inner})))\n"
        head = f"{sized}__kernel void {kernel.name}(\n        {joined})\n{{\n"
        return self.helper_texts() + head + "\n".join(self.lines) + "\n}\n"

    def enter(self, kernel: kc.Kernel) -> None:
        """Return at once if something failed before. Where barriers follow and this
        kernel may fail itself, the group decides together."""
        self.depth = 1
        if kernel.can_fail and has_barrier(kernel.body):
            self.line("__local int failed_before;")
            self.line("if (get_local_id(0) == 0) failed_before = failure[0];")
            self.line("barrier(CLK_LOCAL_MEM_FENCE);")
            self.line("if (failed_before) return;")
        else:
            self.line("if (failure[0]) return;")
        self.depth = 0

    def parameter(self, parameter: kc.Parameter, fresh: bool) -> str:
        match parameter:
            case kc.MemoryParameter(memory, written):
                const = "" if written else "const "
                pointer = "*restrict" if fresh else "*"
                name = self.names.text(memory.name)
                return f"__global {const}{self.element(memory)} {pointer} {name}"
            case kc.LocalParameter(memory, _):
                return f"__local {self.element(memory)} *{self.names.text(memory.name)}"
            case kc.ScalarParameter(name, type_):
                text = "uchar" if type_.name == "bool" else register_type(type_)
                return f"{text} {self.names.text(name)}"

    def helper_texts(self) -> str:
        sizes = [SIZE_HELPERS[h] for h in self.helpers if h in SIZE_HELPERS]
        others = [h for h in self.helpers if h not in SIZE_HELPERS]
        text = helper_text(others)
        return "".join(sizes) + (f"{text}\n" if text else "")


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


def has_barrier(block: kc.Block) -> bool:
    """Whether work-items meet somewhere in the block."""
    for statement in block.statements:
        match statement:
            case kc.Barrier():
                return True
            case kc.Block():
                inner: tuple[kc.Block, ...] = (statement,)
            case kc.For() | kc.While() | kc.Reassociate():
                inner = (statement.body,)
            case kc.Branch(_, then, otherwise):
                inner = (then,) if otherwise is None else (then, otherwise)
            case _:
                continue
        if any(has_barrier(b) for b in inner):
            return True
    return False


def kernel_text(kernel: kc.Kernel) -> str:
    """The OpenCL C of one kernel, to be compiled after the prelude."""
    text = KernelPrinter().kernel(kernel)
    head = DOUBLES if "double" in text else ""
    if "atom_" in text:
        head += LONG_ATOMICS
    return head + text


def parameter_types(kernel: kc.Kernel) -> tuple[str, ...]:
    """The types of the parameters after `failure`, as the runtime names them."""
    return tuple(_runtime_type(p) for p in kernel.parameters)


def _runtime_type(parameter: kc.Parameter) -> str:
    match parameter:
        case kc.MemoryParameter():
            return "buffer"
        case kc.LocalParameter():
            return "local"
        case kc.ScalarParameter(_, type_):
            return scalar_argument(type_)


def scalar_argument(type_: ScalarType) -> str:
    """How a scalar is passed: f16 travels as f32."""
    return "f32" if type_.name == "f16" else type_.name
