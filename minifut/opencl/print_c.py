"""KernelCode to OpenCL C, as a person would write it.

    For(i, at, stop, 1, Store(ys, i, x * 2))
  →
    for (long i = at; i < stop; i++) {
        ys[i] = x * 2.0f;
    }

What is decided when a kernel is built, such as how often a body is unrolled, is
printed for `runtime.templates` to expand. Helper functions are printed only if used.
Contraction of a * b + c is off, so that simple maps agree with NumPy to the last bit,
and on inside `Reassociate`.
"""

from __future__ import annotations

from collections.abc import Iterable, Set

from minifut.errors import InternalError
from minifut.ir.node import replace
from minifut.ir.scalar_opencl import memory_type, register_type
from minifut.ir.search import classes_in
from minifut.kernel_ir import nodes as kc
from minifut.kernel_passes.barriers import has_barrier
from minifut.names import Name
from minifut.opencl import c_expressions, c_macros, float_atomics, pointers, subgroups

LINE = 64
"""bytes of a cache line of a CPU: the vectors that are read of a work-item's arrays on
the stack of a function might cross lines, so that a count of digits took 1.6 times as
long"""


class CPrinter(c_expressions.ExpressionPrinter):
    """Prints one kernel, or one of the functions that it calls."""

    def __init__(
        self, called: Iterable[kc.DeviceFunction] = (), is_alone: bool = False
    ) -> None:
        super().__init__()
        self.names.reserve(function.name for function in called)
        self.is_alone = is_alone
        """whether a work-item is a group"""
        self.in_function = False
        self.given: list[str] = []
        self.lines: list[str] = []
        self.depth = 0

    # --- statements -------------------------------------------------------------------

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
            case kc.Store(memory, index, exp, streams, aligned) if streams or aligned:
                type_ = f"{self.element(memory)}{exp.type.lanes}"
                start = f"{self.names.text(memory.name)} + {self.primary(index)}"
                place, value = f"(__global {type_} *)({start})", self.exp(exp)
                # non-temporal stores are as aligned as the type of their value
                text = (
                    f"STREAM(({type_})({value}), {place})"
                    if streams
                    else f"*{place} = {value}"
                )
                self.line(f"{text};")
            case kc.Store(memory, index, exp, mask=kc.Expression() as mask):
                self.line(f"{self.masked('store', memory, index, mask, exp)};")
            case kc.Store(memory, index, exp):
                self.store(memory, index, exp)
            case kc.Prefetch(memory, index, spread):
                name, suffix = self.names.text(memory.name), "_ROW" if spread else ""
                self.line(f"PREFETCH{suffix}({name} + {self.primary(index)});")
            case kc.DeclareArray(memory, count):
                space = "__local " if memory.space == "local" else ""
                name, number = self.names.text(memory.name), self.size(count)
                unit = 16 if space else LINE if self.is_alone else 0
                start = f" __attribute__((aligned({unit})))" if unit else ""
                self.line(f"{space}{self.element(memory)} {name}[{number}]{start};")
            case kc.DeclarePointer(part, whole, start, constant):
                place = f"{self.names.text(whole.name)} + {self.primary(start)}"
                name = self.names.text(part.name)
                type_ = f"{'const ' if constant else ''}{self.element(part)}"
                self.line(f"__global {type_} *{name} = {place};")
            case kc.Evaluate(exp):
                self.line(f"{self.exp(exp)};")
            case kc.HideValue(variable):
                self.line(f"KEEP({self.primary(variable)})")
            case kc.AtomicUpdate():
                self.atomic(statement)
            case kc.DetectLastGroup(last, groups):
                text = f"minifut_is_last_group(failure, {self.exp(groups)})"
                self.line(f"{self.primary(last)} = {text};")
            case kc.FetchWork(group, groups, workers):
                counts = f"{self.exp(groups)}, {self.exp(workers)}"
                fetched = f"minifut_fetch_work(failure, {counts})"
                self.line(f"{self.primary(group)} = {fetched};")
            case kc.Barrier(spaces):
                fences = [f"CLK_{s.upper()}_MEM_FENCE" for s in ("local", "global")
                          if spaces in (s, "both")]  # fmt: skip
                self.line(f"barrier({' | '.join(fences)});")
            case kc.UniformExit():
                self.line("barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);")
                self.uniform_exit()
            case kc.Shuffle(mode, target, word, lane):
                self.helpers["minifut_shuffle"] = None
                name = f"SHUFFLE_{target.type.scalar.bits}"
                moved = f"{mode}, {self.primary(target)}, {self.exp(word)}"
                self.line(f"{name}({moved}, (uint){self.primary(lane)});")
            case kc.Fail():
                self.fail(statement)
            case kc.Label(name):
                self.line(f"{name}:;")
            case kc.CallFunction():
                self.call(statement)
            case kc.ReturnValues(values):
                self.return_values(values)
            case kc.Return():
                self.line("return 1;" if self.in_function else "return;")
            case kc.Break():
                self.line("break;")
            case kc.Comment(text):
                self.line(f"// {text}")
            case _:
                self.control(statement)

    def control(self, statement: kc.Structured, start: str = "") -> None:
        match statement:
            case kc.Block():
                self.line("{")
                self.block(statement)
            case kc.For(full=full) if full is not None:
                self.unrolled(statement, full)
                return
            case kc.For():
                if statement.parallel:
                    self.line("PARALLEL")
                elif statement.scalar or statement.narrow:
                    self.line("SCALAR" if statement.scalar else "NARROW")
                elif statement.rolled:
                    self.line("ROLLED")
                self.line(f"{self.head(statement)} {{")
                self.block(statement.body)
            case kc.While(condition, body):
                self.line(f"while ({self.exp(condition)}) {{")
                self.block(body)
            case kc.Branch(condition, then, otherwise):
                text = self.exp(condition)
                if then.statements and isinstance(then.statements[-1], kc.Fail):
                    text = f"RARELY({text})"
                self.line(f"{start}if ({text}) {{")
                self.block(then)
                if otherwise is not None and otherwise.statements:
                    [*several, last] = otherwise.statements
                    if not several and isinstance(last, kc.Branch):
                        return self.control(last, "} else ")
                    self.line("} else {")
                    self.block(otherwise)
            case kc.Reassociate(body):
                self.line("{ REASSOCIATE")
                self.block(body)
            case kc.ParallelRegion():
                message = "a parallel region is left: insert-barriers did not run"
                raise InternalError("opencl.print_c", message)
            case _:
                self.when_built(statement)
                return
        self.line("}")

    def unrolled(self, loop: kc.For, full: kc.Expression) -> None:
        """A loop that is unrolled where it has all of its rounds, by compilers of
        devices that gain by it."""
        self.line("#ifdef UNROLL")
        self.line(f"if ({self.exp(loop.bound.equals(full))}) {{ UNROLL")
        self.control(replace(loop, bound=full, full=None))
        self.line("} else")
        self.line("#endif")
        self.control(replace(loop, full=None))

    def when_built(self, statement: kc.Unrolled | kc.StaticIf) -> None:
        match statement:
            case kc.Unrolled(index, count, body):
                name = self.names.text(Name(index.base, index.tag))
                self.line(f"$for {name} < {self.static(count)}")
                self.names.call(index, f"${{{name}}}")
                self.block(body)
            case kc.StaticIf(condition, then, otherwise):
                self.line(f"$if {self.static(condition)}")
                self.block(then)
                if otherwise.statements:
                    self.line("$else")
                    self.block(otherwise)
        self.line("$end")

    def head(self, loop: kc.For) -> str:
        name = self.primary(loop.variable)
        step = loop.step
        plain = isinstance(step, kc.Literal) and step.value == 1
        advance = f"{name}++" if plain else f"{name} += {self.exp(step)}"
        if loop.extent is not None:
            values = (loop.start, loop.bound, step, loop.extent)
            parts = (self.type(loop.variable.type), name, *map(self.exp, values))
            return f"ROUNDS({', '.join(parts)})"
        start = f"{self.type(loop.variable.type)} {name} = {self.exp(loop.start)}"
        return f"for ({start}; {name} < {self.primary(loop.bound)}; {advance})"

    def store(
        self, memory: kc.Memory, index: kc.Expression, exp: kc.Expression
    ) -> None:
        name, value = self.names.text(memory.name), self.exp(exp)
        lanes = exp.type.lanes
        where = f"{name} + {self.primary(index)}"
        if memory.element.name == "f16" and memory.space == "global":
            self.line(f"{self.half_access('store', lanes)}({value}, {where});")
        elif lanes > 1:
            self.line(f"*({self.loose(memory, lanes)})({where}) = {value};")
        else:
            self.line(f"{name}[{self.exp(index)}] = {value};")

    def atomic(self, update: kc.AtomicUpdate) -> None:
        memory, space = update.memory, update.memory.space
        type_ = memory_type(memory.element)
        function = update.function
        if memory.element.is_float:
            function = float_atomics.addition(memory.element.bits, space)
            self.helpers[function] = None
        elif memory.element.bits == 64:
            function = function.replace("atomic_", "atom_")
        place = f"{self.names.text(memory.name)} + {self.primary(update.index)}"
        inner = [f"(volatile __{space} {type_} *)({place})"]
        inner += [self.exp(o) for o in update.operands]
        text = f"{function}({', '.join(inner)});"
        old = "" if update.old is None else f"{self.primary(update.old)} = "
        self.line(old + text)

    def fail(self, fail: kc.Fail) -> None:
        texts = [self.as_long(value) for value in fail.values[:8]]
        first = f"{self.primary(fail.base)} + " if fail.base else ""
        inner = ", ".join(["failure", f"{first}{fail.number}", *texts])
        call = f"minifut_fail{len(texts)}({inner});"
        if self.in_function:
            self.line(f"return {call}")
            return
        self.line(call)
        self.line("return;" if fail.label is None else f"goto {fail.label};")

    def call(self, call: kc.CallFunction) -> None:
        function = call.function
        arguments = [
            self.names.text(a.name) if isinstance(a, kc.Memory) else self.exp(a)
            for a in call.arguments
        ]
        results = [self.primary(result) for result in call.results]
        if returns_its_result(function):
            self.line(f"{results[0]} = {function.name}({', '.join(arguments)});")
            return
        arguments += [f"&{result}" for result in results]
        if not function.may_exit:
            self.line(f"{function.name}({', '.join(arguments)});")
            return
        text = f"{function.name}({', '.join(['failure', *arguments])})"
        noted = f"minifut_called(failure, {text}, {call.place})"
        if self.in_function:
            self.line(f"{{ int {EXITED} = {noted}; if ({EXITED}) return {EXITED}; }}")
        else:
            leave = "return" if call.label is None else f"goto {call.label}"
            self.line(f"if ({noted}) {leave};")

    def return_values(self, values: tuple[kc.Expression, ...]) -> None:
        """The end of a function."""
        if not self.given and values:
            self.line(f"return {self.exp(values[0])};")
            return
        for place, value in zip(self.given, values, strict=True):
            self.line(f"*{place} = {self.exp(value)};")
        self.line("return 0;")

    def as_long(self, value: kc.Expression) -> str:
        text = self.primary(value)
        if value.type.scalar.is_float:
            return f"as_long((double){text})"
        return text if value.type == kc.LONG else f"(long){text}"

    # --- the kernel -------------------------------------------------------------------

    def kernel(self, kernel: kc.Kernel) -> str:
        """The kernel with its helpers, without the prelude."""
        self.names.reserve(c_macros.MACROS)
        if isinstance(kernel.group_size, Name):
            self.call_macro(kernel.group_size, c_macros.GROUP)
        for text, constant in c_macros.macros_of(kernel):
            self.names.reserve([text])
            self.call_macro(constant.name, text)
        parameters = ["__global int *failure"]
        unaliased = pointers.unaliased_memories(kernel)
        for parameter in kernel.parameters:
            parameters.append(self.parameter(parameter, unaliased))
        self.enter(kernel)
        self.block(kernel.body)
        if has_barrier(kernel.body):
            self.lines.append("    LAST")
        joined = ",\n        ".join(parameters)
        sizes: tuple[object, ...] = (c_macros.WORK_ITEMS,)
        if not isinstance(kernel.group_size, Name):
            sizes = kernel.group_size
        inner = ", ".join(str(s) for s in (*sizes, 1, 1)[:3])
        sized = f"__attribute__((reqd_work_group_size({inner})))\n"
        if kc.Shuffle in classes_in(kernel.body):
            sized = f"{subgroups.ATTRIBUTE}\n{sized}"
        head = f"{sized}__kernel void {kernel.name}(\n        {joined})\n{{\n"
        return head + "\n".join(self.lines) + "\n}\n"

    def function(self, function: kc.DeviceFunction) -> str:
        """A function without its helpers."""
        self.in_function = True
        parameters = [self.function_parameter(p) for p in function.parameters]
        kind = "int"
        if function.may_exit:
            parameters.insert(0, "__global int *failure")
        if returns_its_result(function):
            kind = self.type(function.results[0])
        else:
            for type_ in function.results:
                place = self.names.text(Name("given", -1 - len(self.given)))
                self.given.append(place)
                parameters.append(f"__private {self.type(type_)} *{place}")
        self.block(function.body)
        joined = ",\n        ".join(parameters) or "void"
        head = f"static {kind} {function.name}(\n        {joined})\n{{\n"
        return head + "\n".join(self.lines) + "\n}\n"

    def function_parameter(
        self, parameter: kc.MemoryParameter | kc.ScalarParameter
    ) -> str:
        match parameter:
            case kc.MemoryParameter(memory, written):
                const = "" if written else "const "
                name = self.names.text(memory.name)
                return f"__{memory.space} {const}{self.element(memory)} *{name}"
            case kc.ScalarParameter(name, type_):
                return f"{register_type(type_)} {self.names.text(name)}"

    def enter(self, kernel: kc.Kernel) -> None:
        """Return at once if something failed before. Where barriers follow and this
        kernel may fail itself, the group decides together."""
        self.depth = 1
        if kc.Shuffle in classes_in(kernel.body):
            self.line(subgroups.MEMORY)
        if kernel.can_fail and has_barrier(kernel.body):
            self.line("__local int failed_before;")
            self.uniform_exit()
        else:
            self.line("if (failure[0]) return;")
        self.depth = 0

    def uniform_exit(self) -> None:
        """All of a group read the failure cell at the same moment."""
        self.line("if (get_local_id(0) == 0) failed_before = failure[0];")
        self.line("barrier(CLK_LOCAL_MEM_FENCE);")
        self.line("if (failed_before) return;")

    def parameter(self, parameter: kc.Parameter, unaliased: Set[Name]) -> str:
        match parameter:
            case kc.MemoryParameter(memory, written):
                const = "" if written else "const "
                pointer = "*restrict" if memory.name in unaliased else "*"
                name = self.names.text(memory.name)
                return f"__global {const}{self.element(memory)} {pointer} {name}"
            case kc.LocalParameter(memory, _):
                return f"__local {self.element(memory)} *{self.names.text(memory.name)}"
            case kc.ScalarParameter(name, type_):
                text = "uchar" if type_.name == "bool" else register_type(type_)
                return f"{text} {self.names.text(name)}"


EXITED = "minifut_exited"


def returns_its_result(function: kc.DeviceFunction) -> bool:
    """Whether the one result is what the function of C returns."""
    return len(function.results) == 1 and not function.may_exit
