"""Which rules are tried for which class of expressions, in this order: special cases of
a SOAC come before general ones."""

from __future__ import annotations

from minifut.ir import core, derivatives, soacs
from minifut.ir.accumulators import UpdateAcc, WithAcc
from minifut.passes.differentiate.activity import LINEAR
from minifut.passes.differentiate.forward import accumulators, call, linear, scalars
from minifut.passes.differentiate.forward.control import jvp_branch, jvp_loop
from minifut.passes.differentiate.forward.soacs import jvp_hist, jvp_scatter, jvp_screma
from minifut.passes.differentiate.reverse import folds, hist_special, loop_forms, reduce
from minifut.passes.differentiate.reverse.accumulators import vjp_with_acc
from minifut.passes.differentiate.reverse.branch import vjp_branch
from minifut.passes.differentiate.reverse.call import vjp_call, vjp_custom
from minifut.passes.differentiate.reverse.hist_affine import vjp_hist_affine
from minifut.passes.differentiate.reverse.hist_chunks import vjp_hist_chunks
from minifut.passes.differentiate.reverse.linear import vjp_iota, vjp_linear
from minifut.passes.differentiate.reverse.loop import vjp_loop
from minifut.passes.differentiate.reverse.map import vjp_map
from minifut.passes.differentiate.reverse.scalars import vjp_scalar
from minifut.passes.differentiate.reverse.scan import vjp_scan, vjp_scan_add
from minifut.passes.differentiate.reverse.scatter import vjp_scatter, vjp_split_scatter
from minifut.rewrite.rule import Rule

FORWARD: dict[type, tuple[Rule, ...]] = {
    **dict.fromkeys(LINEAR, (linear.jvp_linear,)),
    core.ScalarOp: (scalars.jvp_scalar,),
    core.Iota: (linear.jvp_iota,),
    core.If: (jvp_branch,),
    core.Match: (jvp_branch,),
    core.Loop: (jvp_loop,),
    core.Apply: (call.jvp_call,),
    derivatives.CustomVjp: (call.jvp_custom,),
    soacs.Screma: (jvp_screma,),
    soacs.Scatter: (jvp_scatter,),
    soacs.Hist: (jvp_hist,),
    WithAcc: (accumulators.jvp_with_acc,),
    UpdateAcc: (accumulators.jvp_update_acc,),
}

REVERSE: dict[type, tuple[Rule, ...]] = {
    **dict.fromkeys(LINEAR, (vjp_linear,)),
    core.ScalarOp: (vjp_scalar,),
    core.Iota: (vjp_iota,),
    core.If: (vjp_branch,),
    core.Match: (vjp_branch,),
    core.Loop: (
        loop_forms.vjp_bounded_while,
        loop_forms.vjp_while,
        loop_forms.vjp_stripmine,
        vjp_loop,
    ),
    core.Apply: (vjp_call,),
    derivatives.CustomVjp: (vjp_custom,),
    soacs.Screma: (
        vjp_map,
        folds.vjp_split_fold,
        reduce.vjp_reduce_add,
        vjp_scan_add,
        folds.vjp_interchange,
        reduce.vjp_reduce_extreme,
        reduce.vjp_reduce_mul,
        reduce.vjp_reduce,
        vjp_scan,
    ),
    soacs.Scatter: (vjp_split_scatter, vjp_scatter),
    soacs.Hist: (
        folds.vjp_split_hist,
        hist_special.vjp_hist_add,
        hist_special.vjp_hist_mul,
        vjp_hist_affine,
        folds.vjp_hist_interchange,
        hist_special.vjp_hist_extreme,
        vjp_hist_chunks,
    ),
    WithAcc: (vjp_with_acc,),
}
