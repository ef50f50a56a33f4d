"""Programs made from a random one that must give the same results.

    let a1 = map f xs   let a2 = map g a1        fused      let a2 = map (\\x -> g (f x)) xs
    let a1 = reduce ..  let a2 = scan ..         reordered  let a2 = scan ..  let a1 = ..
    let a1 = map f xs   .. a1 .. a1 ..           inlined    .. (map f xs) .. (map f xs) ..
    ..                                           dead       let d1 = ..  ..
    let a1 = map f xs                            split      map f xs[:k] ++ map f xs[k:]
    let a1 = map f xs                            unfused    map (\\(x, _) -> f x) (map (\\x -> (x, 1)) xs)
    let a1 = map f xs                            hoisted    def h .. = map f xs   h ..

Names are unique in a program, so that texts can be moved and put in place of names.
Each relation gives None where it has nothing to work on.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from tests.random_sources.maker import Map, Scope, factor, mapped
from tests.random_sources.program import RandomProgram

Relation = Callable[[RandomProgram, random.Random], RandomProgram | None]
NAME = re.compile(r"[A-Za-z_]\w*")
BOUND = re.compile(r"let (?:\[(\w+)\] )?\(?(\w+(?:, \w+)*)")


def bound_names(line: str) -> list[str]:
    """The names that a statement binds, its size first."""
    found = BOUND.match(line)
    assert found is not None, line
    return [*filter(None, [found[1]]), *found[2].split(", ")]


def fused(program: RandomProgram, random: random.Random) -> RandomProgram | None:
    """A map of a map as one."""
    pairs = [
        (name, map_.arrays[0])
        for name, map_ in _simple_maps(program)
        if len(map_.arrays) == 1 and map_.arrays[0] in dict(_simple_maps(program))
    ]
    if not pairs:
        return None
    consumer, producer = random.choice(pairs)
    first, second = program.maps[producer], program.maps[consumer]
    names = [f"e{i}_" for i in range(len(first.arrays))]
    called = f"{second.function} ({first.function} {' '.join(names)})"
    text = mapped(first.arrays, f"(\\{' '.join(names)} -> {called})")
    return _with_line(program, consumer, f"let {consumer} = {text}")


def unfused(program: RandomProgram, random: random.Random) -> RandomProgram | None:
    """A map as a map of an array of tuples that another map makes."""
    found = list(_simple_maps(program))
    if not found:
        return None
    name, map_ = random.choice(found)
    names = " ".join(f"e{i}_" for i in range(len(map_.arrays)))
    pair = f"(1i32, ({names.replace(' ', ', ')}))"
    made = mapped(map_.arrays, f"(\\{names} -> {pair})")
    function = f"(\\{pair.replace('1i32', '_')} -> {map_.function} {names})"
    return _with_line(program, name, f"let {name} = map {function} ({made})")


def split(program: RandomProgram, random: random.Random) -> RandomProgram | None:
    """A map over two parts of its arrays, one behind the other."""
    found = list(_simple_maps(program))
    if not found:
        return None
    name, map_ = random.choice(found)
    size = factor(map_.type.dims[0])
    at = f"({random.choice(('1', f'({size} / 2)', '0', size))} `i64.min` {size})"
    parts = (
        mapped([f"({part} {at} {a})" for a in map_.arrays], map_.function)
        for part in ("take", "drop")
    )
    text = " ++ ".join(f"({part})" for part in parts)
    return _with_line(program, name, f"let {name} = ({text}) :> {map_.type}")


def inlined(program: RandomProgram, random: random.Random) -> RandomProgram | None:
    """The text of a statement in all places of its name."""
    found = [
        (number, match)
        for number, line in enumerate(program.lines)
        if (match := re.fullmatch(r"let (\w+) = (.*)", line))
        and not re.match(r"let \w+ = \\", line)
        and sum(match[1] in bound_names(other) for other in program.lines) == 1
        and any(match[1] in NAME.findall(line) for line in program.lines[number + 1 :])
    ]
    if not found:
        return None
    number, match = random.choice(found)
    name, text = match[1], f"({match[2]})"
    lines = [
        line if i <= number else re.sub(rf"\b{name}\b", lambda _: text, line)
        for i, line in enumerate(program.lines)
    ]
    return replace(program, lines=tuple(lines))


def reordered(program: RandomProgram, random: random.Random) -> RandomProgram | None:
    """The statements in another order, each behind those that it uses."""
    left, done, lines = list(program.lines), set[str](), []
    every = {name for line in left for name in bound_names(line)}
    if len(every) < sum(len(bound_names(line)) for line in left):
        return None  # a name bound twice
    while left:
        ready = [
            line
            for line in left
            if (set(NAME.findall(line)) & every) - set(bound_names(line)) <= done
        ]
        line = random.choice(ready)
        left.remove(line)
        done |= set(bound_names(line))
        lines.append(line)
    return replace(program, lines=tuple(lines)) if lines != [*program.lines] else None


def dead(program: RandomProgram, random: random.Random) -> RandomProgram | None:
    """More statements, whose results nothing uses."""
    scope, make = program.scope, program.make
    more = Scope(list(scope.values), scope.sizes)
    make.fill(more, 2)
    lines = (*program.lines, *more.lines)
    return replace(program, lines=lines, declarations=tuple(make.declarations))


def hoisted(program: RandomProgram, random: random.Random) -> RandomProgram | None:
    """A map of one array as a function of its array, called in its place."""
    found = list(_simple_maps(program))
    if not found:
        return None
    name, map_ = random.choice(found)
    text = mapped([f"{a}_" for a in map_.arrays], map_.function)
    parameters = " ".join(f"{a}_" for a in dict.fromkeys(map_.arrays))
    given = " ".join(dict.fromkeys(map_.arrays))
    line = f"let {name} = (let h_ {parameters} = {text} in h_ {given}) :> {map_.type}"
    return _with_line(program, name, line)


RELATIONS: tuple[Relation, ...] = (
    fused,
    unfused,
    split,
    inlined,
    reordered,
    dead,
    hoisted,
)


def related(
    program: RandomProgram, random: random.Random, relations: Sequence[Relation]
) -> Iterator[tuple[str, RandomProgram]]:
    """The names of relations, and what they make of the program."""
    for relation in relations:
        made = relation(program, random)
        if made is not None:
            yield relation.__name__, made


def _simple_maps(program: RandomProgram) -> Iterator[tuple[str, Map]]:
    for line in program.lines:
        name = bound_names(line)[-1]
        map_ = program.maps.get(name)
        if map_ is not None and line.startswith(f"let {name} = map"):
            yield name, map_


def _with_line(program: RandomProgram, name: str, line: str) -> RandomProgram:
    lines = (line if bound_names(old)[-1] == name else old for old in program.lines)
    return replace(program, lines=tuple(lines))
