"""The versions of an entry point: which settings force each, and what to call it.

A path through the tree of decisions is named after the threshold that it takes, with
the last word of the parameter's name: `outer`, `intra-group`; or `full` if it takes
none of those that flattening makes. Other decisions are added where they are taken.
Where independent decisions differ, each is named with its nest:

    {main.map.outer: 0}                                  outer
    {main.map.outer: NEVER, main.map.map.outer: 0}       map.outer
    {main.map.outer: NEVER, main.map.map.outer: NEVER}   full
    {main.map.outer: 0, main.scan.outer: NEVER}          map.outer + scan.full
    {main.loop_map.host: NEVER}                          one thread

Tiles are a structure of two parts, of which register tiles disappear if they are made
one by one. So each tiled version is listed twice:

    {f.tiled: 0, f.split: NEVER, f.register_rows: 1, ..}  block tiled
    {f.tiled: 0, f.split: NEVER}                          block + register tiled
    {f.tiled: 0, f.split: 0}                              block + register tiled, split
    {f.tiled: NEVER, f.outer: 0}                          outer, untiled

Untiled versions come first. Bounded: of more than `MOST` versions those are kept that
decide the same everywhere, then those that differ from these in one place, then others.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from minifut.ir.core import Program
from minifut.ir.kernels import GetParameter, Parameter
from minifut.ir.traverse import walk
from minifut.parameters.decisions import (
    TAKEN,
    Alternative,
    DecisionPoint,
    Settings,
    decisions_of,
    number_of_paths,
    paths,
)

MOST = 64
"""versions of an entry point"""

FLATTENING = {"outer": "outer", "intra": "intra-group"}
"""last words of the thresholds that flattening makes"""

HOST = "host"
"""last word of the threshold from which on the host runs a loop; below, one thread"""

TILED, SPLIT = "tiled", "split"
"""last words of the thresholds that tiling makes"""
REGISTERS = "reg_tile_size"
REGISTER = "register_"
"""the class of the parameters of register tiles, and how their last words begin"""


@dataclass(frozen=True, slots=True)
class Version:
    """A path through the decisions of an entry point."""

    name: str
    settings: Settings
    guards: str
    """what the decisions that were taken are for"""


@dataclass(frozen=True, slots=True)
class Versions:
    """The versions of an entry point; `total` counts those that are left out, too.
    `registers` are the parameters of register tiles, by nest."""

    decisions: tuple[DecisionPoint, ...]
    versions: tuple[Version, ...]
    total: int
    registers: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


def versions_of(program: Program, entry: str, most: int = MOST) -> Versions:
    """The versions of an entry point of a program of kernels."""
    decisions = decisions_of(program, entry)
    registers = _registers(program)
    candidates = _with_block_tiles(_unique(_paths(decisions), decisions), registers)
    settings = sorted(itertools.islice(candidates, most), key=_refinements)
    names = distinct(label(decisions, each) for each in settings)
    found = tuple(
        Version(name, each, _guards(decisions, each))
        for name, each in zip(names, settings, strict=True)
    )
    total = len(found) if len(found) < most else number_of_paths(decisions)
    return Versions(decisions, found, max(total, len(found)), registers)


def reached(decisions: tuple[DecisionPoint, ...], wanted: Settings) -> dict[str, int]:
    """The settings that matter on the path which they force; parameters that nothing is
    wanted of have their last value."""
    found: dict[str, int] = {}
    left = list(decisions)
    while left:
        decision = left.pop(0)
        name = decision.parameter.name
        last = decision.branches[-1].value
        value = found.setdefault(name, wanted.get(name, last))
        for branch in decision.branches:
            if branch.value == value:
                left[:0] = _inside(decision, branch)
    return found


def label(decisions: tuple[DecisionPoint, ...], settings: Settings) -> str:
    """What to call the version that these settings force. Thresholds without a setting
    do not count, nor does what is behind them. Register tiles of one element are
    none, those without a setting are not spoken of."""
    decisions = tuple(c for c in decisions if c.parameter.name in settings)
    labels = [_label_of_tree(decision, settings) for decision in decisions]
    if not labels:
        return "only"
    common, times = Counter(labels).most_common(1)[0]
    if times == len(labels):
        return common
    roots = _roots(decisions)
    named = [f"{r}.{each}" for r, each in zip(roots, labels, strict=True)]
    if len(labels) > 2 and times > 1:
        others = [n for n, each in zip(named, labels, strict=True) if each != common]
        return f"{common} but {' + '.join(others)}"
    return " + ".join(named)


def is_taken(parameter: Parameter, value: int) -> bool:
    """Whether the value of a decision stands for doing what it is named after."""
    if parameter.kind == "threshold":
        return value == TAKEN
    return parameter.bounds is not None and value != parameter.bounds[0]


def parameters_of(decisions: tuple[DecisionPoint, ...]) -> Iterator[Parameter]:
    """Every parameter in the tree, once for each place."""
    for decision in decisions:
        yield decision.parameter
        for branch in decision.branches:
            yield from parameters_of(branch.decisions)


# --- which paths --------------------------------------------------------------------


def _registers(program: Program) -> dict[str, tuple[str, ...]]:
    found: dict[str, dict[str, None]] = {}
    for function in program.functions:
        for node in walk(function.body):
            if isinstance(node, GetParameter) and node.parameter.kind == REGISTERS:
                name = node.parameter.name
                found.setdefault(name.rpartition(".")[0], {})[name] = None
    return {nest: tuple(names) for nest, names in found.items()}


def _with_block_tiles(
    candidates: Iterable[Settings], registers: Mapping[str, tuple[str, ...]]
) -> Iterator[Settings]:
    """Each path, and behind a tiled one the same without register tiles."""
    for path in candidates:
        yield path
        nests = [
            name.rpartition(".")[0]
            for name, value in path.items()
            if _word(name) == TILED and value == TAKEN
        ]
        if not any(path.get(f"{nest}.{SPLIT}") == TAKEN for nest in nests):
            names = [name for nest in nests for name in registers.get(nest, ())]
            if names:
                yield {**path, **dict.fromkeys(names, 1)}


def _refinements(path: Settings) -> tuple[int, bool]:
    """How much is done beyond flattening."""
    plain = (*FLATTENING, HOST)
    taken = [n for n, v in path.items() if v == TAKEN and _word(n) not in plain]
    return len(taken), not any(_word(name).startswith(REGISTER) for name in path)


def _inside(decision: DecisionPoint, branch: Alternative) -> tuple[DecisionPoint, ...]:
    """The decisions of a branch that matter. Where a nest is tiled, the versions that
    are there in case that its tiles do not fit do not."""
    parameter = decision.parameter
    if _word(parameter.name) != TILED or branch.value != TAKEN:
        return branch.decisions
    return tuple(c for c in branch.decisions if _nest(c.parameter) == _nest(parameter))


def _unique(
    candidates: Iterable[Settings], decisions: tuple[DecisionPoint, ...]
) -> Iterator[Settings]:
    seen = set()
    for path in candidates:
        settings = reached(decisions, path)
        key = frozenset(settings.items())
        if key not in seen:
            seen.add(key)
            yield settings


def _paths(decisions: tuple[DecisionPoint, ...]) -> Iterator[Settings]:
    """All settings, those that differ most first, some of them twice."""
    uniform = [_equivalent(decisions, depth) for depth in range(_depth(decisions) + 1)]
    yield from uniform
    for path in uniform:
        for decision in decisions:
            for inside in paths((decision,)):
                yield {**path, **inside}
    yield from paths(decisions)


def _equivalent(decisions: tuple[DecisionPoint, ...], depth: int) -> dict[str, int]:
    """Take the decisions so deep in the tree, and none that are higher."""
    found: dict[str, int] = {}
    for decision in decisions:
        branch = decision.branches[0 if depth <= 0 else -1]
        found[decision.parameter.name] = branch.value
        found |= _equivalent(branch.decisions, depth - 1)
    return found


def _depth(decisions: tuple[DecisionPoint, ...]) -> int:
    inside = (_depth(b.decisions) + 1 for c in decisions for b in c.branches)
    return max(inside, default=0)


# --- names --------------------------------------------------------------------------


def _label_of_tree(decision: DecisionPoint, settings: Settings) -> str:
    path = list(_on_path((decision,), settings))
    root = next((_nest(p) for p in path if _word(p.name) in FLATTENING), ())
    flattening, refined = "", []
    for each in path:
        word = _word(each.name)
        value = settings[each.name]
        if word in FLATTENING:
            if is_taken(each, value):
                nest = _nest(each)[_in_common([root, _nest(each)]) :]
                flattening = ".".join((*nest, FLATTENING[word]))
            else:
                flattening = flattening or "full"
        elif word == HOST:
            refined.extend([] if is_taken(each, value) else ["one thread"])
        elif word == TILED:
            refined.append(_tiles(each, settings))
        elif is_taken(each, value):
            is_first = each.kind == "threshold" or (
                each.bounds is not None and value == each.bounds[0] + 1
            )
            refined.append(_words(word) if is_first else f"{_words(word)} {value}")
    parts = [flattening, *refined] if flattening else refined
    return ", ".join(parts) or "plain"


def _tiles(tiled: Parameter, settings: Settings) -> str:
    """What kind of tiles a nest has."""
    if not is_taken(tiled, settings[tiled.name]):
        return "untiled"
    stem = tiled.name.removesuffix(TILED) + REGISTER
    sizes = [value for name, value in settings.items() if name.startswith(stem)]
    if not sizes:
        return TILED
    return "block tiled" if max(sizes) == 1 else "block + register tiled"


def _on_path(
    decisions: tuple[DecisionPoint, ...], settings: Settings
) -> Iterator[Parameter]:
    for decision in decisions:
        value = settings.get(decision.parameter.name)
        if value is not None:
            yield decision.parameter
        for branch in decision.branches:
            if branch.value == value:
                yield from _on_path(_inside(decision, branch), settings)


def _guards(decisions: tuple[DecisionPoint, ...], settings: Settings) -> str:
    texts = [
        parameter.guards
        for parameter in _on_path(decisions, settings)
        if parameter.guards and is_taken(parameter, settings[parameter.name])
    ]
    return "; ".join(dict.fromkeys(texts))


def _nest(parameter: Parameter) -> tuple[str, ...]:
    """The function and the levels of the nest in the parameter's name."""
    return tuple(parameter.name.split(".")[:-1])


def _roots(decisions: tuple[DecisionPoint, ...]) -> list[str]:
    """The nests of decisions in a row, without what they have in common."""
    nests = [_nest(decision.parameter) for decision in decisions]
    common = _in_common(nests)
    return [".".join(nest[common:] or nest[-1:]) for nest in nests]


def _in_common(nests: list[tuple[str, ...]]) -> int:
    """How many words at the front are the same in all."""
    same = (len(set(words)) == 1 for words in zip(*nests, strict=False))
    return sum(itertools.takewhile(bool, same))


def _word(name: str) -> str:
    """The last word of a parameter's name."""
    return name.rpartition(".")[2]


def _words(name: str) -> str:
    return name.replace("_", " ")


def distinct(labels: Iterable[str]) -> list[str]:
    """The labels, with an ordinal behind those that occurred before."""
    count: Counter[str] = Counter()
    found = []
    for each in labels:
        count[each] += 1
        found.append(each if count[each] == 1 else f"{each} #{count[each]}")
    return found
