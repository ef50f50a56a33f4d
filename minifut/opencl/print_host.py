"""Host functions of KernelCode as Python text, plain and fast.

  Allocate(ys, n); Launch(k, n, (n, xs, ys)); Drop(xs)
→
  ys = run.allocate(4 * n)
  kernels[0](n, n, xs.buffer, ys.buffer)
  del xs

Python limits how deep blocks nest; what is deeper is printed as a function of the
variables that it uses, which returns them:

  for i in range(n):
      x, i, = main_part(run, x, i)
"""

from __future__ import annotations

import math
from dataclasses import field, replace

from minifut.ir.core import Atom, Constant, ScalarOp, SizeExp
from minifut.ir.kernels import AtLeast, GetParameter
from minifut.ir.node import mutable
from minifut.ir.sizes import Extreme, Quotient, Size, SizeFactor
from minifut.ir.types import ScalarType
from minifut.kernel_ir import nodes as kc
from minifut.kernel_passes.device_scalars.left_loops import flag_of, move_of
from minifut.kernel_passes.device_scalars.moves import last_move, without_drops
from minifut.lowering.host.operators import host_text
from minifut.names import Name
from minifut.opencl import c_expressions, function_ends, host_words

DEEPEST = 16
"""levels of indentation in one function; Python has 20 loops and 100 levels"""


@mutable
class FunctionText:
    """What has been printed of a function; `visible` are the constants in its scope."""

    name: str = ""
    visible: tuple[Name, ...] = ()
    bound: dict[Name, None] = field(default_factory=dict)
    """variables that have a value here, in their order"""
    lines: list[str] = field(default_factory=list)
    used: set[Name] = field(default_factory=set)
    depth: int = 0
    parts: list[str] = field(default_factory=list)
    """functions that it calls for its deepest blocks"""


