r"""A derivation to read: which rules made each kernel, and which refused and why.

    flatten
      matmul.fut:3:3  product
        flatten_perfect_nest [G2]
          choose_versions [G for l + 1]
            flatten_reduce [Gr]  ->  segred grid (n, m, k)
            run_map_in_threads [G1]  ->  segmap grid (n, m)
            no run_map_in_groups: nothing inside is parallel ...

Steps stand below the step within which they were made, under the place in the source
and the names that the statement binds; kernels stand at the step that made them, by
their level and the sizes of their space.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from minifut.ir import kernels
from minifut.ir.core import Stm
from minifut.ir.printer import show
from minifut.ir.traverse import walk
from minifut.rewrite.trace import Step, Trace

WORDS: dict[type, str] = {
    kernels.SegMap: "segmap",
    kernels.SegRed: "segred",
    kernels.SegScan: "segscan",
    kernels.SegHist: "seghist",
}


def explain(trace: Trace) -> str:
    """All steps, pass by pass."""
    lines: list[str] = []
    stage = place = ""
    own = own_kernels(trace.steps)
    for step, made in zip(trace.steps, own, strict=True):
        if step.stage != stage:
            stage, place = step.stage, ""
            lines.append(stage)
        where = headline(step.statement)
        if step.depth == 0 and where != place:
            place = where
            lines.append(f"  {where}")
        lines.append("    " + "  " * step.depth + line(step, made))
    return "\n".join(lines) or "no rule fired"


def headline(statement: Stm) -> str:
    """Where a statement stands, and what it binds."""
    place = str(statement.location) if statement.location else "-"
    bound = ", ".join(str(parameter.name) for parameter in statement.pattern)
    return f"{place}  {bound}"


def line(step: Step, made: list[str]) -> str:
    """What came of one rule, which made these kernels itself."""
    label = f" [{step.rule.label}]" if step.rule.label else ""
    if not step.fired:
        return f"no {step.rule.name}{label}: {step.reason}"
    kernels_made = f"  ->  {', '.join(made)}" if made else ""
    return f"{step.rule.name}{label}{kernels_made}"


def own_kernels(steps: list[Step]) -> list[list[str]]:
    """For each step the kernels that it made and no step within it."""
    found: list[list[str]] = []
    waiting: list[tuple[int, Counter[str]]] = []
    for step in reversed(steps):
        heads = list(kernel_heads(step.replacement))
        inside: Counter[str] = Counter()
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


def kernel_heads(statements: tuple[Stm, ...]) -> Iterator[str]:
    """Each kernel by its level and the sizes of its space."""
    for statement in statements:
        for node in walk(statement):
            word = WORDS.get(type(node))
            if word is None:
                continue
            assert isinstance(
                node,
                kernels.SegMap | kernels.SegRed | kernels.SegScan | kernels.SegHist,
            )
            sizes = ", ".join(show(size, renumber=False) for size in node.space.sizes)
            yield f"{word} {node.level} ({sizes})"
