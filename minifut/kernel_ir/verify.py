"""The verifier of kernel code: scope, types, memory, first values, jumps, barriers.

    variables    visible where they are used, of the type that they are declared with,
                 and given a value on every path there on which each loop ran
    types        operands fit their operators, in scalars and in lanes; a vector is
                 stored to elements of its scalar type
    memory       a parameter, or declared; parts and prefetches are of global memory
    calls        arguments fit the parameters of the function
    jumps        forward to a label of the kernel, past no barrier
    barriers     and shuffles: in control flow that is the same for all work-items of a
                 group (`kernel_ir.uniform`)
    launches     of a kernel of the program, with an argument for each parameter

A fault is an `InternalError` with the statement and the ten lines around it.
"""

from __future__ import annotations

from typing import Any, assert_never

from minifut.errors import InternalError
from minifut.ir import search, traverse, types
from minifut.ir.verify import Fault, require
from minifut.kernel_ir import nodes as kc
from minifut.kernel_ir.printer import show
from minifut.kernel_ir.program import KernelProgram
from minifut.kernel_ir.uniform import divergent_barrier
from minifut.kernel_ir.verify_expressions import Expressions, element_fits
from minifut.names import Name

MEETINGS = (kc.Barrier, kc.UniformExit, kc.Shuffle)
"""where work-items meet"""
WORDS = (kc.VectorType(types.U32), kc.VectorType(types.U64))


class KernelCode:
    """The level of programs that kernel passes read and write."""

    def verify(self, program: KernelProgram, verified: object = None) -> None:
        """Raise an `InternalError` unless the program is well formed. Kernels that it
        shares with one that was found so are not examined again."""
        verify_program(program, verified)

    def show(self, program: KernelProgram) -> str:
        """The printed program."""
        return show(program)


KERNEL_CODE = KernelCode()


def verify_program(program: KernelProgram, verified: object = None) -> None:
    """Raise an `InternalError` unless kernels and their launches are well formed."""
    kernels = {kernel.name: kernel for kernel in program.kernels}
    before = {id(kernel) for kernel in _code_of(verified)}
    for kernel in _code_of(program):
        if id(kernel) not in before:
            verify_kernel(kernel)
    for node in (n for f in program.functions for n in traverse.walk(f.body)):
        if isinstance(node, kc.Launch):
            known = kernels.get(node.kernel)
            if known is None or len(known.parameters) != len(node.arguments):
                message = "there is no kernel with parameters for these arguments"
                raise InternalError("kernel_ir.verify", message, show(node, False))


def _code_of(program: object) -> tuple[kc.Kernel | kc.DeviceFunction, ...]:
    """The functions and kernels of kernel code; nothing of another form."""
    if not isinstance(program, KernelProgram):
        return ()
    return (*program.device_functions, *program.kernels)


def verify_kernel(kernel: kc.Kernel | kc.DeviceFunction) -> None:
    """Raise an `InternalError` unless a kernel, or a function, is well formed."""
    checker = _Checker()
    try:
        checker.whole(kernel)
    except Fault as fault:
        raise InternalError(
            "kernel_ir.verify", f"{kernel.name}: {fault}", checker.context()
        ) from None


