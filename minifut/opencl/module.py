"""The module that runs a program without the compiler.

    text = text_of(to_kernel_code(program, "cpu"), "axpy")

It imports `minifut.opencl.runtime` and holds the kernels as OpenCL C, the host
functions as Python and, as data, the entry points, failures and parameters. Without a
schedule it holds both, and the kind of the device decides when it is loaded.
"""

from __future__ import annotations

import keyword
import re
from collections.abc import Callable, Iterator, Mapping, Sequence

from minifut.immutables import immutable
from minifut.ir.core import Param
from minifut.ir.entries import Entry, EntryType
from minifut.ir.kernels import Parameter
from minifut.ir.sizes import Size
from minifut.ir.traverse import walk
from minifut.ir.types import ScalarType, element_of, shape_of
from minifut.kernel_ir import nodes as kc
from minifut.kernel_ir.program import EntryCode, KernelProgram
from minifut.lowering.host.launch_parameters import launch_parameters
from minifut.names import Name
from minifut.opencl.c_macros import PRELUDE, macros_of
from minifut.opencl.host_words import helpers_of, uses_floats
from minifut.opencl.kernel_texts import Texts, has_ranges, is_part, parameter_types
from minifut.opencl.print_host import HostPrinter


def _opening(name: str, lowered: KernelProgram) -> str:
    """What the module is and how it is used; names may have any characters."""

    def plain(text: str) -> str:
        return re.sub(r"[^\w.'-]", "_", text)

    shown = plain(name)
    lines = [f"    from {shown} import program", "    loaded = program.load()"]
    for code in lowered.entries:
        arguments = ", ".join(plain(p.name) or ".." for p in code.entry.parameters)
        called = plain(code.entry.name)
        if keyword.iskeyword(called):
            called = f'entry("{called}")'
        lines.append(f"    loaded.{called}({arguments})")
    how = "\n".join(lines)
    return f'"""{shown}, compiled by minifut.\n\n{how}\n"""\n'


@immutable
class PartText:
    """One schedule of a program as text: what the module begins with if it is the first
    one, its functions and data, and the functions of the runtime that it calls."""

    schedule: str
    opening: str
    body: str
    called: frozenset[str]

    @property
    def defined(self) -> list[str]:
        """The names of the functions."""
        return _DEFINED.findall(self.body)


def part_of(
    lowered: KernelProgram,
    name: str,
    documentation: Mapping[str, str] | None = None,
    defined: Callable[[], Sequence[str]] = list,
) -> PartText:
    """One schedule; `defined` are the names of functions that the module has already,
    needed when the kernels are printed."""
    part = _Part(lowered, name, documentation or {})
    kernels = part.kernels()
    # Both schedules share one module: the second's functions need other names.
    part.printer.names.reserve(defined())
    body = part.text(kernels)
    called = frozenset(part.called)
    return PartText(lowered.schedule, _opening(name, lowered), body, called)


def text_of(
    lowered: KernelProgram, name: str, documentation: Mapping[str, str] | None = None
) -> str:
    """The text of the module for a program lowered in one way; `documentation` is what
    `help` says of entry points."""
    return joined([part_of(lowered, name, documentation)])


def joined(parts: Sequence[PartText]) -> str:
    """The text of the module for one schedule, or for both."""
    helpers = sorted(frozenset[str]().union(*[part.called for part in parts]))
    lines = [parts[0].opening, "from minifut.opencl import runtime as rt"]
    if helpers:
        lines.append(
            "from minifut.opencl.runtime.host_scalars import " + ", ".join(helpers)
        )
    lines.append(f"\nPRELUDE = {_literal(PRELUDE)}\n")
    text = "\n".join(lines) + "\n" + "\n".join(part.body for part in parts)
    if len(parts) > 1:
        text += "\nprogram = rt.Schedules(cpu=program_cpu, gpu=program_gpu)\n"
    else:
        text += f"\nprogram = program_{parts[0].schedule}\n"
    return text


_DEFINED = re.compile(r"^def (\w+)", re.MULTILINE)


