"""Packing: whether a `CollectiveCopy` of a CPU group is made, and in which layout.

    layouts           what the register nests that read a copy prefer: panels, or rows
    rules             the decision for each copy, before any code is emitted
    packed_arrays     index functions of panels and of copies that are not made
    regions           what is copied of each dimension of the source
    copy_loops        the loops of copies into rows and panels
    pack_transposed   the loops of copies into panels that transpose

Source: Goto and van de Geijn, "Anatomy of high-performance matrix multiplication"
(2008), whose packed panels these are.
"""