class _Checker(Expressions):
    """Checks statements in order."""

    def __init__(self) -> None:
        super().__init__()
        self.place: list[Any] = []
        self.results: tuple[kc.VectorType, ...] = ()
        self.labels: set[str] = set()
        self.jumps: set[str] = set()

    def context(self) -> str:
        """The statement that is examined, and some lines of it."""
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
        if kc.Label in search.classes_in(kernel.body):
            self.labels = {n.name for n in search.nodes_of(kc.Label, kernel.body)}
        self.block(kernel.body)
        require(not self.jumps, f"jumps go back to {', '.join(sorted(self.jumps))}")
        barrier = divergent_barrier(kernel)
        if barrier is not None:
            self.place.append(barrier)
            raise Fault("a barrier in control flow that may diverge")

    def block(self, block: kc.Block) -> None:
        """Statements; what they declare ends with them."""
        before = dict(self.known)
        self.statements(block.statements)
        self.known = before

    def statements(self, statements: tuple[kc.Statement, ...]) -> None:
        for statement in statements:
            self.place.append(statement)
            self.statement(statement)
            self.place.pop()

    # --- statements -------------------------------------------------------------------

    def statement(self, statement: kc.Statement) -> None:
        match statement:
            case kc.Declare(variable, init):
                if init is not None:
                    self.note_masked(init)
                    self.fits(init, variable.type)
                match variable:
                    case kc.Variable(name, type_):
                        self.declare(name, type_, given=init is not None)
                    case kc.Register(family, _, type_):
                        self.declare(family, type_, given=True)
            case kc.Assign(target, exp):
                self.assign(target, exp)
            case kc.Store(memory, index, exp, mask=mask):
                self.memory(memory)
                self.integer(index)
                self.exp(exp)
                self.mask(mask, exp.type)
                if not element_fits(memory, exp.type):
                    to = f"elements of {memory.element}"
                    raise Fault(f"{exp.type} does not go to {to}")
            case kc.Prefetch(memory, index):
                self.global_memory(memory)
                self.integer(index)
            case kc.DeclareArray(memory, count):
                require(memory.space != "global", "an array of global memory")
                self.size(count)
                self.declare(memory.name, memory, given=True)
            case kc.DeclarePointer(part, whole, start, own=own):
                self.global_memory(whole)
                self.integer(start)
                if own is not None:
                    self.integer(own)
                self.declare(part.name, part, given=True)
            case kc.Evaluate(exp):
                self.exp(exp)
            case kc.HideValue(variable):
                self.visible(variable.name, variable.type)
            case kc.AtomicUpdate(function, memory, index, operands, old):
                self.words(memory)
                self.integer(index)
                for operand in operands:
                    self.fits(operand, kc.VectorType(memory.element))
                adds = function == "atomic_add" and old is None
                require(adds or not memory.element.is_float, f"{function} of floats")
                if old is not None:
                    self.target(old)
            case kc.DetectLastGroup(target, groups) | kc.FetchWork(target, groups):
                self.integer(groups)
                self.target(target)
            case kc.Comment():
                pass
            case _:
                self.control(statement)

    def control(self, statement: kc.Structured | kc.Transfer) -> None:
        match statement:
            case kc.Block():
                self.block(statement)
            case kc.Reassociate(body):
                self.block(body)
            case kc.For():
                self.loop(statement)
            case kc.While(condition, body):
                self.truth(condition)
                self.rounds(body)
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
            case kc.Fail(_, values, label, base):
                for value in (*values, *((base,) if base else ())):
                    self.exp(value)
                self.jump(label)
                self.ends = True
            case kc.CallFunction():
                self.call(statement)
            case kc.ReturnValues(values):
                require(len(values) == len(self.results), "as many values as results")
                for value, type_ in zip(values, self.results, strict=True):
                    self.fits(value, type_)
            case kc.ParallelRegion(body):
                meets = search.contains(body, (*MEETINGS, kc.ParallelRegion))
                require(not meets, "a barrier in a parallel region")
                self.statements(body.statements)
            case kc.Label(name):
                self.jumps.discard(name)
            case kc.Barrier() | kc.UniformExit():
                self.no_jump_past()
            case kc.Shuffle(_, target, word, lane, width):
                self.shuffle(target, word)
                self.integer(lane)
                self.integer(width)
            case _:
                assert_never(statement)

    def assign(self, target: kc.Variable | kc.Register, exp: kc.Expression) -> None:
        match target, exp:
            case kc.Variable(name), kc.Select(mask, then, kc.Variable(same)) if (
                name == same
            ):
                self.masked.add(name)
                self.exp(mask)
                self.fits(then, target.type)
                self.target(target)
            case _:
                self.note_masked(exp)
                self.fits(exp, target.type)
                self.target(target)

    def note_masked(self, exp: kc.Expression) -> None:
        """Let lanes that a mask leaves out keep what has no value: only lanes that were
        active once are examined later."""
        match exp:
            case kc.Select(mask, _, kc.Variable(kept)):
                if isinstance(mask, kc.Cast):
                    mask = mask.operand
                type_ = mask.type if isinstance(mask, kc.Variable) else None
                if isinstance(type_, kc.VectorType) and type_.lanes > 1:
                    self.masked.add(kept)

    def target(self, target: kc.Variable | kc.Register) -> None:
        """A variable gets a value."""
        name = target.name if isinstance(target, kc.Variable) else target.family
        self.visible(name, target.type)
        self.given.add(name)

    def loop(self, loop: kc.For) -> None:
        for bound in (loop.start, loop.bound, loop.step, loop.extent):
            if bound is not None:
                self.fits(bound, loop.variable.type)
        self.declare(loop.variable.name, loop.variable.type, given=True)
        self.rounds(loop.body)

    def rounds(self, body: kc.Block) -> None:
        """The body of a loop: what jumps out of it skips its barriers."""
        before = set(self.jumps)
        self.block(body)
        self.ends = False
        if self.jumps - before and search.contains(body, MEETINGS):
            self.no_jump_past()

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

    def shuffle(self, target: kc.Variable, word: kc.Expression) -> None:
        """A word of another work-item."""
        self.no_jump_past()
        require(word.type in WORDS, f"{word.type} is no word")
        self.fits(word, target.type)
        self.target(target)

    def jump(self, label: str | None) -> None:
        if label is not None:
            require(label in self.labels, f"there is no label {label}")
            self.jumps.add(label)

    def no_jump_past(self) -> None:
        """A barrier here is reached by all: no work-item has left for a label behind
        it."""
        past = ", ".join(sorted(self.jumps))
        require(not self.jumps, f"work-items that jump to {past} meet no barrier here")
