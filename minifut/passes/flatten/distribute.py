r"""Distribution: a map over several statements becomes several nests (rule G6).

    map (\xs -> let y = reduce (+) 0 xs in map (\x -> x + y) xs) xss
    →  let ys = segred grid (i < n, j < m) {add, 0} { .. xss[i, j] }
       segmap grid (i < n, j < m) { let y = ys[i]  xss[i, j] + y }

Going through the body in order, a statement that holds parallelism is passed to the
rules in the nest so far, and its results are read back from arrays that hold them for
each point (array expansion). Cheap statements are done again wherever they are needed;
scalars that are the same at all points move to the host. All else gathers until the
next parallel statement needs it and then runs in a kernel with one thread per point. Of
rows that are rearranged or reshaped nothing is left but a view of the whole. A
value of varying size cannot be expanded: what needs it stays in the same thread.

Checks are never done again: they run in the kernel of what gathered.
"""

from __future__ import annotations

from minifut.ir import core
from minifut.ir.core import Atom, Body, Constant, Param, Stm
from minifut.ir.kernels import SegMap
from minifut.ir.soacs import Screma
from minifut.ir.traverse import free_names, substitute
from minifut.ir.types import AccType, ArrayType, array_of
from minifut.names import Name
from minifut.passes.flatten import exploitable
from minifut.passes.flatten.cheap import has_check, is_cheap
from minifut.passes.flatten.context import Judgement, NestContext, returns
from minifut.passes.flatten.expansion import expand
from minifut.passes.flatten.judgement import SLIDES, Answer
from minifut.passes.flatten.nest import Nest
from minifut.rewrite.rule import EMITTED, Declined, rule


@rule(Screma, label="G6", paper=SLIDES)
def distribute_map_over_let(judgement: Judgement, context: NestContext) -> Answer:
    r"""Split a map along the statements of its body.

    before:
        like before of run_map_in_groups
    after:
        let sums: [n]i32 = segmap grid (i < n) -> (i32) {
          let xs: [m]i32 = xss[i]
          return returns redomap(m, (xs),
            reduce(add_i32, (0i32)), \(x: i32) -> (i32) {x})
        }
        let yss: [n][m]i32 = segmap grid (j < n) -> ([m]i32) {
          let row: [m]i32 = xss[j]
          let k: i32 = sums[j]
          return returns map(m, (row), \(z: i32) -> (i32) {mul_i32(z, k)})
        }
    declines: nothing inside is parallel
        given (n: i64, xs: [n]i32)
        let ys: [n]i32 = map(n, (xs), \(x: i32) -> (i32) {mul_i32(x, x)})
    """
    nest, statement, pattern = judgement
    exp = statement.exp_of(Screma)
    if not exp.is_map:
        return None
    parameters = {parameter.name for parameter in exp.function.parameters}
    inside = exp.function.body.statements
    views = inside and all(
        isinstance(s.exp, core.Rearrange | core.Reshape) for s in inside
    )
    if not views and not exploitable.any_exploitable(inside, nest.bound | parameters):
        return Declined("nothing inside is parallel with one size at all points")
    outer, body = nest.over(context.fresh_index("i"), exp)
    distribute_body(context, outer, body, pattern)
    return EMITTED


def distribute_body(
    context: NestContext, nest: Nest, body: Body, pattern: tuple[Param, ...]
) -> None:
    """Emit what computes the body at each point of the nest, bound to `pattern`.
    Scalars that are the same at all points are left on the host under their names."""
    _Distribution(context, nest, body, pattern).run()


