r"""Statements whose results on chunks are combined: reductions and histograms.

    let s = redomap(n, (xs), reduce(+), f)      each chunk: the same over the chunk
                                                then: s1 + s2
    let h = hist(n, .., bins([k], dest, +))     each chunk: from neutral elements
                                                then: map (+) h1 h2, at last with dest
    let ss = map(d, (xss), \xs -> redomap(n))   each chunk: the same
                                                then: map (+) ss1 ss2

The operator of the program does the combining, lifted over the dimensions that the
reduction is in. A map that does more than reduce is split first (`split_map`):

    map(d, (xss), \xs -> let s = redomap(n, (xs), ..) in s / c)
    -->  let ss = map(d, (xss), \xs -> redomap(n, (xs), ..))
         map(d, (ss), \s -> s / c)

Source: distribution of maps (rule G6 of "Regular flattening"), and the three-part
reductions and scans of Blelloch, "Prefix sums and their applications".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from minifut.distributed.chunked import ChunkedSizes, Undistributable
from minifut.distributed.locality import check_elementwise, is_local
from minifut.ir.builder import Builder
from minifut.ir.core import Atom, Body, Copy, Lambda, Param, Replicate, Stm
from minifut.ir.node import divided, replace
from minifut.ir.scope import add_parameters, fresh_copy
from minifut.ir.sizes import Size
from minifut.ir.soacs import Hist, Reduce, Scan, Screma
from minifut.ir.traverse import bound_names, free_names, size_names
from minifut.ir.types import AccType, array_of
from minifut.names import Name, NameSource


@dataclass(frozen=True, slots=True)
class Combination:
    """How the partial results `names` of two chunks become one: `operator`, mapped over
    dimensions of these `widths`."""

    names: tuple[Name, ...]
    operator: Lambda
    widths: tuple[Size, ...] = ()


@dataclass(frozen=True, slots=True)
class ChunkFold:
    """A statement to run on each chunk, how its results are combined, and what remains
    to be done with the result."""

    on_chunk: tuple[Stm, ...]
    combinations: tuple[Combination, ...]
    afterwards: tuple[Stm, ...] = ()


def as_fold(
    statement: Stm, chunked: ChunkedSizes, names: NameSource
) -> ChunkFold | None:
    """The statement as a fold; None if it is none."""
    match statement.exp:
        case Screma() as exp if chunked.factors(exp.width) is not None:
            if exp.scans or not exp.reduces:
                return None
            check_elementwise(exp.function, chunked)
            results = [parameter.name for parameter in statement.pattern]
            return ChunkFold((statement,), combinations_of(exp.reduces, results))
        case Hist() as exp if chunked.factors(exp.width) is not None:
            return _histogram(statement, exp, chunked, names)
        case Screma() as exp if not exp.folds:
            return _mapped_folds(statement, exp, chunked, names)
    return None


def combinations_of(
    folds: Sequence[Reduce | Scan], results: Sequence[Name]
) -> tuple[Combination, ...]:
    """The results of each fold, with its operator."""
    groups = divided(results, [len(fold.neutral) for fold in folds])
    return tuple(
        Combination(own, fold.operator) for own, fold in zip(groups, folds, strict=True)
    )


def _histogram(
    statement: Stm, exp: Hist, chunked: ChunkedSizes, names: NameSource
) -> ChunkFold | None:
    """Chunks begin with neutral elements; the destinations are combined at the end."""
    check_elementwise(exp.function, chunked)
    build = Builder(names, chunked.scope, statement.location)
    after = Builder(names, chunked.scope, statement.location)
    operators, combinations = [], []
    pattern: list[Param] = []
    results = iter(statement.pattern)
    for operator in exp.operators:
        if any(chunked.factors(size) for size in operator.shape):
            raise Undistributable("the bins of this histogram are in chunks")
        empty = [
            build.let(Replicate(operator.shape, neutral), "bins")
            for neutral in operator.neutral
        ]
        operators.append(replace(operator, destinations=tuple(empty)))
        wanted = [next(results) for _ in empty]
        partial = [Param(names.like(p.name), p.type) for p in wanted]
        add_parameters(chunked.scope, partial)
        pattern += partial
        combined = Combination(
            tuple(p.name for p in partial), operator.operator, operator.shape
        )
        combinations.append(combined)
        rename_last(after, wanted, combine(after, combined, operator.destinations))
    build.append(
        replace(
            statement,
            pattern=tuple(pattern),
            exp=replace(exp, operators=tuple(operators)),
        )
    )
    return ChunkFold(
        tuple(build.statements), tuple(combinations), tuple(after.statements)
    )


def rename_last(build: Builder, wanted: Sequence[Param], made: Sequence[Atom]) -> None:
    """Bind names of the program to what was made for them."""
    for parameter, atom in zip(wanted, made, strict=True):
        build.bind((parameter,), Copy(atom))


def combine(
    build: Builder, combination: Combination, left: Sequence[Atom]
) -> tuple[Atom, ...]:
    """Emit `left (op) names`, mapped over the widths."""
    return lifted(
        build, combination.operator, combination.widths, left, combination.names
    )


def lifted(
    build: Builder,
    operator: Lambda,
    widths: Sequence[Size],
    left: Sequence[Atom],
    right: Sequence[Atom],
) -> tuple[Atom, ...]:
    """Emit the operator, mapped over dimensions of these widths."""
    if not widths:
        count = len(operator.parameters) // 2
        names = (parameter.name for parameter in operator.parameters)
        both = (*left[:count], *right[:count])
        return build.inline(operator.body, dict(zip(names, both, strict=True)))
    arrays = tuple(atom for atom in (*left, *right) if isinstance(atom, Name))
    half = len(left)
    return build.map(
        arrays,
        lambda inner, *elements: lifted(
            inner, operator, widths[1:], elements[:half], elements[half:]
        ),
    )


def _mapped_folds(
    statement: Stm, exp: Screma, chunked: ChunkedSizes, names: NameSource
) -> ChunkFold | None:
    """A map whose body ends in a fold and returns its results only."""
    body = exp.function.body
    if not body.statements:
        return None
    last = body.statements[-1]
    inner = as_fold(last, chunked, names)
    if inner is None or inner.afterwards:
        return None
    if not all(is_local(before, chunked) for before in body.statements[:-1]):
        return None
    results = [parameter.name for parameter in last.pattern]
    inside = set(bound_names(exp.function))
    combinations = []
    for made in inner.combinations:
        if free_names(made.operator) & inside:
            raise Undistributable("its operator is another one for each element")
        if not set(made.names) <= set(body.result):
            return None
        outside = [
            p.name
            for name in made.names
            for p, atom in zip(statement.pattern, body.result, strict=True)
            if atom == name
        ]
        widths = (exp.width, *made.widths)
        combinations.append(Combination(tuple(outside), made.operator, widths))
    if set(body.result) - set(results):
        return None
    before = (*body.statements[:-1], *inner.on_chunk)
    function = replace(exp.function, body=replace(body, statements=before))
    new = replace(statement, exp=replace(exp, function=function))
    return ChunkFold((new,), tuple(combinations))


# --- splitting maps -------------------------------------------------------------------


def split_maps(
    statements: Sequence[Stm], chunked: ChunkedSizes, names: NameSource
) -> list[Stm]:
    """Statements in which folds are last in the maps around them."""
    made: list[Stm] = []
    for statement in statements:
        exp = statement.exp
        splits = (
            isinstance(exp, Screma)
            and chunked.factors(exp.width) is None
            and chunked.touches(statement)
            and not is_local(statement, chunked)
        )
        made += split_map(statement, chunked, names) if splits else [statement]
    return made


def split_map(statement: Stm, chunked: ChunkedSizes, names: NameSource) -> list[Stm]:
    """The map of what comes up to the first fold, and the SOAC of what comes after."""
    exp: Screma = statement.exp  # type: ignore[assignment]
    body = exp.function.body
    inner = split_maps(body.statements, chunked, names)
    at = next(
        (i for i, s in enumerate(inner) if as_fold(s, chunked, names) is not None), None
    )
    if at is None:
        return [statement]
    last = inner[at]
    folded = {parameter.name for parameter in last.pattern}
    if not exp.folds and at == len(inner) - 1 and folded >= set(body.result):
        whole = replace(body, statements=tuple(inner))
        return [_with_body(statement, exp, whole)]
    first, rest = inner[: at + 1], inner[at + 1 :]
    after = Body(tuple(rest), body.result)
    needed = [
        name for s in first for name in (p.name for p in s.pattern)
        if name in free_names(after) and name not in folded
    ]  # fmt: skip
    made: list[Stm] = []
    arrays, parameters = list(exp.arrays), list(exp.function.parameters)
    for group, statements in (
        (needed, first[:-1]),
        ([p.name for p in last.pattern], first),
    ):
        if group:
            expanded = _expand(exp, group, statements, chunked, names, statement)
            made.append(expanded)
            arrays += [p.name for p in expanded.pattern]
            parameters += [Param(name, chunked.scope[name]) for name in group]
    used = free_names(after)
    pairs = [(a, p) for a, p in zip(arrays, parameters, strict=True) if p.name in used]
    function = Lambda(tuple(p for _, p in pairs), after, exp.function.results)
    new = replace(exp, arrays=tuple(a for a, _ in pairs), function=function)
    rest_of_it = replace(statement, exp=fresh_copy(new, names, chunked.scope))
    return [*made, *split_maps([rest_of_it], chunked, names)]


def _with_body(statement: Stm, exp: Screma, body: Body) -> Stm:
    function = replace(exp.function, body=body)
    return replace(statement, exp=replace(exp, function=function))


def _expand(
    exp: Screma,
    results: Sequence[Name],
    statements: Sequence[Stm],
    chunked: ChunkedSizes,
    names: NameSource,
    statement: Stm,
) -> Stm:
    """The map over the same arrays that gives these names of its body."""
    types = tuple(chunked.scope[name] for name in results)
    inside = set(bound_names(exp.function))
    for type_ in types:
        if isinstance(type_, AccType) or size_names(type_) & inside:
            raise Undistributable("a value in the map around it has a varying size")
    body = Body(tuple(statements), tuple(results))
    function = Lambda(exp.function.parameters, body, types)
    function = fresh_copy(function, names, chunked.scope)
    pattern = tuple(
        Param(names.like(name), array_of(type_, (exp.width,)))
        for name, type_ in zip(results, types, strict=True)
    )
    add_parameters(chunked.scope, pattern)
    new = Screma(exp.width, exp.arrays, (), (), function)
    return Stm(pattern, new, statement.attributes, statement.location)
