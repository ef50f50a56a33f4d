"""`CodeBuilder`: the way kernels are written, statement by statement.

    k = host.kernel("sum")                      # a KernelBuilder, see lower_kernel
    total = k.declare("total", Literal(0.0, F32x1))
    with k.loop("i", k.size(n)) as i:
        with k.branch(i < 10):
            k.assign(total, total + k.load(memory, i))
    k.store(out, as_expression(0), total)

Parameters come by themselves: a name of the host that the code mentions becomes one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager

from minifut.ir.kernels import Parameter as Tunable
from minifut.ir.sizes import Size
from minifut.ir.types import BOOL, I64, ScalarType
from minifut.kernel_ir import nodes as kc
from minifut.kernel_ir.assignments import declared
from minifut.names import Name, NameSource
from minifut.rewrite.trace import Derivation


class CodeBuilder:
    """Statements of one kernel, its parameters, and its private and local memory."""

    exchanges_global = False
    """whether work-items of a group exchange values through global memory"""

    def __init__(self, names: NameSource, base: str) -> None:
        self.names = names
        self.base = base
        self.statements: list[kc.Statement] = []
        self.prologue: list[kc.Statement] = []
        self.parameters: dict[Name, kc.Parameter] = {}
        self.written: set[Name] = set()
        self.constants: dict[Name, kc.BuildConstant] = {}
        self.declared: set[Name] = set()
        self.called: dict[kc.DeviceFunction, None] = {}
        self.derivation: Derivation | None = None
        self.can_fail = False
        self.fail_label: str | None = None
        self.group_name = names.fresh("group")
        self.declared.add(self.group_name)

    # --- variables ---------------------------------------------------------------

    def variable(self, base: str, type_: kc.VectorType) -> kc.Variable:
        """A fresh variable that the caller declares."""
        name = self.names.fresh(base)
        self.declared.add(name)
        return kc.Variable(name, type_)

    def fresh_names(self, statements: Iterable[kc.Statement]) -> dict[Name, Name]:
        """Names for what another copy of the statements declares."""
        old = sorted(declared(statements), key=lambda name: name.tag)
        fresh = {name: self.names.like(name) for name in old}
        self.declared.update(fresh.values())
        return fresh

    def declare(
        self,
        base: str,
        init: kc.Expression | None = None,
        type_: kc.VectorType | None = None,
    ) -> kc.Variable:
        """A new variable with a first value, or only of a type."""
        if type_ is None:
            assert init is not None
            type_ = init.type
        variable = self.variable(base, type_)
        self.emit(kc.Declare(variable, init))
        return variable

    def emit(self, statement: kc.Statement) -> None:
        """Append a statement."""
        self.statements.append(statement)

    def assign(self, target: kc.Variable | kc.Register, exp: kc.Operand) -> None:
        """`target = exp`."""
        self.emit(kc.Assign(target, kc.as_expression(exp, target.type)))

    def assign_all(
        self, targets: Sequence[kc.Variable], values: Iterable[kc.Operand]
    ) -> None:
        """Assign one by one; the values must not mention the targets."""
        for target, value in zip(targets, values, strict=True):
            self.assign(target, value)

    def named(self, exp: kc.Expression, base: str = "t") -> kc.Expression:
        """The expression, or a variable that holds it unless it is trivial."""
        if isinstance(exp, kc.Variable | kc.Literal):
            return exp
        return self.declare(base, exp)

    @property
    def width(self) -> kc.Expression:
        """The work-items of a group, where a launch gives them: a constant when the
        kernel is built."""
        return kc.Variable(self.group_name, kc.LONG)

    def build_constant(self, parameter: Tunable) -> kc.Expression:
        """The value of a parameter that no statement of the program defines, known
        when the kernel is built."""
        for known in self.constants.values():
            if known.parameter == parameter:
                return kc.Variable(known.name, kc.LONG)
        name = self.names.fresh(parameter.name.rpartition(".")[2])
        self.constants[name] = kc.BuildConstant(name, parameter)
        return kc.Variable(name, kc.LONG)

    # --- sizes and indices ---------------------------------------------------------

    def size_value(self, size: Size) -> kc.Expression:
        """A size over kernel and host variables as an i64 expression."""
        known = size.as_constant
        if known is not None:
            return kc.Literal(known, kc.LONG)
        for name in sorted(size.names() - self.declared, key=lambda n: n.tag):
            self.scalar_parameter(name, I64)
        name_only = size.as_name
        if name_only is not None:
            return kc.Variable(name_only, kc.LONG)
        return kc.SizeValue(size)

    def as_size(self, exp: kc.Expression, base: str = "i") -> Size:
        """An i64 expression as a size, kept in a variable unless it is one."""
        match exp:
            case kc.Literal(number, _):
                return Size.constant(int(number))
            case kc.SizeValue(size, _):
                return size
        if exp.type != kc.LONG:
            exp = kc.Cast(exp, kc.LONG)
        named = self.named(exp, base)
        assert isinstance(named, kc.Variable)
        return Size.of(named.name)

    # --- control --------------------------------------------------------------------

    @contextmanager
    def nested(self) -> Iterator[list[kc.Statement]]:
        """Collect the statements emitted inside into a list of their own."""
        saved, self.statements = self.statements, []
        try:
            yield self.statements
        finally:
            self.statements = saved

    @contextmanager
    def loop(
        self,
        base: str,
        bound: kc.Operand,
        start: kc.Operand = 0,
        step: kc.Operand = 1,
        *,
        type_: kc.VectorType = kc.LONG,
        parallel: bool = False,
        points: bool = False,
        expensive: bool = False,
        streams: bool = False,
        rolled: bool = False,
        extent: kc.Operand | None = None,
    ) -> Iterator[kc.Variable]:
        """A for loop; gives its variable, of type `type_`."""
        variable = self.variable(base, type_)
        with self.nested() as body:
            yield variable
        self.emit(
            kc.For(
                variable,
                kc.as_expression(start, type_),
                kc.as_expression(bound, type_),
                kc.as_expression(step, type_),
                kc.Block(tuple(body)),
                parallel,
                points,
                expensive,
                streams=streams,
                rolled=rolled,
                extent=None if extent is None else kc.as_expression(extent, type_),
            )
        )

    @contextmanager
    def unrolled(self, base: str, count: kc.Expression) -> Iterator[kc.Variable]:
        """Copies of what is emitted inside; gives their index."""
        variable = self.variable(base, kc.LONG)
        with self.nested() as body:
            yield variable
        self.emit(kc.Unrolled(variable.name, count, kc.Block(tuple(body))))

    @contextmanager
    def scope(self) -> Iterator[None]:
        """Statements whose variables end with them."""
        with self.nested() as body:
            yield
        self.emit(kc.Block(tuple(body)))

    @contextmanager
    def while_loop(self, condition: kc.Expression) -> Iterator[None]:
        """A while loop; the condition is an expression over variables."""
        with self.nested() as body:
            yield
        self.emit(kc.While(condition, kc.Block(tuple(body))))

    @contextmanager
    def branch(self, condition: kc.Expression) -> Iterator[None]:
        """An if; `otherwise` may follow at once."""
        with self.nested() as body:
            yield
        self.emit(kc.Branch(condition, kc.Block(tuple(body))))

    @contextmanager
    def otherwise(self) -> Iterator[None]:
        """The else of the branch just emitted."""
        last = self.statements.pop()
        assert isinstance(last, kc.Branch) and last.otherwise is None
        with self.nested() as body:
            yield
        self.emit(kc.Branch(last.condition, last.then, kc.Block(tuple(body))))

    @contextmanager
    def unless(self, conditions: Sequence[kc.Expression]) -> Iterator[None]:
        """Statements that are skipped where all conditions hold, if there are any."""
        with self.nested() as body:
            yield
        some_fail = kc.Call("!", (kc.all_of(conditions),), kc.TRUTH)
        with self.only_if([some_fail] if conditions else []):
            self.statements.extend(body)

    @contextmanager
    def only_if(self, conditions: Sequence[kc.Expression]) -> Iterator[None]:
        """Statements that are skipped where one of these conditions does not hold."""
        with self.nested() as body:
            yield
        if conditions:
            self.emit(kc.Branch(kc.all_of(conditions), kc.Block(tuple(body))))
        else:
            self.statements.extend(body)

    @contextmanager
    def reassociate(self, wanted: bool = True) -> Iterator[None]:
        """Statements in which floats may be reassociated and contracted."""
        if not wanted:
            yield
            return
        with self.nested() as body:
            yield
        self.emit(kc.Reassociate(kc.Block(tuple(body))))

    # --- memory ---------------------------------------------------------------------

    def use(self, memory: kc.Memory, *, written: bool = False) -> None:
        """Make a global memory a parameter, once; remember that it is written."""
        if memory.space != "global" or memory.name in self.declared:
            return
        if written:
            self.written.add(memory.name)
        if memory.name not in self.parameters:
            self.parameters[memory.name] = kc.MemoryParameter(memory, False)

    def scalar_parameter(self, name: Name, type_: ScalarType) -> kc.Variable:
        """A scalar of the host as a parameter, once."""
        if name not in self.parameters:
            self.parameters[name] = kc.ScalarParameter(name, type_)
        return kc.Variable(name, kc.VectorType(type_))

    def load(
        self, memory: kc.Memory, index: kc.Operand | Size, lanes: int = 1
    ) -> kc.Expression:
        """The element(s) at an index."""
        self.use(memory)
        type_ = kc.VectorType(memory.element, lanes)
        return kc.Load(memory, self._index(index), type_)

    def store(
        self,
        memory: kc.Memory,
        index: kc.Operand | Size,
        exp: kc.Expression,
        streaming: bool = False,
    ) -> None:
        """Write an element, or as many as the expression has lanes."""
        self.use(memory, written=True)
        self.emit(kc.Store(memory, self._index(index), exp, streaming))

    def _index(self, index: kc.Operand | Size) -> kc.Expression:
        if isinstance(index, Size):
            return self.size_value(index)
        return kc.as_expression(index)

    def atomic(
        self,
        function: str,
        memory: kc.Memory,
        index: kc.Operand | Size,
        *operands: kc.Expression,
        base: str = "old",
    ) -> kc.Variable:
        """An atomic update; gives the old value."""
        self.use(memory, written=True)
        old = self.declare(base, type_=kc.VectorType(memory.element))
        self.emit(kc.AtomicUpdate(function, memory, self._index(index), operands, old))
        return old

    def part(self, memory: kc.Memory, start: Size) -> kc.Memory:
        """A name for global memory, to be written to, from an element of it on."""
        self.use(memory, written=True)
        part = kc.Memory(self.names.fresh(memory.name.base), memory.element)
        self.declared.add(part.name)
        self.emit(kc.DeclarePointer(part, memory, self.size_value(start)))
        return part

    def private_memory(self, element: ScalarType, count: int, base: str) -> kc.Memory:
        """An array of the work-item, declared at the head of the kernel."""
        memory = kc.Memory(self.names.fresh(base), element, "private")
        self.prologue.append(kc.DeclareArray(memory, Size.constant(count)))
        return memory

    def local_memory(self, element: ScalarType, count: Size, base: str) -> kc.Memory:
        """An array of the group. A count over host variables, not constant, makes it a
        parameter."""
        memory = kc.Memory(self.names.fresh(base), element, "local")
        if count.as_constant is None:
            self.parameters[memory.name] = kc.LocalParameter(memory, count)
        else:
            self.prologue.append(kc.DeclareArray(memory, count))
        return memory

    # --- groups and failures ----------------------------------------------------------

    def identity(self, function: str, dimension: int = 0) -> kc.Expression:
        """`get_global_id` and its kin, as an i64."""
        call = kc.Call(function, (kc.Literal(dimension, kc.INT),), kc.LONG)
        return kc.Cast(call, kc.LONG)

    @contextmanager
    def parallel_region(self) -> Iterator[None]:
        """Statements in which no work-item of the group depends on another."""
        with self.nested() as body:
            yield
        self.emit(kc.ParallelRegion(kc.Block(tuple(body))))

    def fail_unless(
        self, condition: kc.Expression, number: int, values: tuple[kc.Expression, ...]
    ) -> None:
        """Record failure `number` and leave, unless the condition holds."""
        self.can_fail = True
        fail = kc.Block((kc.Fail(number, values, self.fail_label),))
        inverted = kc.Call("!", (condition,), kc.VectorType(BOOL))
        self.emit(kc.Branch(inverted, fail))

    def call(
        self,
        function: kc.DeviceFunction,
        arguments: tuple[kc.Expression | kc.Memory, ...],
        place: int,
        bases: tuple[str, ...],
    ) -> tuple[kc.Variable, ...]:
        """Call a function; gives its results."""
        for inner in (*function.callees, function):
            self.called.setdefault(inner)
        self.can_fail |= function.may_exit
        results = tuple(
            self.declare(base, type_=type_)
            for base, type_ in zip(bases, function.results, strict=True)
        )
        call = kc.CallFunction(function, arguments, results, place, self.fail_label)
        self.emit(call)
        return results

    def finish(
        self, name: str, group_size: tuple[int, ...] | None, *, fresh: bool = False
    ) -> kc.Kernel:
        """The kernel written so far, for groups of one size or of what a launch
        gives."""
        parameters = tuple(
            kc.MemoryParameter(p.memory, p.memory.name in self.written)
            if isinstance(p, kc.MemoryParameter)
            else p
            for p in self.parameters.values()
        )
        body = kc.Block((*self.prologue, *self.statements))
        constants = tuple(self.constants.values())
        return kc.Kernel(
            name,
            parameters,
            body,
            group_size or self.group_name,
            self.can_fail,
            fresh,
            constants=constants,
            functions=tuple(self.called),
            exchanges_global=self.exchanges_global,
        )
