"""Vectorised statements of a body, in order; see the package. Divergent control flow is
left to the rules of `masks`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cached_property

from minifut.ir.node import replace
from minifut.ir.search import contains
from minifut.kernel_ir import nodes as kc
from minifut.kernel_ir.assignments import assigned, declared
from minifut.kernel_ir.builder import CodeBuilder
from minifut.kernel_ir.shuffles import first_active
from minifut.kernel_passes.vectorise import masks, private_arrays
from minifut.kernel_passes.vectorise.affine import Affine, affine
from minifut.kernel_passes.vectorise.calls import calls_functions
from minifut.kernel_passes.vectorise.clamps import clamped_ends
from minifut.kernel_passes.vectorise.context import NotVectorisable
from minifut.kernel_passes.vectorise.divergent_loops import streams
from minifut.kernel_passes.vectorise.expressions import ExpressionVectoriser
from minifut.kernel_passes.vectorise.own_elements import memory_in_place
from minifut.kernel_passes.vectorise.permutations import combined_number, own_block
from minifut.kernel_passes.vectorise.row_squares import traverse_in_squares
from minifut.kernel_passes.vectorise.rows import Rounds, waiting_loops
from minifut.kernel_passes.vectorise.stores import STORES
from minifut.kernel_passes.vectorise.varying import find_varying
from minifut.names import Name
from minifut.rewrite.rule import Declined, Rule
from minifut.rewrite.strategy import first_of
from minifut.rewrite.trace import Derivation


def vectorise(
    k: CodeBuilder,
    statements: Sequence[kc.Statement],
    index: kc.Variable,
    at: Affine,
    width: int,
    running: Iterable[kc.Variable] = (),
    numbers: frozenset[Name] = frozenset(),
    arrays: private_arrays.Owned | None = None,
    rows: list[kc.Expression] | None = None,
    aligned: bool = False,
) -> list[kc.Statement]:
    """The statements for `width` points at once.

    `index` is the variable that counts the points, `at` its value in the first lane and
    the step to the next; `running` are variables from outside with a value per lane:
    they are vectors of the same names. Families of registers in `numbers` never hold a
    NaN; `arrays` are those that each point has for itself, with their sizes.
    What must hold for lanes to traverse rows is added to `rows`, where points are known
    to be independent; without, none may. `aligned`: the first index is a multiple of
    the width.
    Raises `NotVectorisable` with the reason.
    """
    own, declared = private_arrays.declare_in_lanes(k, arrays or {}, width)
    _refuse_calls(statements)
    if rows is None:
        memory_in_place(statements, index, own)
    given = [index.name, *(variable.name for variable in running)]
    given += [memory.name for memory in own]
    varying, changing = find_varying(statements, given), assigned(statements)
    _refuse_shared(statements, changing & varying - set(given))
    private_arrays.refuse_scattered(statements, arrays or {}, varying)
    lanes = ExpressionVectoriser(width, varying, k.derivation, numbers)
    lanes.affine[index.name] = at
    lanes.own = own
    lanes.rows = rows
    if aligned or _is_multiple(at[0], width):
        lanes.own_block = own_block(statements, index.name, at)
    vectoriser = Vectoriser(k, lanes, changing)
    vectoriser.points = statements
    return [*declared, *vectoriser.block(statements)]


def _is_multiple(first: kc.Expression, width: int) -> bool:
    """Whether an index is a number that the lanes divide."""
    return isinstance(first, kc.Literal) and int(first.value) % width == 0


def _refuse_calls(statements: Sequence[kc.Statement]) -> None:
    """Bodies with calls are large, and would be refused after most of the work."""
    if any(contains(statement, kc.CallFunction) for statement in statements):
        raise NotVectorisable("CallFunction has no vector form")


def _refuse_shared(
    statements: Sequence[kc.Statement], changing: frozenset[Name]
) -> None:
    """Variables from outside have one value for all points."""
    if changing - declared(statements):
        raise NotVectorisable("points change a variable that all share")


class Vectoriser:
    """Vectorises statements into `out`; the context of the rules for masks."""

    def __init__(
        self, k: CodeBuilder, lanes: ExpressionVectoriser, changing: frozenset[Name]
    ) -> None:
        self.k = k
        self.lanes = lanes
        self.changing = changing
        self.points: Sequence[kc.Statement] = ()
        """all statements of a point"""
        self.reassociates = False
        self.out: list[kc.Statement] = []
        self.masks: dict[Name, kc.Expression | None] = {}
        """under which variables are declared"""
        self.unset: dict[Name, tuple[list[kc.Statement], int]] = {}
        """where variables without a value yet are declared"""

    @cached_property
    def waiting(self) -> tuple[tuple[Rounds, ...], ...]:
        """The loops of points that wait, each with those around it."""
        return tuple(waiting_loops(self.points))

    @property
    def derivation(self) -> Derivation | None:
        return self.k.derivation

    def block(self, statements: Iterable[kc.Statement]) -> list[kc.Statement]:
        """Lift statements into a list of their own."""
        outer, self.out = self.out, []
        for statement in statements:
            self.statement(statement)
        done, self.out = self.out, outer
        return done

    def statement(self, statement: kc.Statement) -> None:
        match statement:
            case kc.Declare(kc.Variable() as variable, init):
                self.declare(variable, init)
            case kc.Assign(kc.Variable() | kc.Register() as variable, exp):
                self.assign(variable, exp)
            case kc.Store(_, _, _, False):
                self.store(statement)
            case kc.For() | kc.While():
                self.loop(statement)
            case kc.Branch():
                self.branch(statement)
            case kc.Block(inside):
                self.out.append(kc.Block(tuple(self.block(inside))))
            case kc.Reassociate(body):
                outer, self.reassociates = self.reassociates, True
                inner = kc.Block(tuple(self.block(body.statements)))
                self.out.append(kc.Reassociate(inner))
                self.reassociates = outer
            case kc.Fail():
                self.fail(statement)
            case kc.Comment():
                self.out.append(statement)
            case _:
                raise NotVectorisable(f"{type(statement).__name__} in lanes")

    # --- variables --------------------------------------------------------------------

    def declare(self, variable: kc.Variable, init: kc.Expression | None) -> None:
        lanes, name = self.lanes, variable.name
        if name not in lanes.varying:
            self.out.append(kc.Declare(variable, init))
            return
        self.masks[name] = lanes.mask
        if init is not None and name not in self.changing:
            found = affine(init, lanes.affine, lanes.varying)
            if found is not None and variable.type == kc.LONG:
                lanes.affine[name] = (self.named(found[0], name.base), found[1])
                return
            combined = combined_number(init, lanes)
            if lanes.own_block is not None and combined is not None:
                lanes.own_block.combined[name] = combined
            if (ends := clamped_ends(init, lanes)) is not None:
                first, last = (self.named(end, name.base) for end in ends)
                lanes.steady[name] = (first, last)
        wide = kc.Variable(name, lanes.wide(variable.type.scalar))
        value = None if init is None else lanes.vectorise(init)
        if value is not None and value.type.lanes == 1 and name not in self.changing:
            lanes.varying -= {name}
            self.out.append(kc.Declare(variable, value))
            return
        value = None if value is None else lanes.broadcast(value)
        if init is None:
            self.unset[name] = (self.out, len(self.out))
        self.out.append(kc.Declare(wide, value))

    def assign(self, variable: kc.Variable | kc.Register, exp: kc.Expression) -> None:
        lanes = self.lanes
        if not lanes.varies(variable):
            self.out.append(kc.Assign(variable, exp))
            return
        target = replace(variable, type=lanes.wide(variable.type.scalar))
        value = lanes.broadcast(lanes.vectorise(exp))
        if isinstance(target, kc.Variable):
            value = self.kept(target, value)
        elif lanes.mask is not None:
            value = lanes.choose(lanes.mask, value, target)
        self.out.append(kc.Assign(target, value))

    def kept(self, target: kc.Variable, value: kc.Expression) -> kc.Expression:
        """What a variable gets, which keeps its value in inactive lanes, unless it is
        declared for active ones only. Before the first value there are zeros then:
        selecting reads the others."""
        mask, name = self.lanes.mask, target.name
        first = self.unset.pop(name, None)
        if mask is None or self.masks.get(name) is mask:
            return value
        if first is not None:
            out, place = first
            out[place] = kc.Declare(target, self.lanes.zeros(target.type.scalar))
        return self.lanes.choose(mask, value, target)

    def store(self, store: kc.Store) -> None:
        """Consecutive elements at once, others in the order of their lanes."""
        if store.memory in self.lanes.own:
            self.store_own(store)
            return
        outcome = first_of(STORES, store, self)
        if isinstance(outcome, Declined):
            raise NotVectorisable(outcome.reason)
        self.out.extend(outcome)

    def store_own(self, store: kc.Store) -> None:
        """An element of an array that each point has."""
        lanes, memory = self.lanes, self.lanes.own[store.memory]
        value = lanes.broadcast(lanes.vectorise(store.exp))
        if lanes.is_scattered(store):
            value = self.named(lanes.to_memory(memory, value), "value")
            places = [lanes.own_element(store, n).index for n in range(lanes.width)]
            self.out += self.where_active(
                lambda n: kc.Store(memory, places[n], lanes.lane(value, n))
            )
            return
        if lanes.mask is not None:
            value = lanes.choose(lanes.mask, value, lanes.load_own(store))
        place = lanes.place_own(store)
        self.out.append(kc.Store(memory, place, lanes.to_memory(memory, value)))

    def named(
        self, value: kc.Expression, base: str, out: list[kc.Statement] | None = None
    ) -> kc.Variable:
        """A vector in a variable, declared here or in `out`."""
        variable = self.k.variable(base, value.type)
        (self.out if out is None else out).append(kc.Declare(variable, value))
        return variable

    def where_active(
        self, make: Callable[[int], kc.Statement]
    ) -> tuple[kc.Statement, ...]:
        """A statement for each lane, done only if the lane is active."""
        mask, every = self.lanes.mask, range(self.lanes.width)
        if mask is None:
            return tuple(map(make, every))
        active = [self.lanes.lane(mask, number).differs(0) for number in every]
        return tuple(kc.Branch(active[n], kc.Block((make(n),))) for n in every)

    def fail(self, fail: kc.Fail) -> None:
        """The first active lane fails, as the first point would."""
        lanes = self.lanes
        values = tuple(self.first(lanes.vectorise(value)) for value in fail.values)
        self.out.append(replace(fail, values=values))

    def first(self, value: kc.Expression) -> kc.Expression:
        """That of the first active lane."""
        lanes = self.lanes
        if lanes.mask is None or value.type.lanes == 1:
            return lanes.lane(value, 0)
        scalar = value.type.scalar
        function = first_active(lanes.width, scalar.name)
        return kc.Call(function, (value, lanes.mask), kc.VectorType(scalar))

    # --- control ----------------------------------------------------------------------

    def inner(self, block: kc.Block) -> kc.Block:
        """A block vectorised, under the mask that there is."""
        return kc.Block(tuple(self.block(block.statements)))

    def masked(self, rule: Rule, statement: kc.Statement) -> bool:
        """Emit what a rule makes of a statement; False if it is not of its kind."""
        outcome = rule(statement, self)
        if isinstance(outcome, Declined):
            raise NotVectorisable(outcome.reason)
        self.out.extend(outcome or ())
        return outcome is not None

    def branch(self, branch: kc.Branch) -> None:
        """All lanes go the same way, or each its own."""
        selected = masks.select_in_lanes(branch, self)
        if isinstance(selected, tuple):
            self.out.extend(selected)
        elif not self.masked(masks.mask_branch, branch):
            other = branch.otherwise and self.inner(branch.otherwise)
            then = self.inner(branch.then)
            self.out.append(kc.Branch(branch.condition, then, other))

    def loop(self, loop: kc.For | kc.While) -> None:
        """A loop that ends for all lanes at the same time, or for each at its own."""
        self.lanes.loops.append(Rounds.of(loop, self.reassociates))
        if isinstance(loop, kc.While):
            if not self.masked(masks.mask_loop, loop):
                self.out.append(kc.While(loop.condition, self.inner(loop.body)))
        elif not (
            self.masked(masks.mask_counted_loop, loop)
            or self.masked(traverse_in_squares, loop)
        ):
            if self.lanes.mask is not None and not calls_functions(loop.body):
                read = tuple(streams(loop.body, (loop.variable.name,)))
                self.lanes.loops[-1] = replace(self.lanes.loops[-1], streams=read)
            inside = self.inner(loop.body)
            self.out.append(replace(loop, body=inside, parallel=False, points=False))
        self.lanes.loops.pop()
