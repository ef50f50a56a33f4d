"""The verifier of kernel code: scope, types, memory, first values, jumps, barriers.

    variables    visible where they are used, of the type that they are declared with,
                 and given a value on every way there on which each loop ran
    types        operands fit their operators, in scalars and in lanes; a vector is
                 stored to elements of its scalar type
    memory       a parameter, or declared; parts and prefetches are of global memory
    calls        arguments fit the parameters of the function
    jumps        a barrier follows the label of a failure, in the same block
    barriers     in control flow that is the same for all work-items of a group
                 (`kernel_ir.uniform`)
    launches     of a kernel of the program, with an argument for each parameter

A fault is an `InternalError` with the statement and the ten lines around it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from minifut.errors import InternalError
from minifut.ir.sizes import Size
from minifut.ir.traverse import walk
from minifut.ir.types import BOOL, U8
from minifut.kernel_ir import nodes as kc
from minifut.kernel_ir.printer import show
from minifut.kernel_ir.program import KernelProgram
from minifut.kernel_ir.types import COMPARISONS, LOGIC, natural_type
from minifut.kernel_ir.uniform import divergent_barrier
from minifut.names import Name

Known = kc.VectorType | kc.Memory


class KernelCode:
    """The level of programs that kernel passes read and write."""

    def verify(self, program: KernelProgram) -> None:
        """Raise an `InternalError` unless the program is well formed."""
        verify_program(program)


KERNEL_CODE = KernelCode()


class Fault(Exception):
    """What is wrong with the current statement."""


def verify_program(program: KernelProgram) -> None:
    """Raise an `InternalError` unless kernels and their launches are well formed."""
    kernels = {kernel.name: kernel for kernel in program.kernels}
    for function in program.device_functions:
        verify_kernel(function)
    for kernel in program.kernels:
        verify_kernel(kernel)
    for node in (n for f in program.functions for n in walk(f.body)):
        if isinstance(node, kc.Launch):
            known = kernels.get(node.kernel)
            if known is None or len(known.parameters) != len(node.arguments):
                message = "there is no kernel with parameters for these arguments"
                raise InternalError("kernel_ir.verify", message, show(node, False))


def verify_kernel(kernel: kc.Kernel | kc.DeviceFunction) -> None:
    """Raise an `InternalError` unless a kernel, or a function, is well formed."""
    checker = _Checker()
    try:
        checker.whole(kernel)
    except Fault as fault:
        raise InternalError(
            "kernel_ir.verify", f"{kernel.name}: {fault}", checker.context()
        ) from None


class _Checker:
    """What is visible and what has a value, at one place of a kernel."""

    def __init__(self) -> None:
        self.known: dict[Name, Known] = dict.fromkeys(kc.FENCES, kc.INT)
        self.given: set[Name] = set(kc.FENCES)
        self.ends = False
        """whether nothing comes by here"""
        self.place: list[Any] = []
        self.results: tuple[kc.VectorType, ...] = ()
        self.labels: set[str] = set()

    def context(self) -> str:
        """The statement that is looked at, and some lines of it."""
        if not self.place:
            return ""
        lines = show(self.place[-1], False).splitlines()
        return "\n".join(lines[:10])

    # --- kernels and functions --------------------------------------------------------

    def whole(self, kernel: kc.Kernel | kc.DeviceFunction) -> None:
        for parameter in kernel.parameters:
            match parameter:
                case kc.ScalarParameter(name, type_):
                    self.declare(name, kc.VectorType(type_), given=True)
                case kc.MemoryParameter(memory) | kc.LocalParameter(memory):
                    self.declare(memory.name, memory, given=True)
        if isinstance(kernel, kc.Kernel):
            for constant in kernel.constants:
                self.declare(constant.name, kc.LONG, given=True)
            if isinstance(kernel.group_size, Name):
                self.declare(kernel.group_size, kc.LONG, given=True)
        else:
            self.results = kernel.results
        self.labels = {n.name for n in walk(kernel.body) if isinstance(n, kc.Label)}
        self.block(kernel.body)
        barrier = divergent_barrier(kernel)
        if barrier is not None:
            self.place.append(barrier)
            raise Fault("work-items of a group may not meet in this control flow")

    def declare(self, name: Name, what: Known, *, given: bool = False) -> None:
        self.known[name] = what
        if given:
            self.given.add(name)
        else:
            self.given.discard(name)

    def block(self, block: kc.Block) -> None:
        """Statements; what they declare ends with them."""
        before = dict(self.known)
        self.statements(block.statements)
        self.known = before

    def statements(self, statements: tuple[kc.Statement, ...]) -> None:
        for number, statement in enumerate(statements):
            self.place.append(statement)
            if isinstance(statement, kc.Label):
                follows = statements[number + 1 :]
                meeting = kc.Barrier | kc.UniformExit
                meet = any(isinstance(follower, meeting) for follower in follows)
                require(meet, f"no barrier follows the label {statement.name}")
            self.statement(statement)
            self.place.pop()

    # --- statements -------------------------------------------------------------------

    def statement(self, statement: kc.Statement) -> None:
        match statement:
            case kc.Declare(kc.Variable(name, type_), init):
                if init is not None:
                    self.fits(init, type_)
                self.declare(name, type_, given=init is not None)
            case kc.Declare(kc.Register(family, _, type_), init):
                if init is not None:
                    self.fits(init, type_)
                self.declare(family, type_, given=True)
            case kc.Assign(target, exp):
                self.assign(target, exp)
            case kc.Store(memory, index, exp):
                self.memory(memory)
                self.integer(index)
                self.exp(exp)
                require(
                    _element_fits(memory, exp.type),
                    f"{exp.type} does not go to elements of {memory.element}",
                )
            case kc.Prefetch(memory, index):
                self.global_memory(memory)
                self.integer(index)
            case kc.DeclareArray(memory, count):
                require(memory.space != "global", "an array of global memory")
                self.size(count)
                self.declare(memory.name, memory, given=True)
            case kc.DeclarePointer(part, whole, start):
                self.global_memory(whole)
                self.integer(start)
                self.declare(part.name, part, given=True)
            case kc.Evaluate(exp):
                self.exp(exp)
            case kc.HideValue(variable):
                self.visible(variable.name, variable.type)
            case kc.AtomicUpdate(_, memory, index, operands, old):
                self.memory(memory)
                self.integer(index)
                for operand in operands:
                    self.fits(operand, kc.VectorType(memory.element))
                if old is not None:
                    self.target(old)
            case _:
                self.control(statement)

    def control(self, statement: kc.Statement) -> None:
        match statement:
            case kc.Block():
                self.block(statement)
            case kc.Reassociate(body):
                self.block(body)
            case kc.For():
                self.loop(statement)
            case kc.While(condition, body):
                self.truth(condition)
                self.block(body)
                self.ends = False
            case kc.Unrolled(index, count, body):
                self.integer(count)
                self.declare(index, kc.LONG, given=True)
                self.statements(body.statements)
            case kc.Branch(condition, then, otherwise) | kc.StaticIf(
                condition, then, otherwise
            ):
                self.truth(condition)
                self.either(then, otherwise or kc.Block(()))
            case kc.Return() | kc.Break():
                self.ends = True
            case kc.Fail(_, values, label):
                for value in values:
                    self.exp(value)
                self.jump(label)
                self.ends = True
            case kc.CallFunction():
                self.call(statement)
            case kc.ReturnValues(values):
                require(len(values) == len(self.results), "as many values as results")
                for value, type_ in zip(values, self.results, strict=True):
                    self.fits(value, type_)
            case kc.DetectLastGroup(target, groups) | kc.FetchWork(target, groups):
                self.integer(groups)
                self.target(target)

    def assign(
        self, target: kc.Variable | kc.Register | kc.Component, exp: kc.Expression
    ) -> None:
        match target, exp:
            case kc.Variable(name), kc.Select(mask, then, kc.Variable(same)) if (
                name == same
            ):
                # lanes that are not active have no value before either
                self.exp(mask)
                self.fits(then, target.type)
                self.target(target)
            case kc.Component(vector), _:
                self.fits(exp, target.type)
                self.exp(vector)
            case kc.Variable() | kc.Register(), _:
                self.fits(exp, target.type)
                self.target(target)

    def target(self, target: kc.Variable | kc.Register) -> None:
        """A variable gets a value."""
        name = target.name if isinstance(target, kc.Variable) else target.family
        self.visible(name, target.type)
        self.given.add(name)

    def loop(self, loop: kc.For) -> None:
        for bound in (loop.start, loop.bound, loop.step):
            self.fits(bound, loop.variable.type)
        self.declare(loop.variable.name, loop.variable.type, given=True)
        self.block(loop.body)
        self.ends = False

    def either(self, then: kc.Block, otherwise: kc.Block) -> None:
        """One of two blocks: what both give a first value to has one."""
        given, ends = set(self.given), self.ends
        self.block(then)
        after, ended = self.given, self.ends
        self.given, self.ends = given, ends
        self.block(otherwise)
        if self.ends:
            self.given = after
        elif not ended:
            self.given &= after
        self.ends &= ended

    def call(self, call: kc.CallFunction) -> None:
        parameters = call.function.parameters
        fits = len(parameters) == len(call.arguments)
        require(fits, "as many arguments as parameters")
        for parameter, argument in zip(parameters, call.arguments, strict=True):
            if isinstance(argument, kc.Memory):
                self.memory(argument)
                require(
                    isinstance(parameter, kc.MemoryParameter)
                    and parameter.memory.space == argument.space
                    and parameter.memory.element == argument.element,
                    f"{argument.name} is no argument for {show(parameter, False)}",
                )
            else:
                require(isinstance(parameter, kc.ScalarParameter), "a memory is wanted")
                assert isinstance(parameter, kc.ScalarParameter)
                self.fits(argument, kc.VectorType(parameter.type))
        for result in call.results:
            self.target(result)
        self.jump(call.label)

    def jump(self, label: str | None) -> None:
        require(label is None or label in self.labels, f"there is no label {label}")

    # --- memories ---------------------------------------------------------------------

    def memory(self, memory: kc.Memory) -> None:
        known = self.known.get(memory.name)
        require(known == memory, f"{memory.name} is not visible as {memory.space}")

    def global_memory(self, memory: kc.Memory) -> None:
        self.memory(memory)
        require(memory.space == "global", f"{memory.name} is {memory.space} memory")

    # --- expressions ------------------------------------------------------------------

    def visible(self, name: Name, type_: kc.VectorType) -> None:
        known = self.known.get(name)
        require(known is not None, f"{name} is not visible")
        require(known == type_, f"{name} is {known} and not {type_}")

    def size(self, size: Size) -> None:
        for name in size.names():
            self.read(name, kc.LONG)

    def read(self, name: Name, type_: kc.VectorType) -> None:
        self.visible(name, type_)
        require(name in self.given or self.ends, f"{name} has no value here")

    def fits(self, exp: kc.Expression, type_: kc.VectorType) -> None:
        self.exp(exp)
        require(exp.type == type_, f"a value of {exp.type} for one of {type_}")

    def integer(self, exp: kc.Expression) -> None:
        self.exp(exp)
        fits = exp.type.lanes == 1 and exp.type.scalar.is_integer
        require(fits, f"{exp.type} is no index")

    def truth(self, exp: kc.Expression) -> None:
        self.exp(exp)
        require(exp.type.lanes == 1, f"a condition of {exp.type}")

    def exp(self, exp: kc.Expression) -> None:
        """An expression and its parts."""
        match exp:
            case kc.Variable(name, type_):
                self.read(name, type_)
                return
            case kc.Literal():
                return
            case kc.Register(family, indices, type_):
                self.visible(family, type_)
                for index in indices:
                    if isinstance(index, Size):
                        self.size(index)
            case kc.SizeValue(size):
                self.size(size)
            case kc.Load(memory, index, type_):
                self.memory(memory)
                self.integer(index)
                require(_element_fits(memory, type_), f"elements of {memory.element}")
            case kc.Binary():
                self.binary(exp)
            case kc.Operation():
                self.operation(exp)
            case kc.Cast(operand, type_):
                self.exp(operand)
                require(operand.type.lanes == type_.lanes, "a cast keeps its lanes")
            case kc.Component(vector, lane):
                self.exp(vector)
                require(0 <= lane < vector.type.lanes, f"there is no lane {lane}")
            case kc.Vector(components, type_):
                self.all(components)
                require(len(components) in (1, type_.lanes), "as many values as lanes")
            case kc.Select(condition, then, otherwise):
                self.all((condition, then, otherwise))
                require(then.type == otherwise.type, "sides of different types")
                lanes = condition.type.lanes
                require(lanes in (1, then.type.lanes), "a mask of another width")
            case kc.Call(_, operands):
                self.all(operands)
                return
        natural = natural_type(exp)
        require(natural in (None, exp.type) or _is_vector_of(natural, exp.type),
                f"{natural} and not {exp.type}")  # fmt: skip

    def all(self, exps: Iterable[kc.Expression]) -> None:
        for exp in exps:
            self.exp(exp)

    def binary(self, exp: kc.Binary) -> None:
        self.exp(exp.left)
        self.exp(exp.right)
        left, right = exp.left.type, exp.right.type
        require(left.lanes == right.lanes, f"{left} {exp.symbol} {right}")
        plain = exp.symbol in COMPARISONS or exp.symbol in LOGIC
        if not plain and exp.symbol not in ("<<", ">>"):
            require(left == right, f"{left} {exp.symbol} {right}")

    def operation(self, exp: kc.Operation) -> None:
        self.all(exp.operands)
        for operand, wanted in zip(exp.operands, exp.operator.operands, strict=True):
            found = operand.type.scalar
            mask = wanted == BOOL and operand.type.lanes > 1
            require(found == wanted or mask, f"{found} for {wanted} of {exp.operator}")


def require(condition: bool, message: str) -> None:
    """A fault unless the condition holds."""
    if not condition:
        raise Fault(message)


def _element_fits(memory: kc.Memory, type_: kc.VectorType) -> bool:
    """Whether values of a type are elements; truth values in lanes are bytes."""
    return type_.scalar == memory.element or (
        memory.element == BOOL and type_.scalar == U8
    )


def _is_vector_of(natural: kc.VectorType | None, type_: kc.VectorType) -> bool:
    """Whether a type is the natural one of a scalar in several lanes (of a load)."""
    return natural is not None and natural.lanes == 1 and type_.lanes > 1
