"""The verifier: scope, unique names, types, sizes and dialect of a whole program.

Names must be visible where they are used and bound once in the program. Two sizes are
the same if their normal forms are, after names bound to arithmetic of sizes are
replaced by what they stand for: with `let m: i64 = size(n + 1)`, `[m]f32` is
`[n + 1]f32`. Sizes that are equal for another reason need a `Reshape`.

A fault is an `InternalError` with the printed statement and the ten lines around it.
The rules for each expression are in `ir.verify_rules`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from minifut.errors import InternalError
from minifut.ir import calls, core, entries, kernels, scope, verify_accumulators
from minifut.ir.core import Atom, Body, Constant, Lambda, Param, Stm
from minifut.ir.dialect import Dialect
from minifut.ir.printer import Printer
from minifut.ir.sizes import Size
from minifut.ir.traverse import atom_size, children, own_names, size_names, substitute
from minifut.ir.types import I64, AccType, ArrayType, Type, array_of, shape_of
from minifut.names import Name


class Fault(Exception):
    """What is wrong with the current statement."""


def verify(program: core.Program, dialect: Dialect) -> None:
    """Raise an `InternalError` unless the program is well formed."""
    verifier = Verifier(program, dialect)
    try:
        verifier.program(program)
        verify_accumulators.check_linear(program, frozenset(verifier.accumulators))
    except (Fault, InternalError) as fault:
        if isinstance(fault, InternalError):
            message, context = fault.message, fault.context or verifier.context()
        else:
            message, context = str(fault), verifier.context()
        raise InternalError("ir.verify", message, context) from None


class Verifier:
    """The state of the check: what is visible, what is known, where we are."""

    def __init__(self, program: core.Program, dialect: Dialect) -> None:
        self.dialect = dialect
        self.scope: scope.Scope = {}
        self.functions = {function.name: function for function in program.functions}
        self.definitions: dict[Name, Size] = {}
        self.long: dict[Name, Size] = {}
        self.levels: list[kernels.Level] = []
        self.inner = calls.called_in_threads(program) if dialect.inside else set()
        self.place: list[Any] = []
        self.accumulators: set[Name] = set()
        self._bound: set[Name] = set()

    # --- structure ---

    def program(self, program: core.Program) -> None:
        self.statements(program.constants)
        require(
            len(self.functions) == len(program.functions), "two functions share a name"
        )
        for entry in program.entries:
            self.entry(entry)
        for function in program.functions:
            self.function(function)

    def entry(self, entry: entries.Entry) -> None:
        function = self.functions.get(entry.function)
        require(
            function is not None, f"entry {entry.name}: no function {entry.function}"
        )
        assert function is not None
        leaves = entry.sizes + sum(p.leaves for p in entry.parameters)
        count = len(function.parameters)
        require(
            leaves == count, f"entry {entry.name}: {count} parameters, not {leaves}"
        )
        sizes = function.parameters[: entry.sizes]
        require(
            all(p.type == I64 for p in sizes), f"entry {entry.name}: a size is no i64"
        )
        results = sum(r.leaves for r in entry.results)
        require(
            results <= len(function.results), f"entry {entry.name}: too few results"
        )

    def function(self, function: core.Function) -> None:
        self.place.append(function)
        added = self.bind(function.parameters)
        results = self.bind(function.results)
        self.unbind(results)
        if function.name in self.inner:
            self.levels.append(kernels.THREAD)
        inner = self.body(function.body)
        if function.name in self.inner:
            self.levels.pop()
        self.results_fit(function.results, function.body.result, "the function returns")
        self.unbind(added + inner)
        self.place.pop()

    def body(self, body: Body) -> list[Name]:
        """Check a body; its names stay visible until the caller unbinds them."""
        added = self.statements(body.statements)
        for atom in body.result:
            self.atom(atom)
        return added

    def kernel_body(self, body: kernels.KernelBody) -> list[Name]:
        added = self.statements(body.statements)
        for result in body.result:
            self.uses(result)
        return added

    def statements(self, statements: Iterable[Stm]) -> list[Name]:
        added: list[Name] = []
        self.place.append(None)
        for statement in statements:
            self.place[-1] = statement
            self.statement(statement)
            added += self.bind(statement.pattern)
            self.define(statement)
        self.place.pop()
        return added

    def statement(self, statement: Stm) -> None:
        from minifut.ir.verify_rules import check_expression

        kind = type(statement.exp)
        if not self.dialect.allows(kind, bool(self.levels)):
            raise Fault(f"{kind.__name__} is not allowed here in {self.dialect}")
        check_expression(self, statement)

    def lambda_(self, function: Lambda, parameters: Iterable[Type], what: str) -> None:
        """Check a lambda that is applied to values of these types."""
        wanted = list(parameters)
        if len(wanted) != len(function.parameters):
            raise Fault(
                f"{what} has {len(function.parameters)} parameters, not {len(wanted)}"
            )
        added = self.bind(function.parameters)
        for parameter, type_ in zip(function.parameters, wanted, strict=True):
            self.same(type_, parameter.type, f"parameter {parameter.name} of {what}")
        added += self.body(function.body)
        self.same_types(
            function.results, self.types(function.body.result), f"result of {what}"
        )
        self.unbind(added)

    # --- names ---

    def bind(self, parameters: Iterable[Param]) -> list[Name]:
        added = []
        for parameter in parameters:
            self.bind_name(parameter.name, parameter.type)
            added.append(parameter.name)
        return added

    def bind_name(self, name: Name, type_: Type) -> None:
        for size in shape_of(type_):
            self.size(size)
        if isinstance(type_, AccType):
            self.accumulator(name, type_)
        if name in self._bound:
            raise Fault(f"{name} is bound twice")
        self._bound.add(name)
        self.scope[name] = type_

    def accumulator(self, name: Name, type_: AccType) -> None:
        """The accumulator that a type names must be there; it may be this one."""
        self.accumulators.add(name)
        if type_.root != name and not isinstance(self.atom(type_.root), AccType):
            raise Fault(f"{name}: {type_.root} is no accumulator")
        for part in (type_.shape, *map(shape_of, type_.elements)):
            for size in part:
                self.size(size)

    def unbind(self, names: Iterable[Name]) -> None:
        for name in names:
            del self.scope[name]

    def define(self, statement: Stm) -> None:
        """Remember what an i64 stands for."""
        match statement.exp:
            case core.SizeExp(size):
                meaning = size
            case core.Copy(atom) if statement.pattern[0].type == I64:
                meaning = atom_size(atom)
            case core.ScalarOp(operator, (left, right)) if operator.type == I64:
                a, b = atom_size(left), atom_size(right)
                match operator.name:
                    case "add":
                        meaning = a + b
                    case "sub":
                        meaning = a - b
                    case "mul":
                        meaning = a * b
                    case _:
                        return
            case _:
                return
        name = statement.pattern[0].name
        expanded = meaning.substitute_short(self.definitions)
        if expanded is not None:
            self.definitions[name] = expanded
        else:
            self.long[name] = meaning

    def meanings(self, size: Size) -> set[Size]:
        """What the size stands for, with and without what names of long meanings do."""
        once = size.substitute(self.long)
        return {each.substitute(self.definitions) for each in (size, once)}

    def uses(self, node: object) -> None:
        """All names that a node without bodies uses must be visible."""
        found: set[Name] = set()
        own_names(node, found)
        for name in found:
            if name not in self.scope:
                raise Fault(f"{name} is not in scope")
        for child in children(node):
            self.uses(child)

    # --- types ---

    def atom(self, atom: Atom) -> Type:
        if isinstance(atom, Name) and atom not in self.scope:
            raise Fault(f"{atom} is not in scope")
        if isinstance(atom, Constant) and not _is_exact(atom):
            raise Fault(f"{atom.value} is not a value of {atom.type}")
        return scope.type_of_atom(atom, self.scope)

    def types(self, atoms: Iterable[Atom]) -> list[Type]:
        return [self.atom(atom) for atom in atoms]

    def array(self, name: Any) -> ArrayType:
        type_ = self.atom(name)
        if not isinstance(type_, ArrayType):
            raise Fault(f"{name}: {self.text(type_)} is not an array")
        return type_

    def size(self, size: Size) -> None:
        for name in size.names():
            if self.atom(name) != I64:
                raise Fault(f"{name} is used as a size but is not an i64")

    def same_size(self, a: Size, b: Size) -> bool:
        return a == b or not self.meanings(a).isdisjoint(self.meanings(b))

    def same(self, wanted: Type, found: Type, what: str) -> None:
        """The types must be equal, sizes by their expanded normal forms."""
        if wanted == found:
            return
        if isinstance(wanted, ArrayType) and isinstance(found, ArrayType):
            sizes_fit = wanted.rank == found.rank and all(
                self.same_size(a, b)
                for a, b in zip(wanted.shape, found.shape, strict=True)
            )
            if sizes_fit and wanted.element == found.element:
                return
        if isinstance(wanted, AccType) and isinstance(found, AccType):
            views = [array_of(e, t.shape) for t in (wanted, found) for e in t.elements]
            half = len(wanted.elements)
            if wanted.root == found.root and len(views) == 2 * half:
                self.same_types(views[:half], views[half:], what)
                return
        wanted_text, found_text = self.text(wanted), self.text(found)
        raise Fault(f"{what}: {found_text} stands where {wanted_text} belongs")

    def same_types(
        self, wanted: Iterable[Type], found: Iterable[Type], what: str
    ) -> None:
        wanted, found = list(wanted), list(found)
        if len(wanted) != len(found):
            raise Fault(f"{what}: {len(found)} values stand where {len(wanted)} belong")
        for number, (a, b) in enumerate(zip(wanted, found, strict=True)):
            self.same(a, b, f"{what} ({number})" if len(wanted) > 1 else what)

    def results_fit(
        self, pattern: tuple[Param, ...], atoms: tuple[Atom, ...], what: str
    ) -> None:
        """The atoms are results bound by the pattern, whose types may mention names
        bound earlier in it: those stand for the corresponding atoms."""
        if len(pattern) != len(atoms):
            raise Fault(
                f"{what}: {len(atoms)} values stand where {len(pattern)} belong"
            )
        wanted = instantiate(pattern, atoms)
        self.same_types(wanted, self.types(atoms), what)

    def text(self, type_: Type) -> str:
        return Printer(renumber=False).type(type_)

    def context(self) -> str:
        """The statement at fault among the lines around it."""
        here = [place for place in self.place if place is not None]
        if not here:
            return ""
        lines = Printer(renumber=False).any(here[0]).split("\n")
        if not isinstance(here[-1], Stm):
            return "\n".join(lines[:10])
        wanted = Printer(renumber=False).statement(here[-1]).split("\n")[0]
        at = next((i for i, line in enumerate(lines) if wanted in line), 0)
        first = max(0, at - 10)
        return "\n".join(
            f"{'>' if number == at else ' '} {line}"
            for number, line in enumerate(lines[first : at + 11], first)
        )


def instantiate(pattern: tuple[Param, ...], atoms: Iterable[Atom]) -> list[Type]:
    """The types of a pattern with its own names replaced by the values they get."""
    mapping = dict(zip([p.name for p in pattern], atoms, strict=True))
    return [
        parameter.type
        if mapping.keys().isdisjoint(size_names(parameter.type))
        else substitute(parameter.type, mapping)
        for parameter in pattern
    ]


def _is_exact(constant: Constant) -> bool:
    """Whether the type has just this value."""
    number = constant.value
    return constant.type.nearest(number) == number or number != number


def require(condition: bool, message: str) -> None:
    """A fault with that message unless the condition holds."""
    if not condition:
        raise Fault(message)
