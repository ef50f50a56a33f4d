r"""Array expansion: a value of each point of a nest, as an array over the nest.

    nest (i < n) { let xs = xss[i]  .. xs .. }      xs      stands for xss
    nest (i < n) { .. 0 .. }                        0       stands for replicate([n], 0)
    nest (i < n) { let x = xs[i] * 2 .. x .. }      x       is computed by a kernel

Source: "Regular flattening", map-loop interchange (replicated initial values) and G6.
"""

from __future__ import annotations

from minifut.ir.core import Atom, Constant, Copy, Index, Param, Replicate, Stm
from minifut.ir.kernels import GRID, SegMap
from minifut.ir.types import ArrayType, element_of, shape_of
from minifut.passes.flatten.destinations import whole_array
from minifut.passes.flatten.nest import Nest
from minifut.passes.flatten.site import Site, returns


def expand(site: Site, nest: Nest, atom: Atom, pattern: Param) -> None:
    """Bind `pattern` to the array of what `atom` is at each point of the nest."""
    if isinstance(atom, Constant) or atom not in nest.bound:
        site.emit((pattern,), Replicate(nest.sizes, atom))
        return
    whole = whole_array(site, nest, atom)
    if whole is not None and site.build.scope[whole] == pattern.type:
        site.emit((pattern,), Copy(whole))
        return
    copy_elements(site, nest, atom, pattern)


def copy_elements(site: Site, nest: Nest, atom: Atom, pattern: Param) -> None:
    """A kernel in which each point of the nest, and each element of an array, is one
    point that returns it. The array must be regular."""
    build = site.build
    type_ = build.type(atom)
    if isinstance(type_, ArrayType):
        assert not isinstance(atom, Constant)
        indices = []
        for size in shape_of(type_):
            index = site.fresh_index("j")
            nest = nest.inside(index, size)
            indices.append(index)
        element = Param(build.names.like(atom), element_of(type_))
        nest = nest.then([Stm((element,), Index(atom, tuple(indices)))])
        atom, type_ = element.name, element.type
    kernel = SegMap(GRID, nest.space, returns(nest.statements, (atom,)), (type_,))
    site.emit((pattern,), kernel)