class _Distribution:
    """`nest` holds what each point may do again, `gathered` what is to run in one
    thread per point, `waiting` the results not yet made; `accumulators` says which name
    of the host stands for an accumulator after what is done so far."""

    def __init__(
        self, context: NestContext, nest: Nest, body: Body, pattern: tuple[Param, ...]
    ) -> None:
        self.context, self.nest, self.body = context, nest, body
        self.gathered: list[Stm] = []
        self.gathered_names: set[Name] = set()
        self.waiting: list[tuple[Param, Atom]] = list(
            zip(pattern, body.result, strict=True)
        )
        self.last_use = _last_uses(body)
        self.accumulators: dict[Name, Name] = {}

    def run(self) -> None:
        if has_check(self.nest.statements):
            # deeper dimensions may be empty
            self.kernel((), [])
        for position, statement in enumerate(self.body.statements):
            self.statement(position, self.renamed(statement))
        self.finish()

    def statement(self, position: int, statement: Stm) -> None:
        if self.is_for_the_host(statement):
            self.context.build.append(statement)
            return
        if self.nest_of_own(position, statement):
            return
        statement = self.renamed(statement)
        needed = free_names(statement)
        again = is_cheap(statement) and not has_check((statement,))
        if again and self.gathered_names.isdisjoint(needed):
            self.nest = self.nest.then([statement])
            return
        self.gathered.append(statement)
        self.gathered_names.update(p.name for p in statement.pattern)

    def renamed(self, statement: Stm) -> Stm:
        """With the names that accumulators have by now: a flush changes them."""
        return substitute(statement, self.accumulators)

    def is_for_the_host(self, statement: Stm) -> bool:
        """Whether it gives a scalar that is the same at all points."""
        return exploitable.is_invariant_scalar(
            self.nest.bound, statement
        ) and self.gathered_names.isdisjoint(free_names(statement.exp))

    def nest_of_own(self, position: int, statement: Stm) -> bool:
        """Pass a statement with parallelism to the rules, if they can take it."""
        nest = self.with_gathered()
        if not exploitable.is_exploitable(nest, statement):
            return False
        needs = not self.gathered_names.isdisjoint(free_names(statement))
        if (needs or has_check(self.gathered)) and not self.flush(position):
            return False
        waiting = list(self.waiting)
        targets = tuple(self.target(p) for p in statement.pattern)
        inner = Judgement(self.nest, self.renamed(statement), targets)
        if not self.context.attempt(inner, self.context):
            self.waiting = waiting
            return False
        self.read_back(statement.pattern, targets)
        return True

    def with_gathered(self) -> Nest:
        """The nest, with what gathered taken to vary."""
        bound = self.nest.bound | self.gathered_names
        return Nest(self.nest.indices, self.nest.sizes, self.nest.statements, bound)

    def target(self, parameter: Param) -> Param:
        """What is to hold the value for all points: a result of the whole, or new."""
        type_ = array_of(parameter.type, self.nest.sizes)
        for position, (bound, atom) in enumerate(self.waiting):
            if atom == parameter.name and bound.type == type_:
                del self.waiting[position]
                self.context.build.scope[bound.name] = type_
                return bound
        return self.context.expanded(self.nest, parameter.name, parameter.type)

    def read_back(self, pattern: tuple[Param, ...], targets: tuple[Param, ...]) -> None:
        """Let each point read what was computed for it."""
        at = self.nest.indices
        rows = []
        for parameter, target in zip(pattern, targets, strict=True):
            if isinstance(parameter.type, AccType):
                self.accumulators[parameter.name] = target.name
            else:
                again = Param(parameter.name, parameter.type)
                rows.append(Stm((again,), core.Index(target.name, at)))
        self.nest = self.nest.then(rows)
        self.waiting = [
            (bound, substitute(atom, self.accumulators)) for bound, atom in self.waiting
        ]

    def flush(self, position: int) -> bool:
        """Run what gathered; False if a value that is needed later is irregular."""
        needed = {name for name, last in self.last_use.items() if last >= position}
        again: list[Stm] = []
        made: list[Param] = []
        for statement in reversed(self.gathered):
            wanted = [p for p in statement.pattern if p.name in needed]
            if wanted and _is_view(statement):
                again.insert(0, statement)
                needed |= free_names(statement)
            else:
                made.extend(wanted)
        if not exploitable.is_regular(self.nest.bound | self.gathered_names, made):
            return False
        targets = tuple(self.target(parameter) for parameter in made)
        self.kernel(targets, [parameter.name for parameter in made])
        self.read_back(tuple(made), targets)
        self.nest = self.nest.then(again)
        return True

    def kernel(self, pattern: tuple[Param, ...], results: list[Atom]) -> None:
        """One thread for each point: all that gathered, giving these values."""
        build = self.context.build
        whole = self.nest.then(self.gathered)
        for statement in self.gathered:
            build.scope.update((p.name, p.type) for p in statement.pattern)
        body = returns(whole.statements, tuple(results))
        types = build.types(results)
        self.context.emit(pattern, SegMap(self.context.level, whole.space, body, types))
        self.gathered, self.gathered_names = [], set()
        self.nest = _without_checks(self.nest)

    def finish(self) -> None:
        """Make the results that are left."""
        threads: list[tuple[Param, Atom]] = []
        rest: list[tuple[Param, Atom]] = []
        for bound, atom in self.waiting:
            (threads if self.needs_thread(atom) else rest).append((bound, atom))
        if threads or has_check(self.gathered):
            self.kernel(tuple(b for b, _ in threads), [atom for _, atom in threads])
        for bound, atom in rest:
            expand(self.context, self.nest, atom, bound)

    def needs_thread(self, atom: Atom) -> bool:
        if isinstance(atom, Constant):
            return False
        if atom in self.gathered_names:
            return True
        scalar = not isinstance(self.context.build.type(atom), ArrayType)
        return scalar and atom in self.nest.bound


def _last_uses(body: Body) -> dict[Name, int]:
    """The position of the last statement that needs each name; results come last."""
    found: dict[Name, int] = {}
    for position, statement in enumerate(body.statements):
        for name in free_names(statement):
            found[name] = position
    end = len(body.statements)
    found.update((atom, end) for atom in body.result if isinstance(atom, Name))
    return found


def _without_checks(nest: Nest) -> Nest:
    """The nest once its checks have run."""
    kept = tuple(s for s in nest.statements if not isinstance(s.exp, core.Assert))
    return Nest(nest.indices, nest.sizes, kept, nest.bound)


def _is_view(statement: Stm) -> bool:
    """Whether it gives an array that need not be computed."""
    arrays = all(isinstance(p.type, ArrayType) for p in statement.pattern)
    return arrays and is_cheap(statement) and not has_check((statement,))
