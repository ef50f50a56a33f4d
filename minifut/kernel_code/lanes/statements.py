"""Statements lifted to lanes: masks for branches and loops; see the package."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from minifut.ir.node import replace
from minifut.ir.traverse import walk
from minifut.kernel_code import nodes as kc
from minifut.kernel_code.builder import CodeBuilder
from minifut.kernel_code.lanes.affine import Affine, affine
from minifut.kernel_code.lanes.expressions import Lanes, NotLifted, is_step_one
from minifut.kernel_code.lanes.varying import assigned, find_varying
from minifut.names import Name


def lift(
    k: CodeBuilder,
    statements: Sequence[kc.Statement],
    index: kc.Variable,
    at: Affine,
    width: int,
    running: Iterable[kc.Variable] = (),
    numbers: frozenset[Name] = frozenset(),
) -> list[kc.Statement]:
    """The statements for `width` points at once.

    `index` is the variable that counts the points, `at` its value in the first lane and
    the step to the next; `running` are variables from outside with a value per lane:
    they are vectors of the same names. Families of registers in `numbers` never hold a
    NaN. Raises `NotLifted` with the reason.
    """
    _refuse_early(statements)
    given = [index.name, *(variable.name for variable in running)]
    lanes = Lanes(width, find_varying(statements, given))
    lanes.affine[index.name] = at
    lanes.numbers = numbers
    return _Lifter(k, lanes, assigned(statements)).block(statements)


def _refuse_early(statements: Sequence[kc.Statement]) -> None:
    """What one point writes, another may not read; and large bodies that lifting would
    refuse after most of the work are those with calls."""
    loaded, stored = set(), set()
    for statement in statements:
        for node in walk(statement):
            match node:
                case kc.Load(memory, _, _):
                    loaded.add(memory)
                    shared = memory in stored
                case kc.Store(memory, _, _, _):
                    stored.add(memory)
                    shared = memory in loaded
                case kc.CallFunction():
                    raise NotLifted("CallFunction in lanes")
                case _:
                    continue
            if shared:
                raise NotLifted("points read what they write")


class _Lifter:
    def __init__(self, k: CodeBuilder, lanes: Lanes, changing: frozenset[Name]) -> None:
        self.k = k
        self.lanes = lanes
        self.changing = changing
        self.out: list[kc.Statement] = []

    def block(self, statements: Iterable[kc.Statement]) -> list[kc.Statement]:
        """Lift statements into a list of their own."""
        outer, self.out = self.out, []
        for statement in statements:
            self.statement(statement)
        done, self.out = self.out, outer
        return done

    def statement(self, statement: kc.Statement) -> None:
        lanes = self.lanes
        match statement:
            case kc.Declare(kc.Variable() as variable, init):
                self.declare(variable, init)
            case kc.Assign(kc.Variable() | kc.Register() as variable, exp):
                self.assign(variable, exp)
            case kc.Store(memory, index, exp, False):
                self.store(memory, index, exp)
            case kc.For() | kc.While():
                lanes.loops += 1
                self.loop(statement)
                lanes.loops -= 1
            case kc.Branch(condition, then, otherwise):
                self.branch(condition, then, otherwise)
            case kc.Block(inside):
                self.out.append(kc.Block(tuple(self.block(inside))))
            case kc.Reassociate(body):
                inner = kc.Block(tuple(self.block(body.statements)))
                self.out.append(kc.Reassociate(inner))
            case kc.Fail(number, values, label):
                self.fail(number, values, label)
            case kc.Comment():
                self.out.append(statement)
            case _:
                raise NotLifted(f"{type(statement).__name__} in lanes")

    # --- variables --------------------------------------------------------------------

    def declare(self, variable: kc.Variable, init: kc.Expression | None) -> None:
        lanes, name = self.lanes, variable.name
        if name not in lanes.varying:
            self.out.append(kc.Declare(variable, init))
            return
        if init is not None and name not in self.changing:
            found = affine(init, lanes.affine, lanes.varying)
            if found is not None and variable.type == kc.LONG:
                first = self.k.variable(name.base, kc.LONG)
                self.out.append(kc.Declare(first, found[0]))
                lanes.affine[name] = (first, found[1])
                return
        wide = kc.Variable(name, lanes.wide(variable.type.scalar))
        value = None if init is None else lanes.spread(lanes.lift(init))
        self.out.append(kc.Declare(wide, value))

    def assign(self, variable: kc.Variable | kc.Register, exp: kc.Expression) -> None:
        lanes = self.lanes
        if not lanes.varies(variable):
            self.out.append(kc.Assign(variable, exp))
            return
        target = replace(variable, type=lanes.wide(variable.type.scalar))
        value = lanes.spread(lanes.lift(exp))
        if lanes.mask is not None:
            value = lanes.choose(lanes.mask, value, target)
        self.out.append(kc.Assign(target, value))

    def store(
        self, memory: kc.Memory, index: kc.Expression, exp: kc.Expression
    ) -> None:
        """Consecutive elements at once, others in the order of their lanes."""
        lanes = self.lanes
        if memory.space == "private":
            raise NotLifted("an array of the thread")
        value = lanes.to_memory(memory, lanes.spread(lanes.lift(exp)))
        found = affine(index, lanes.affine, lanes.varying)
        if found is not None and is_step_one(found[1]) and lanes.mask is None:
            self.out.append(kc.Store(memory, found[0], value))
            return
        held = self.k.variable("value", value.type)
        self.out.append(kc.Declare(held, value))
        for number in range(lanes.width):
            place = lanes.place(index, number)
            one_store = kc.Store(memory, place, lanes.lane(held, number))
            self.out.append(self.where_active(number, one_store))

    def where_active(self, number: int, statement: kc.Statement) -> kc.Statement:
        """A statement for one lane, done only if the lane is active."""
        if self.lanes.mask is None:
            return statement
        active = self.lanes.lane(self.lanes.mask, number).differs(0)
        return kc.Branch(active, kc.Block((statement,)))

    def fail(
        self, number: int, values: tuple[kc.Expression, ...], label: str | None
    ) -> None:
        """The first active lane fails, as the first point would."""
        lifted = [self.lanes.lift(value) for value in values]
        for lane in range(self.lanes.width):
            mine = tuple(self.lanes.lane(value, lane) for value in lifted)
            self.out.append(self.where_active(lane, kc.Fail(number, mine, label)))

    # --- control ----------------------------------------------------------------------

    def named_mask(self, mask: kc.Expression, base: str) -> kc.Variable:
        """A mask in a variable."""
        variable = self.k.variable(base, mask.type)
        self.out.append(kc.Declare(variable, mask))
        return variable

    def branch(
        self, condition: kc.Expression, then: kc.Block, otherwise: kc.Block | None
    ) -> None:
        lanes, outer = self.lanes, self.lanes.mask
        if not lanes.varies(condition):
            other = None
            inner = kc.Block(tuple(self.block(then.statements)))
            if otherwise is not None:
                other = kc.Block(tuple(self.block(otherwise.statements)))
            self.out.append(kc.Branch(condition, inner, other))
            return
        truth = self.named_mask(lanes.lift(condition), "truth")
        self.under(lanes.both(outer, truth), then)
        if otherwise is not None and otherwise.statements:
            self.under(lanes.both(outer, lanes.complement(truth)), otherwise)
        lanes.mask = outer

    def under(self, mask: kc.Expression, block: kc.Block) -> None:
        """A block for the lanes of a mask; skipped if there are none, unless doing it
        is cheaper than asking."""
        lanes, outer = self.lanes, self.lanes.mask
        active = self.named_mask(mask, "active")
        lanes.mask = active
        inside = self.block(block.statements)
        lanes.mask = outer
        if is_short(block):
            self.out.append(kc.Block(tuple(inside)))
        else:
            some = kc.Call("any", (active,), kc.TRUTH)
            self.out.append(kc.Branch(some, kc.Block(tuple(inside))))

    def masked_while(self, condition: kc.Expression, body: kc.Block) -> None:
        """Goes on while some lane does; the others keep what they have."""
        if changes_long_integers(body):
            # Half as many lanes that wait for the slowest: 0.8 of the scalar speed.
            raise NotLifted("a loop of 64-bit integers ends at different times")
        lanes, outer = self.lanes, self.lanes.mask
        first = lanes.both(outer, lanes.lift(condition))
        live = self.named_mask(first, "live")
        lanes.mask = live
        inside = self.block(body.statements)
        # Lanes that have left keep their variables, so their condition stays false.
        again = kc.Assign(live, lanes.both(outer, lanes.lift(condition)))
        lanes.mask = outer
        some = kc.Call("any", (live,), kc.TRUTH)
        self.out.append(kc.While(some, kc.Block((*inside, again))))

    def loop(self, loop: kc.For | kc.While) -> None:
        """A loop whose ends are the same for all lanes, or else one with a mask."""
        lanes = self.lanes
        if isinstance(loop, kc.While):
            if lanes.varies(loop.condition):
                self.masked_while(loop.condition, loop.body)
            else:
                inner = kc.Block(tuple(self.block(loop.body.statements)))
                self.out.append(kc.While(loop.condition, inner))
            return
        variable = loop.variable
        if variable.name not in lanes.varying:
            inside = kc.Block(tuple(self.block(loop.body.statements)))
            self.out.append(kc.For(variable, loop.start, loop.bound, loop.step, inside))
            return
        wide = kc.Variable(variable.name, lanes.wide(variable.type.scalar))
        start = lanes.spread(lanes.lift(loop.start))
        self.out.append(kc.Declare(wide, start))
        step = kc.Assign(variable, kc.Binary("+", variable, loop.step, variable.type))
        body = kc.Block((*loop.body.statements, step))
        self.masked_while(kc.Binary("<", variable, loop.bound, kc.TRUTH), body)


SHORT = 12
"""statements of a block that are cheaper than a test and a jump"""


def is_short(block: kc.Block) -> bool:
    """Whether a block is a few assignments."""
    return len(block.statements) <= SHORT and all(
        isinstance(s, kc.Assign | kc.Declare)
        and not any(isinstance(n, kc.Load) for n in walk(s))
        for s in block.statements
    )


def changes_long_integers(body: kc.Block) -> bool:
    """Whether a loop carries integers of 64 bits."""
    types = (n.target.type.scalar for n in walk(body) if isinstance(n, kc.Assign))
    return any(type_.bits == 64 and type_.is_integer for type_ in types)