def _literal(text: str) -> str:
    """A text as a string over several lines."""
    return f'"""\\\n{_escaped(text)}"""'


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"""', '\\"\\"\\"')


class _Part:
    """One schedule of the program."""

    def __init__(
        self, lowered: KernelProgram, name: str, documentation: Mapping[str, str]
    ) -> None:
        self.lowered = lowered
        self.name = name
        self.documentation = documentation
        parameters = [p.name for p in lowered.parameters]
        self.printer = HostPrinter(parameters, lowered.constant_names)
        self.failures = list(lowered.failures)
        self.texts = Texts()
        self.called: set[str] = set()
        """functions of the runtime that the host code calls"""

    def text(self, kernels: str) -> str:
        """Host functions, entry points, and the program that holds them and these
        kernels."""
        schedule = self.lowered.schedule
        functions = [self.printer.function(f) for f in self.lowered.functions]
        constants = ""
        if self.lowered.constants is not None:
            functions.append(self.printer.function(self.lowered.constants, False))
            constants = self.printer.names.text(self.lowered.constants.name)
        self.called = helpers_of("\n".join(functions))
        around = ["quiet()"] if uses_floats(self.called) else []
        if any(f.recursion is not None for f in self.lowered.functions):
            around.append("run.deep()")
        entries, wrappers = [], []
        for code in self.lowered.entries:
            wrapper, described = self.entry(code, around)
            wrappers.append(wrapper)
            entries.append(described)
        self.called |= helpers_of("\n".join([*wrappers, *entries]))
        parameters = "".join(_parameter(p) for p in self.lowered.parameters)
        lines = [
            f"program_{schedule} = rt.Program(",
            f"    name={self.name!r}, schedule={schedule!r}, prelude=PRELUDE,",
            f"    kernels=({kernels}\n    ),",
            f"    failures=({''.join(self.failure(f) for f in self.failures)}\n    ),",
            f"    parameters=({parameters}\n    ),",
            f"    entries=({''.join(entries)}\n    ),",
        ]
        lines.append('    options=("-w",),')
        if constants:
            lines.append(f"    constants={constants},")
        for name in ("places", "one_thread"):
            if found := tuple(getattr(self.lowered, name)):
                lines.append(f"    {name}={found!r},")
        texts = [
            f"TEXT_{schedule}_{name} = {_literal(text)}\n"
            for name, text in self.texts.functions.items()
        ]
        return (
            "\n\n".join([*texts, *functions, *wrappers, "\n".join([*lines, ")"])])
            + "\n"
        )

    def kernels(self) -> str:
        """All kernels; the printer of the host gets their numbers."""
        used = launch_parameters(self.lowered.functions)
        places: dict[str, dict[str, None]] = {}
        for function in filter(None, (*self.lowered.functions, self.lowered.constants)):
            for node in walk(function.body):
                if isinstance(node, kc.Launch) and node.location:
                    places.setdefault(node.kernel, {})[node.location] = None
        texts: list[str] = []
        for number, kernel in enumerate(self.lowered.kernels):
            self.printer.kernels[kernel.name] = number, kernel
            head, last = self.texts.of_kernel(kernel)
            shaped = used.get(kernel.name, frozenset())
            found = tuple(places.get(kernel.name, ()))
            texts.append(self.kernel(kernel, head, last, shaped, found))
        return "".join(texts)

    def kernel(
        self,
        kernel: kc.Kernel,
        head: str,
        last: str,
        shaped: frozenset[str],
        places: tuple[str, ...],
    ) -> str:
        types = _tuple([f'"{t}"' for t in parameter_types(kernel)])
        local = local_of(kernel)
        texts = f"TEXT_{self.lowered.schedule}_"
        names = [f"{texts}{function.name} + " for function in kernel.functions]
        head = f"{_literal(head)} + " if names and head else head
        text = (
            f"{head}{''.join(names)}{_literal(last)}"
            if names
            else _literal(head + last)
        )
        numbers = self.printer.parameters
        macros = [
            f'("{macro}", {numbers[constant.parameter.name]})'
            for macro, constant in macros_of(kernel)
        ]
        chosen = [
            f'"{macro}"' for macro, constant in macros_of(kernel) if constant.per_launch
        ]
        more = f", {_tuple(macros)}" if macros else ""
        more += f", {_tuple(chosen)}" if chosen else ""
        built = {constant.parameter.name for _, constant in macros_of(kernel)}
        given = sorted(numbers[name] for name in shaped - built)
        more += f", shaped={_tuple([str(number) for number in given])}" if given else ""
        if is_part(kernel):
            more += ", is_part=True"
            more += ", has_ranges=True" if has_ranges(kernel) else ""
        more += f", places={places!r}" if places else ""
        return f'\n        rt.Kernel("{kernel.name}", {types}, {text}, {local}{more}),'

    def failure(self, failure: kc.Failure) -> str:
        parts = _tuple(
            [
                repr(part) if isinstance(part, str) else f'rt.Hole("{part}")'
                for part in failure.message
            ]
        )
        places = _tuple([repr(place) for place in failure.backtrace])
        return f"\n        rt.Failure({parts}, {places}),"

    # --- entry points -----------------------------------------------------------------

    def entry(self, code: EntryCode, around: list[str]) -> tuple[str, str]:
        """The function that the runtime calls, and the description of the entry."""
        entry, function = code.entry, code.function
        names = self.printer.names
        sizes = [p.name for p in function.parameters[: entry.sizes]]
        given = [names.text(p.name) for p in function.parameters]
        wrapper = names.text(Name(f"entry_{entry.name}", -1 - function.name.tag))
        lines = [f"def {wrapper}({', '.join(['run', *given])}):"]
        if about := self.documentation.get(entry.name):
            lines.append(f"    {about!r}")
        lines += self.size_checks(entry, function.parameters, sizes)
        results = [names.text(p.name) for p in function.results]
        call = f"{names.text(function.name)}({', '.join(['run', *given])})"
        left = "".join(f"{r}, " for r in results)
        if around:
            lines.append(f"    with {', '.join(around)}:")
        indent = "        " if around else "    "
        lines.append(f"{indent}{left}= {call}" if left else f"{indent}{call}")
        hidden = len(results) - sum(t.leaves for t in entry.results)
        leaves = _tuple([self.leaf(p) for p in function.results[hidden:]])
        lines.append(f"    return {leaves}")
        parameters = iter(function.parameters[entry.sizes :])
        outs = iter(function.results[hidden:])
        known = {size: self.size_label(size, sizes) for size in sizes}
        takes = [self.value(t, parameters, known) for t in entry.parameters]
        known = entry.scalars(function.parameters) | known
        gives = [self.value(t, outs, known) for t in entry.results]
        described = (
            f"\n        rt.Entry({entry.name!r}, {wrapper}, "
            f"{_tuple([repr(self.size_label(s, sizes)) for s in sizes])},"
            f"\n            {_tuple(takes)},\n            {_tuple(gives)}),"
        )
        return "\n".join(lines) + "\n", described

    def leaf(self, result: Param) -> str:
        """A result as the runtime needs it: a scalar, or a block with its shape."""
        text = self.printer.names.text(result.name)
        if isinstance(result.type, ScalarType):
            return text
        shape = _tuple([self.printer.size(s) for s in shape_of(result.type)])
        return f"({text}, {shape})"

    def size_label(self, size: Name, sizes: list[Name]) -> str:
        """What messages call a size of an entry point: as written, if that is clear."""
        alone = sum(other.base == size.base for other in sizes) == 1
        return size.base if alone else self.printer.names.text(size)

    def size_checks(
        self, entry: Entry, parameters: tuple[Param, ...], sizes: list[Name]
    ) -> list[str]:
        """Sizes that the runtime cannot compare: the whole array must be as large."""
        lines = []
        for parameter in parameters[entry.sizes :]:
            shape = shape_of(parameter.type)
            if all(_dimension(size, sizes) for size in shape):
                continue
            total = Size.constant(element_of(parameter.type).bytes)
            for size in shape:
                total = total * size
            name = self.printer.names.text(parameter.name)
            wanted = "".join(f"[{size}]" for size in shape) + str(
                element_of(parameter.type)
            )
            failure = kc.Failure(
                (f"argument {name} does not have the type {wanted}",), ()
            )
            if failure not in self.failures:
                self.failures.append(failure)
            number = self.failures.index(failure) + 1
            lines.append(f"    if {name}.nbytes != {self.printer.size(total)}:")
            lines.append(f"        run.fail({number})")
        return lines

    def value(
        self, type_: EntryType, leaves: Iterator[Param], sizes: Mapping[Name, str]
    ) -> str:
        """A parameter or result of an entry point."""
        text, _ = self._value(type_, leaves, sizes)
        return text

    def _value(
        self, type_: EntryType, leaves: Iterator[Param], sizes: Mapping[Name, str]
    ) -> tuple[str, list[str]]:
        parts: list[str] = []
        texts: list[str] = []
        if type_.kind == "sum" or not type_.parts:
            own = [next(leaves) for _ in range(type_.leaves)]
            texts = [self._leaf(leaf, sizes) for leaf in own]
            for part in type_.parts:
                used = iter([own[slot] for slot in part.slots])
                parts.append(self.value(part, used, sizes))
        else:
            for part in type_.parts:
                inner, inner_leaves = self._value(part, leaves, sizes)
                parts.append(inner)
                texts += inner_leaves
        text = f"rt.Value({type_.name!r}, {type_.text!r}, {_tuple(texts)}"
        if type_.unique or type_.kind != "array":
            text += f", {type_.unique}, {type_.kind!r}"
        if parts or type_.slots:
            text += f", {_tuple(parts)}"
        if type_.slots:
            text += f", {type_.slots!r}"
        return text + ")", texts

    def _leaf(self, leaf: Param, sizes: Mapping[Name, str]) -> str:
        if isinstance(leaf.type, ScalarType):
            return f'rt.EntryLeaf("{leaf.type}")'
        dimensions = []
        for size in shape_of(leaf.type):
            name = size.as_name
            if size.as_constant is not None:
                dimensions.append(str(size.as_constant))
            elif name is not None and name in sizes:
                dimensions.append(repr(sizes[name]))
            else:
                dimensions.append("None")
        return f'rt.EntryLeaf("{element_of(leaf.type)}", {_tuple(dimensions)})'


def local_of(kernel: kc.Kernel) -> int | tuple[int, ...] | None:
    """The size of a kernel's groups as the runtime has it."""
    sizes = kernel.group_size
    if isinstance(sizes, Name):
        return None
    return sizes[0] if len(sizes) == 1 else sizes


def _tuple(texts: list[str]) -> str:
    """A tuple of expressions."""
    return f"({texts[0]},)" if len(texts) == 1 else f"({', '.join(texts)})"


def _dimension(size: Size, sizes: list[Name]) -> bool:
    """Whether the runtime checks the dimension by itself."""
    return size.as_constant is not None or size.as_name in sizes


def _parameter(parameter: Parameter) -> str:
    text = f"{parameter.name!r}, {parameter.kind!r}, {dict(parameter.defaults)!r}"
    text += f", {parameter.bounds!r}, {parameter.guards!r}"
    return f"\n        rt.Parameter({text}),"