class HostPrinter:
    """Prints host functions; functions share the texts of names."""

    def __init__(self, parameters: list[str], constants: tuple[Name, ...]) -> None:
        self.names = c_expressions.Names(host_words.is_word)
        self.kernels: dict[str, tuple[int, kc.Kernel]] = {}
        """kernels by name, with their numbers in the module"""
        self.parameters = {name: number for number, name in enumerate(parameters)}
        self.constants = constants
        self.made = FunctionText(visible=constants)
        """of the function that is being printed"""

    # --- values -----------------------------------------------------------------------

    def name(self, name: Name) -> str:
        self.made.used.add(name)
        return self.names.text(name)

    def target(self, name: Name) -> str:
        """A variable that is given a value."""
        self.made.bound[name] = None
        return self.name(name)

    def atom(self, atom: Atom) -> str:
        """A scalar or a memory."""
        return self.name(atom) if isinstance(atom, Name) else constant_text(atom)

    def size(self, size: Size) -> str:
        """A size as a Python expression."""
        return size.text(self.size_atom, str)

    def size_atom(self, atom: SizeFactor) -> str:
        match atom:
            case Name():
                return self.name(atom)
            case Quotient(dividend, divisor, True):
                return f"ceil_div({self.size(dividend)}, {self.size(divisor)})"
            case Quotient(dividend, divisor, _):
                return f"(({self.size(dividend)}) // ({self.size(divisor)}))"
            case Extreme(operands, greatest):
                inner = ", ".join(self.size(o) for o in operands)
                return f"{'max' if greatest else 'min'}({inner})"

    def exp(self, exp: kc.HostExp) -> str:
        match exp:
            case ScalarOp(operator, operands):
                template = host_text(operator)
                assert template is not None
                text = template.format(*[self.atom(o) for o in operands])
                return text
            case SizeExp(size):
                return self.size(size)
            case kc.ReadElement(memory, index):
                byte = self.size(index * memory.element.bytes)
                block, type_ = self.name(memory.name), memory.element
                return f'run.read({block}, {byte}, "{type_}")'
            case kc.ComputeUnits():
                return "run.device.cores"
            case kc.GroupSize(wanted, most):
                return f"run.group_size({self.size(wanted)}, {self.size(most)})"
            case kc.Covering(wanted, most):
                return f"covering({self.size(wanted)}, {self.size(most)})"
            case kc.EqualParts(total, most):
                return f"equal_parts({self.size(total)}, {self.size(most)})"
            case GetParameter(parameter):
                return f"run.parameters[{self.parameters[parameter.name]}]"
            case AtLeast(size, parameter):
                number = self.parameters[parameter.name]
                return f"{self.size(size)} >= run.parameters[{number}]"
            case Name() | Constant():
                return self.atom(exp)

    # --- statements -------------------------------------------------------------------

    def line(self, text: str) -> None:
        self.made.lines.append("    " * self.made.depth + text)

    def block(self, block: kc.HostBlock) -> list[Name]:
        """The variables that only the block has."""
        self.made.depth += 1
        outside = len(self.made.bound)
        if not block.statements:
            self.line("pass")
        for statement in block.statements:
            self.statement(statement)
        self.made.depth -= 1
        return [
            self.made.bound.popitem()[0] for _ in range(len(self.made.bound) - outside)
        ]

    def statement(self, statement: kc.HostStatement) -> None:
        match statement:
            case kc.HostAssign(name, exp, _):
                self.line(f"{self.target(name)} = {self.exp(exp)}")
            case kc.HostMove(targets, sources):
                left = ", ".join(self.target(t) for t in targets)
                right = ", ".join(self.atom(s) for s in sources)
                if left != right:
                    self.line(f"{left} = {right}")
            case kc.Allocate(memory, count):
                size = self.size(count * memory.element.bytes)
                self.line(f"{self.target(memory.name)} = run.allocate({size})")
            case kc.Drop(names):
                for name in names:
                    self.made.bound.pop(name, None)
                self.line(f"del {', '.join(self.name(n) for n in names)}")
            case kc.Launch():
                self.launch(statement)
            case kc.CheckGroup(group, local_bytes, parameters):
                needs = f"{self.size(group)}, {self.size(local_bytes)}"
                self.line(f"run.check_group({needs}, {self.values(parameters)})")
            case kc.CheckRequestedTiles(local_bytes, parameters):
                given = f"{self.size(local_bytes)}, {self.values(parameters)}"
                self.line(f"run.check_requested_tiles({given})")
            case kc.CopyMemory(target, to, source, start, count):
                unit = target.element.bytes
                where = f"{self.name(target.name)}, {self.size(to * unit)}"
                what = f"{self.name(source.name)}, {self.size(start * unit)}"
                self.line(f"run.copy({where}, {what}, {self.size(count * unit)})")
            case kc.WriteElement(memory, index, value):
                byte = self.size(index * memory.element.bytes)
                where = f'{self.name(memory.name)}, {byte}, "{memory.element}"'
                self.line(f"run.write({where}, {self.atom(value)})")
            case kc.WriteConstants(memory, elements):
                known = bytes_of(elements, memory.element)
                self.line(f"run.write_bytes({self.name(memory.name)}, {known!r})")
            case kc.HostCall(targets, function, arguments):
                left = "".join(f"{self.target(t)}, " for t in targets)
                inner = ", ".join(["run", *[self.atom(a) for a in arguments]])
                call = f"{self.names.text(function)}({inner})"
                self.line(f"{left}= {call}" if left else call)
            case kc.HostTrace(label, value):
                self.line(f"run.trace({label!r}, {self.atom(value)})")
            case kc.HostComment(text):
                self.line(f"# {text}")
            case kc.HostAssert(condition, number, values):
                self.line(f"if not {self.atom(condition)}:")
                inner = ", ".join([str(number), *[self.atom(v) for v in values]])
                self.line(f"    run.fail({inner})")
            case _ if self.made.depth >= DEEPEST:
                self.part(statement)
            case _:
                self.control(statement)

    def part(self, statement: kc.HostIf | kc.HostFor | kc.HostWhile) -> None:
        """A statement as a call of a function, which returns what it may have set."""
        outer, outside = self.made, len(self.made.bound)
        self.made = replace(outer, lines=[], used=set(), depth=1)
        self.control(statement)
        number = len(outer.parts) + 1
        name = self.names.text(Name(f"{self.made.name}_part", -number))
        texts = [self.name(n) if n in self.made.used else "" for n in self.made.bound]
        given, made = (list(filter(None, t)) for t in (texts[:outside], texts))
        outer.parts.append(self.text(name, given, self.made.lines, made))
        outer.used |= self.made.used
        self.made = outer
        left = "".join(f"{text}, " for text in made)
        call = f"{name}({', '.join(['run', *given])})"
        self.line(f"{left}= {call}" if left else call)

    def end(self, statements: list[kc.HostAssign], results: set[Atom]) -> None:
        """The last statements of a function as one that gives these results."""
        outer = replace(self.made, depth=1)
        self.made = replace(outer, lines=[], used=set(), bound={})
        for statement in statements:
            self.statement(statement)
        given = [self.name(n) for n in outer.bound if n in self.made.used]
        made = [self.name(n) for n in self.made.bound if n in results]
        name = self.names.text(Name(f"{outer.name}_end", -1))
        outer.parts.append(self.text(name, given, self.made.lines, made))
        outer.used |= self.made.used
        self.made = outer
        call = ", ".join([str(len(made)), name, *given])
        self.line(f"{''.join(f'{text}, ' for text in made)}= run.end({call})")

    def control(self, statement: kc.HostIf | kc.HostFor | kc.HostWhile) -> None:
        match statement:
            case kc.HostIf(condition, then, otherwise):
                self.line(f"if {self.atom(condition)}:")
                made = self.block(then)
                if otherwise.statements:
                    self.line("else:")
                    both = set(self.block(otherwise))
                    self.made.bound |= dict.fromkeys(n for n in made if n in both)
            case kc.HostFor(_, bound, body) if move := move_of(statement):
                own = self.names.text(Name("iterations", -self.made.depth))
                self.line(f"{own} = run.iterations({self.atom(bound)})")
                self.line(f"for _ in {own}:")
                self.block(body)
                targets = ", ".join(self.target(target) for target in move.targets)
                self.line(f"    {targets}, = {own}.end({targets})")
            case kc.HostFor(index, bound, body):
                self.line(f"for {self.target(index)} in range({self.atom(bound)}):")
                self.block(body)
                del self.made.bound[index]
            case kc.HostWhile(condition, body):
                flag = flag_of(statement)
                own = self.names.text(Name("iterations", -self.made.depth))
                if (move := last_move(body)) is not None and flag is not None:
                    rest = [t for t in move.targets if t != condition]
                    given = ", ".join(self.name(t) for t in (condition, *rest))
                    self.line(f"{own} = run.iterations_while({given})")
                self.line(f"while {self.name(condition)}:")
                if flag is None:
                    self.block(body)
                else:
                    self.left_block(own, condition, flag, body)

    def left_block(
        self, own: str, condition: Name, flag: kc.HostAssign, body: kc.HostBlock
    ) -> None:
        """An iteration that may be left to the device: whether the loop goes on is read
        at its end, when it has no memory but that."""
        move = last_move(body)
        assert move is not None and isinstance(flag.exp, kc.ReadElement)
        memory = flag.exp.memory.name
        pairs = zip(move.targets, move.sources, strict=True)
        moved = [(t, s) for t, s in pairs if t != condition]
        targets = tuple(target for target, _ in moved)
        statements = [
            kc.HostMove(targets, tuple(s for _, s in moved)) if each is move else each
            for each in without_drops(body.statements, {memory})
            if each is not flag
        ]
        self.block(kc.HostBlock(tuple(statements)))
        texts = [self.name(target) for target in targets]
        given = ", ".join([f"{self.name(memory)}", *texts])
        left = "".join(f"{text}, " for text in (self.name(condition), *texts))
        self.line(f"    {left}= {own}.goes_on({given})")
        self.line(f"    del {self.name(memory)}")

    def values(self, parameters: tuple[tuple[str, Name], ...]) -> str:
        """What tuning parameters are, by name."""
        given = ", ".join(f"{n!r}: {self.name(v)}" for n, v in parameters)
        return f"{{{given}}}"

    def launch(self, launch: kc.Launch) -> None:
        points = [self.size(size) for size in launch.grid]
        arguments = [points[0] if len(points) == 1 else f"({', '.join(points)})"]
        number, kernel = self.kernels[launch.kernel]
        pairs = zip(kernel.parameters, launch.arguments, strict=True)
        for parameter, argument in pairs:
            match argument:
                case kc.Memory(name, _, _):
                    arguments.append(f"{self.name(name)}.buffer")
                case Name():
                    arguments.append(self.name(argument))
                case Size() if isinstance(parameter, kc.LocalParameter):
                    element = parameter.memory.element
                    unit = 4 if element.name == "f16" else element.bytes
                    arguments.append(f"run.local({self.size(argument * unit)})")
                case Size():
                    arguments.append(self.size(argument))
        chosen = [self.name(name) for name in launch.per_launch]
        call = f"kernels[{number}]"
        if chosen:
            call += f".built({', '.join(chosen)})"
        if isinstance(kernel.group_size, Name):
            call += f".of_group({self.size(launch.group[0])})"
        if launch.work is not None:
            call += f".of({self.size(launch.work)})"
        self.line(f"{call}({', '.join(arguments)})")

    # --- functions --------------------------------------------------------------------

    def function(self, function: kc.HostFunction, sees_constants: bool = True) -> str:
        """The text of a function that returns a tuple of scalars and blocks."""
        self.made = FunctionText(
            self.names.text(function.name),
            self.constants if sees_constants else (),
            dict.fromkeys(function.parameters),
        )
        parameters = [self.names.text(p) for p in function.parameters]
        block, end = function_ends.split_end(function.body)
        outer = self.block(block) if block.statements else []
        body = self.made.lines
        if end:
            self.made.bound |= dict.fromkeys(reversed(outer))
            self.end(end, set(function.results))
        results = [self.atom(r) for r in function.results]
        if function.recursion is not None:
            enter = f"    run.enter({function.recursion})"
            body = [enter, *body, "    run.depth -= 1"]
        whole = self.text(self.made.name, parameters, body, results)
        return "\n\n".join([*self.made.parts, whole])

    def text(
        self, name: str, given: list[str], body: list[str], made: list[str]
    ) -> str:
        """A function, with the kernels and constants that it uses in scope."""
        head = [f"def {name}({', '.join(['run', *given])}):"]
        if any("kernels[" in line for line in body):
            head.append("    kernels = run.kernels")
        if not self.made.used.isdisjoint(self.made.visible):
            texts = "".join(f"{self.names.text(c)}, " for c in self.made.visible)
            head.append(f"    {texts}= run.constants")
        results = "".join(f"{text}, " for text in made)
        return "\n".join([*head, *body, f"    return ({results})"]) + "\n"


def constant_text(constant: Constant) -> str:
    """A constant in Python."""
    value = constant.value
    if isinstance(value, float) and not math.isfinite(value):
        return f'float("{value}")'
    if constant.type.is_float:
        return repr(float(value))
    return repr(value)


def bytes_of(elements: tuple[Atom, ...], type_: ScalarType) -> bytes:
    """Constants as they are laid out in memory."""
    import numpy as np

    from minifut.opencl.runtime.describe import DTYPES

    values = [e.value for e in elements if isinstance(e, Constant)]
    return np.array(values, DTYPES[str(type_)]).tobytes()
