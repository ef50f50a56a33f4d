"""Where results of the statements of a body are written, by what uses them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from minifut.analysis.aliases import Roots
from minifut.analysis.destinations import destinations
from minifut.analysis.scan_results import scan_results
from minifut.ir.core import Atom, Index, Stm
from minifut.ir.node import mutable
from minifut.names import Name


@mutable
class Placements:
    """`slices`: updates of whose slices results may be written; `scans`: the reversal
    that is all that uses the result of a scan, None if nothing does."""

    slices: dict[Name, Stm] = field(default_factory=dict)
    scans: dict[Name, Index | None] = field(default_factory=dict)

    def add(
        self,
        statements: tuple[Stm, ...],
        results: tuple[Atom, ...],
        roots: Mapping[Name, Roots],
        definitions: Mapping[Name, Stm],
    ) -> None:
        """Those of the statements of a whole body."""
        self.slices |= destinations(statements, results, roots, definitions)
        self.scans |= scan_results(statements, results)
