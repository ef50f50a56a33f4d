r"""Fuse a map into the SOAC that consumes its result.

    before:  let ys = map(n, xs, f)
             let s  = redomap(n, ys, op, g)
    after:   let s  = redomap(n, xs, op, \x -> g (f x))

The consumer may be a map, redomap, scanomap, scatter or histogram. Results of the map
that are needed elsewhere become further mapped results of the fused SOAC, so that no
work is done twice; scatters and histograms have none, and take only maps that nobody
else needs. Checks stay in order: those of the map come first.
"""

from __future__ import annotations

from typing import Any

from minifut.ir.core import Atom, Body, Lambda, Stm
from minifut.ir.node import replace
from minifut.ir.soacs import Screma
from minifut.ir.traverse import free_names, substitute
from minifut.names import Name


def fuse_map_into_consumer(producer: Stm, consumer: Stm, kept: set[Name]) -> Stm | str:
    """The fused statement, or why not. `kept` are the producer's results that others
    need as well."""
    first: Any = producer.exp
    second: Any = consumer.exp
    if not isinstance(first, Screma) or not first.is_map:
        return "the producer is not a map"
    if first.width != second.width:
        return "the widths are not known to be equal"
    if kept and not isinstance(second, Screma):
        return "the result is needed elsewhere, and this consumer has no mapped results"
    made = {bound.name for bound in producer.pattern}
    if made & free_names(replace(second, arrays=())):
        return "the consumer needs the array as a whole"
    exp = replace(
        second,
        arrays=first.arrays + _others(second.arrays, made),
        function=_composed(producer, consumer, kept),
    )
    extra = tuple(bound for bound in producer.pattern if bound.name in kept)
    return replace(consumer, pattern=consumer.pattern + extra, exp=exp)


def _others(arrays: tuple[Name, ...], made: set[Name]) -> tuple[Name, ...]:
    return tuple(array for array in arrays if array not in made)


def _composed(producer: Stm, consumer: Stm, kept: set[Name]) -> Lambda:
    """First the producer's statements, then the consumer's on its results."""
    first: Lambda = producer.exp.function  # type: ignore[attr-defined]
    second: Lambda = consumer.exp.function  # type: ignore[attr-defined]
    arrays: tuple[Name, ...] = consumer.exp.arrays  # type: ignore[attr-defined]
    results = dict(
        zip((b.name for b in producer.pattern), first.body.result, strict=True)
    )
    fed: dict[Name, Atom] = {}
    parameters = list(first.parameters)
    for parameter, array in zip(second.parameters, arrays, strict=True):
        if array in results:
            fed[parameter.name] = results[array]
        else:
            parameters.append(parameter)
    body = substitute(second.body, fed)
    extra = [n for n, bound in enumerate(producer.pattern) if bound.name in kept]
    return Lambda(
        tuple(parameters),
        Body(
            first.body.statements + body.statements,
            body.result + tuple(first.body.result[n] for n in extra),
        ),
        substitute(second.results, fed) + tuple(first.results[n] for n in extra),
    )
