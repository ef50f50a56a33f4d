r"""A derivation to read: which rules made each kernel, and which declined and why.

    flatten
      matmul.fut:3:3  product
        flatten_perfect_nest [G2]
          choose_versions [G for l + 1]  (product.map_reduce.outer = 0)
            flatten_reduce [Gr]  ->  segred grid (n, m, k)
            run_map_in_threads [G1]  ->  segmap grid (n, m)
            no run_map_in_groups: nothing inside is parallel ...

Steps are below the step within which they were made, under the place in the source
and the names that the statement binds; kernels are at the step that made them, by
their level and the sizes of their space, and so do the tuning parameters, with their
defaults, that came with the step. What is repeated at one place is printed
once; simplifications of single statements are only counted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TypeAlias

from minifut.ir import kernels
from minifut.ir.core import Stm
from minifut.ir.printer import Printer
from minifut.ir.traverse import walk
from minifut.rewrite.trace import Step, Trace

WORDS: dict[type, str] = {
    kernels.SegMap: "segmap",
    kernels.SegRed: "segred",
    kernels.SegScan: "segscan",
    kernels.SegHist: "seghist",
}


SIMPLIFICATIONS = ("minifut.passes.simplify.", "minifut.passes.remove_checks.")
"""packages of rules of which is said only how often they fired"""


def explain(trace: Trace, schedule: str = "cpu") -> str:
    """All steps, pass by pass; defaults are those of a schedule. Names are numbered
    anew, and mean the same everywhere."""
    names = Printer()
    lines: list[str] = []
    stage = place = ""
    shown: set[tuple[str, ...]] = set()
    simplified: Counter[str] = Counter()
    for steps in _outermost(trace.steps, own_findings(trace.steps, names)):
        first = steps[0][0]
        if first.stage != stage:
            lines += counted(simplified)
            simplified.clear()
            stage, place = first.stage, ""
            lines.append(stage)
        module = first.rule.function.__module__
        if module.startswith(SIMPLIFICATIONS) and not first.rule.paper:
            simplified[first.rule.name] += 1
            continue
        where = headline(first.statement, names)
        if where != place:
            place, shown = where, set()
            lines.append(f"  {where}")
        block = _without_repetition(steps, schedule)
        if first.replacement or block not in shown:
            lines.extend(block)
        shown.add(block)
    lines += counted(simplified)
    return "\n".join(lines) or "no rule fired"


def counted(simplified: Counter[str]) -> list[str]:
    """Local simplifications, of which there are many and which no paper is about, by
    how often each fired."""
    return [f"  {name} x {number}" for name, number in sorted(simplified.items())]


def _without_repetition(
    steps: list[tuple[Step, list[ExplainedItem]]], schedule: str
) -> tuple[str, ...]:
    """The lines of a step and of those within it. Of kernel code, what neither led to
    anything nor differs from a step before it within the same one is left out."""
    lines: list[str] = []
    beside: list[set[str]] = []
    for position, (step, own) in enumerate(steps):
        indent = "    " + "  " * step.depth
        text = indent + line(step, own, schedule).replace("\n", f"\n{indent}")
        del beside[step.depth + 1 :]
        beside.extend(set() for _ in range(step.depth + 1 - len(beside)))
        below = steps[position + 1 :][:1]
        leaf = not below or below[0][0].depth <= step.depth
        if step.replacement or not leaf or text not in beside[step.depth]:
            lines.append(text)
        beside[step.depth].add(text)
    return tuple(lines)


ExplainedItem: TypeAlias = str | kernels.Parameter
"""the head of a kernel, or a tuning parameter"""


def _outermost(
    steps: list[Step], own: list[list[ExplainedItem]]
) -> Iterator[list[tuple[Step, list[ExplainedItem]]]]:
    """Each step that is within no other, with those within it."""
    found: list[tuple[Step, list[ExplainedItem]]] = []
    for step, made in zip(steps, own, strict=True):
        if step.depth == 0 and found:
            yield found
            found = []
        found.append((step, made))
    if found:
        yield found


def headline(statement: Stm, names: Printer) -> str:
    """The place of a statement, and what it binds."""
    place = str(statement.location) if statement.location else "-"
    bound = ", ".join(names.name(parameter.name) for parameter in statement.pattern)
    return f"{place}  {bound}"


def line(step: Step, own: list[ExplainedItem], schedule: str) -> str:
    """The outcome of one rule, which made these kernels and parameters itself."""
    label = f" [{step.rule.label}]" if step.rule.label else ""
    if not step.fired:
        return f"no {step.rule.name}{label}: {step.reason}"
    made = [*(f for f in own if isinstance(f, str)), *step.made]
    governing = [f for f in own if not isinstance(f, str)]
    numbers = [_default(p, schedule) for p in dict.fromkeys(governing)]
    made_text = f"  ->  {', '.join(made)}" if made else ""
    if len(step.made) > 1:
        made_text = "".join(f"\n  ->  {each}" for each in made)
    governed = f"  ({', '.join(numbers)})" if numbers else ""
    return f"{step.rule.name}{label}{made_text}{governed}"


def _default(parameter: kernels.Parameter, schedule: str) -> str:
    number = dict(parameter.defaults).get(schedule, 0)
    return f"{parameter.name} = {'never' if number >= kernels.NEVER else number}"


def own_findings(steps: list[Step], names: Printer) -> list[list[ExplainedItem]]:
    """For each step the kernels and parameters that it made and no step within it."""
    found: list[list[ExplainedItem]] = []
    waiting: list[tuple[int, Counter[ExplainedItem]]] = []
    made = [[*findings(s.replacement, names), *s.parameters] for s in steps]
    for step, heads in zip(reversed(steps), reversed(made), strict=True):
        inside: Counter[ExplainedItem] = Counter()
        while waiting and waiting[-1][0] > step.depth:
            inside += waiting.pop()[1]
        waiting.append((step.depth, Counter(heads)))
        own = []
        for head in heads:
            if inside[head]:
                inside[head] -= 1
            else:
                own.append(head)
        found.append(own)
    return found[::-1]


def findings(statements: tuple[Stm, ...], names: Printer) -> Iterator[ExplainedItem]:
    """Each kernel by its level and the sizes of its space, and each parameter that is
    requested."""
    for statement in statements:
        for node in walk(statement):
            match node:
                case kernels.GetParameter(parameter) | kernels.AtLeast(_, parameter):
                    yield parameter
                case (
                    kernels.SegMap()
                    | kernels.SegRed()
                    | kernels.SegScan()
                    | kernels.SegHist()
                ):
                    sizes = map(names.any, node.space.sizes)
                    word = WORDS[type(node)]
                    yield f"{word} {node.level} ({', '.join(sizes)})"
