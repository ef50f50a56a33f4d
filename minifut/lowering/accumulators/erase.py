"""Accumulators are memory, not values: lowering passes none on.

    let b = update_acc(a, (i), (v))              let () = update_acc(a, (i), (v))
    let c = loop (d = b) .. update_acc(d, ..)    let () = loop () .. update_acc(a, ..)

Every update names the root of its accumulator, and results of that type go. This is
right once no pass follows: the order of statements keeps what linear use ensured.
"""

from __future__ import annotations

from typing import Any

from minifut.ir import accumulators, core, kernels, traverse
from minifut.ir.core import Atom, Body, Lambda, Param, Program, Stm
from minifut.ir.kernels import KernelBody, Returns
from minifut.ir.node import replace
from minifut.ir.types import AccType, Type
from minifut.names import Name

MAPPING = (kernels.SegMap, kernels.SegRed, kernels.SegScan)


def erase_accumulators(program: Program) -> Program:
    """The program with accumulators as effects; itself if it has none."""
    roots = {
        name: type_.root
        for name, type_ in traverse.bound_types((program,)).items()
        if isinstance(type_, AccType)
    }
    return _Eraser(roots).node(program) if roots else program


class _Eraser:
    """`roots`: the accumulators, with the parameter each began as."""

    def __init__(self, roots: dict[Name, Name]) -> None:
        self.roots = roots

    def node(self, node: Any) -> Any:
        node = traverse.map_children(node, self.node)
        match node:
            case Body(statements, result):
                return Body(self.statements(statements), self.values(result))
            case KernelBody(statements, results):
                kept = tuple(r for r in results if not self.gives(r))
                return KernelBody(self.statements(statements), kept)
            case Lambda(parameters, body, results):
                return Lambda(parameters, body, _data(results))
            case core.Loop(parameters, initial, form, body):
                return core.Loop(_bound(parameters), self.values(initial), form, body)
            case _ if isinstance(node, MAPPING):
                return replace(node, types=_data(node.types))
            case accumulators.UpdateAcc(accumulator):
                return replace(node, accumulator=self.roots[accumulator])
        return node

    def statements(self, statements: tuple[Stm, ...]) -> tuple[Stm, ...]:
        return tuple(
            replace(s, pattern=_bound(s.pattern))
            for s in statements
            if not self.only_renames(s)
        )

    def only_renames(self, statement: Stm) -> bool:
        match statement.exp:
            case core.Copy(atom) | core.Opaque(atom) | core.Trace(_, atom):
                return atom in self.roots
        return False

    def values(self, atoms: tuple[Atom, ...]) -> tuple[Atom, ...]:
        return tuple(atom for atom in atoms if atom not in self.roots)

    def gives(self, result: kernels.KernelResult) -> bool:
        return isinstance(result, Returns) and result.value in self.roots


def _bound(parameters: tuple[Param, ...]) -> tuple[Param, ...]:
    return tuple(p for p in parameters if not isinstance(p.type, AccType))


def _data(types: tuple[Type, ...]) -> tuple[Type, ...]:
    return tuple(type_ for type_ in types if not isinstance(type_, AccType))
