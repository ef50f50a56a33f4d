"""How each expression looks in printed IR: one short function per class.

The grammar that reads them back is `grammar/ir.lark`, in the same order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from minifut.ir import accumulators, core, derivatives, kernels, soacs
from minifut.ir.printer import Printer, quoted

Form = Callable[[Printer, Any], str]


def _integers(numbers: Iterable[int]) -> str:
    return f"({', '.join(map(str, numbers))})"


# --- core ------------------------------------------------------------------------


def _scalar_op(p: Printer, exp: core.ScalarOp) -> str:
    return f"{exp.operator}({p.atoms(exp.operands)})"


def _index(p: Printer, exp: core.Index) -> str:
    return f"{p.name(exp.array)}{p.slice(exp.slice)}"


def _update(p: Printer, exp: core.Update) -> str:
    return f"{p.name(exp.array)} with {p.slice(exp.slice)} = {p.atom(exp.value)}"


def _iota(p: Printer, exp: core.Iota) -> str:
    start, stride = p.atom(exp.start), p.atom(exp.stride)
    return f"iota {exp.element} ({p.size(exp.length)}, {start}, {stride})"


def _replicate(p: Printer, exp: core.Replicate) -> str:
    return f"replicate({p.sizes(exp.shape)}, {p.atom(exp.value)})"


def _scratch(p: Printer, exp: core.Scratch) -> str:
    return f"scratch({exp.element}, {p.sizes(exp.shape)})"


def _literal(p: Printer, exp: core.ArrayLiteral) -> str:
    return f"[{p.atoms(exp.rows)}]: {p.type(exp.row)}"


def _rearrange(p: Printer, exp: core.Rearrange) -> str:
    return f"rearrange({_integers(exp.permutation)}, {p.name(exp.array)})"


def _reshape(p: Printer, exp: core.Reshape) -> str:
    return f"reshape({p.sizes(exp.shape)}, {p.name(exp.array)})"


def _concat(p: Printer, exp: core.Concat) -> str:
    return f"concat({exp.dimension}, {p.size(exp.size)}, {p.atoms(exp.arrays)})"


def _manifest(p: Printer, exp: core.Manifest) -> str:
    return f"manifest({_integers(exp.permutation)}, {p.name(exp.array)})"


def _if(p: Printer, exp: core.If) -> str:
    then, otherwise = p.body(exp.then), p.body(exp.otherwise)
    return f"if {p.atom(exp.condition)} then {then} else {otherwise}"


def _match(p: Printer, exp: core.Match) -> str:
    text = f"match ({p.atoms(exp.scrutinees)})"
    for case in exp.cases:
        values = ", ".join("_" if v is None else p.atom(v) for v in case.values)
        text += f" case ({values}) {p.body(case.body)}"
    return f"{text} default {p.body(exp.default)}"


def _loop(p: Printer, exp: core.Loop) -> str:
    pairs = zip(exp.parameters, exp.initial, strict=True)
    carried = ", ".join([f"{p.parameter(x)} = {p.atom(a)}" for x, a in pairs])
    match exp.form:
        case core.ForLoop(index, bound, type_):
            form = f"for {p.name(index)}: {type_} < {p.atom(bound)}"
        case core.WhileLoop(condition):
            form = f"while {p.name(condition)}"
    return f"loop ({carried}) {form} do {p.body(exp.body)}"


def _apply(p: Printer, exp: core.Apply) -> str:
    return f"apply {p.name(exp.function)}({p.atoms(exp.arguments)})"


def _assert(p: Printer, exp: core.Assert) -> str:
    message = [quoted(m) if isinstance(m, str) else p.atom(m) for m in exp.message]
    trail = [quoted(place) for place in exp.backtrace]
    condition = p.atom(exp.condition)
    return f"assert({condition}, [{', '.join(message)}], [{', '.join(trail)}])"


def _trace(p: Printer, exp: core.Trace) -> str:
    return f"trace({quoted(exp.label)}, {p.atom(exp.atom)})"


def _with_acc(p: Printer, exp: accumulators.WithAcc) -> str:
    inputs = ", ".join(_acc_input(p, item) for item in exp.inputs)
    return f"with_acc(({inputs}), {p.lambda_(exp.function)})"


def _acc_input(p: Printer, item: accumulators.AccInput) -> str:
    parts = [p.sizes(item.shape), p.names(item.arrays)]
    if item.operator is not None:
        parts += [f"({p.atoms(item.neutral)})", p.lambda_(item.operator)]
    return f"acc({', '.join(parts)})"


def _update_acc(p: Printer, exp: accumulators.UpdateAcc) -> str:
    indices, values = p.atoms(exp.indices), p.atoms(exp.values)
    return f"update_acc({p.name(exp.accumulator)}, ({indices}), ({values}))"


# --- soacs -----------------------------------------------------------------------


def _call(head: str, arguments: list[str]) -> str:
    """A call with its arguments on lines of their own if one has several lines."""
    if any("\n" in argument for argument in arguments) and len(arguments) > 3:
        inner = ",\n".join(arguments[2:]).replace("\n", "\n  ")
        return f"{head}({', '.join(arguments[:2])},\n  {inner})"
    return f"{head}({', '.join(arguments)})"


def _screma(p: Printer, exp: soacs.Screma) -> str:
    if exp.is_map:
        head = "map"
    elif exp.is_redomap:
        head = "redomap"
    else:
        head = "scanomap" if exp.is_scanomap else "screma"
    folds: list[soacs.Scan | soacs.Reduce] = [*exp.scans, *exp.reduces]
    folded = [_fold(p, fold) for fold in folds]
    return _call(
        head, [p.size(exp.width), p.names(exp.arrays), *folded, p.lambda_(exp.function)]
    )


def _fold(p: Printer, fold: soacs.Scan | soacs.Reduce) -> str:
    head = "scan" if isinstance(fold, soacs.Scan) else "reduce"
    if isinstance(fold, soacs.Reduce) and fold.commutative:
        head += " commutative"
    return f"{head}({p.lambda_(fold.operator)}, ({p.atoms(fold.neutral)}))"


def _scatter(p: Printer, exp: soacs.Scatter) -> str:
    into = ", ".join(
        f"{p.name(d.array)} rank {d.rank} count {d.count}" for d in exp.destinations
    )
    function = p.lambda_(exp.function)
    return f"scatter({p.size(exp.width)}, {p.names(exp.arrays)}, ({into}), {function})"


def _hist(p: Printer, exp: soacs.Hist) -> str:
    operators = [_bins(p, operator) for operator in exp.operators]
    function = p.lambda_(exp.function)
    return _call("hist", [p.size(exp.width), p.names(exp.arrays), *operators, function])


def _bins(p: Printer, op: soacs.HistOp | kernels.SegHistOp) -> str:
    parts = [p.sizes(op.shape), p.names(op.destinations), f"({p.atoms(op.neutral)})"]
    parts.append(p.lambda_(op.operator))
    if isinstance(op, kernels.SegHistOp):
        parts.append(p.sizes(op.vector))
    return f"bins({', '.join(parts)})"


# --- derivatives -----------------------------------------------------------------


def _derivative(head: str) -> Form:
    def form(p: Printer, exp: Any) -> str:
        given = f"({p.atoms(exp.arguments)}), ({p.atoms(exp.seeds)})"
        return f"{head}({p.lambda_(exp.function)}, {given}, {p.sizes(exp.shape)})"

    return form


def _custom_vjp(p: Printer, exp: derivatives.CustomVjp) -> str:
    functions = f"{p.lambda_(exp.function)}, {p.lambda_(exp.adjoint)}"
    return f"custom_vjp({functions}, ({p.atoms(exp.arguments)}))"


# --- kernels ---------------------------------------------------------------------


def _space(p: Printer, space: kernels.SegSpace) -> str:
    pairs = zip(space.indices, space.sizes, strict=True)
    return f"({', '.join([f'{p.name(i)} < {p.size(n)}' for i, n in pairs])})"


def _segmented(word: str) -> Form:
    """`word level (i < n) operators -> (types) { ... }`."""

    def form(p: Printer, exp: Any) -> str:
        head = f"{word} {exp.level} {_space(p, exp.space)}"
        operators = [
            _bins(p, o) if isinstance(o, kernels.SegHistOp) else _operator(p, o)
            for o in getattr(exp, "operators", ())
        ]
        words = [head, *operators]
        return f"{' '.join(words)} -> {p.types(exp.types)} {p.kernel_body(exp.body)}"

    return form


def _operator(p: Printer, op: kernels.SegBinOp) -> str:
    head = "operator commutative" if op.commutative else "operator"
    neutral = p.atoms(op.neutral)
    return f"{head}({p.lambda_(op.operator)}, ({neutral}), {p.sizes(op.shape)})"


def _writes(p: Printer, result: kernels.WriteReturns) -> str:
    writes = [f"({p.atoms(i)}) = {p.atom(v)}" for i, v in result.writes]
    shape = p.sizes(result.shape)
    return f"writes {p.name(result.array)} {shape} with ({', '.join(writes)})"


def _tile(word: str) -> Form:
    """`word tile of (total by block by register, ...)`."""

    def form(p: Printer, result: Any) -> str:
        sizes = [" by ".join([p.size(s) for s in d]) for d in result.dimensions]
        return f"{word} {p.name(result.tile)} of ({', '.join(sizes)})"

    return form


def _collective_copy(p: Printer, exp: kernels.CollectiveCopy) -> str:
    return f"collective_copy {p.name(exp.array)}{p.slice(exp.slice)}"


def _parameter(parameter: kernels.Parameter) -> str:
    defaults = ", ".join(f"{quoted(k)} = {n}" for k, n in parameter.defaults)
    text = f"{quoted(parameter.name)} {quoted(parameter.kind)} ({defaults})"
    if parameter.bounds is not None:
        text += f" bounds {parameter.bounds[0]} {parameter.bounds[1]}"
    return f"{text} guards {quoted(parameter.guards)}" if parameter.guards else text


def _at_least(p: Printer, exp: kernels.AtLeast) -> str:
    return f"at_least({p.size(exp.parallelism)}, {_parameter(exp.threshold)})"


FORMS: dict[type, Form] = {
    core.Copy: lambda p, exp: p.atom(exp.atom),
    core.ScalarOp: _scalar_op,
    core.SizeExp: lambda p, exp: f"size({p.size(exp.size)})",
    core.Index: _index,
    core.Update: _update,
    core.Iota: _iota,
    core.Replicate: _replicate,
    core.Scratch: _scratch,
    core.ArrayLiteral: _literal,
    core.Rearrange: _rearrange,
    core.Reshape: _reshape,
    core.Concat: _concat,
    core.Manifest: _manifest,
    core.If: _if,
    core.Match: _match,
    core.Loop: _loop,
    core.Apply: _apply,
    core.Assert: _assert,
    core.Trace: _trace,
    core.Opaque: lambda p, exp: f"opaque({p.atom(exp.atom)})",
    accumulators.WithAcc: _with_acc,
    accumulators.UpdateAcc: _update_acc,
    soacs.Screma: _screma,
    soacs.Scatter: _scatter,
    soacs.Hist: _hist,
    derivatives.Jvp: _derivative("jvp"),
    derivatives.Vjp: _derivative("vjp"),
    derivatives.CustomVjp: _custom_vjp,
    kernels.SegMap: _segmented("segmap"),
    kernels.SegRed: _segmented("segred"),
    kernels.SegScan: _segmented("segscan"),
    kernels.SegHist: _segmented("seghist"),
    kernels.Returns: lambda p, result: f"returns {p.atom(result.value)}",
    kernels.WriteReturns: _writes,
    kernels.TileReturns: _tile("tile"),
    kernels.RegTileReturns: _tile("regtile"),
    kernels.CollectiveCopy: _collective_copy,
    kernels.GetParameter: lambda _, exp: f"get_parameter({_parameter(exp.parameter)})",
    kernels.AtLeast: _at_least,
}
