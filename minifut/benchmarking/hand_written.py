"""A hand-written kernel in the place of an entry point: the same buffers, judged by the
same results, timed in the same way.

    call = loaded.timed(data)
    call()                                  # finds how large the results are
    other = hand_written(read_kernel_file(path), call)
    seconds = other()

What the file says is checked against the entry point and against what the driver
reports of the kernel, so that mistakes are named before anything runs. What a kernel
does with memory is not checked: one that writes beyond its buffers can end the process.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from minifut.benchmarking.kernel_file import (
    Argument,
    BufferName,
    KernelFile,
    KernelFileError,
    LaunchBlock,
    LocalMemory,
)
from minifut.errors import UsageError
from minifut.ir.sizes import Size
from minifut.opencl.runtime.describe import DTYPES, Entry, EntryLeaf, Value
from minifut.opencl.runtime.queue import Session
from minifut.opencl.runtime.run import Run
from minifut.opencl.runtime.timed import TimedCall
from minifut.suggestions import nearest_or_all

NUMBERS = {
    **{
        f"{sign}{name}": np.dtype(f"{sign or 'i'}{nbytes}")
        for name, nbytes in (("char", 1), ("short", 2), ("int", 4), ("long", 8))
        for sign in ("", "u")
    },
    "float": np.dtype(np.float32),
    "double": np.dtype(np.float64),
}
"""NumPy's types for those of OpenCL's numbers"""


def hand_written(file: KernelFile, call: TimedCall) -> TimedCall:
    """The call with the file's kernels instead of the program's; the program must have
    run. Raises `KernelFileError` if they do not fit."""
    places = _Places(file, call.entry)
    kernels = []
    for launch in file.launches:
        for argument in launch.arguments:
            places.check(launch, argument)
        for size in (*launch.global_size, *launch.local_size):
            places.check(launch, size)
        kernel = _kernel(file, launch, call.session)
        _check_kernel(file, launch, kernel, places, call.session)
        kernels.append(kernel)
    shapes = call.shapes

    def function(run: Run, *leaves: Any) -> tuple[Any, ...]:
        return _Launching(places, run, leaves, shapes).run_all(kernels)

    return call.of(function)


class _Places:
    """What names in the file stand for: positions of leaves of the entry point."""

    def __init__(self, file: KernelFile, entry: Entry) -> None:
        self.file = file
        self.entry = entry
        self.sizes = {name: at for at, name in enumerate(entry.sizes)}
        several = len(entry.results) > 1
        self.leaves = {
            name: (len(self.sizes) + at, leaf)
            for at, (name, leaf) in enumerate(_named(entry.parameters))
        }
        results = [
            (f"result.{i}" if several else "result", value)
            for i, value in enumerate(entry.results)
        ]
        self.result_leaves = [
            found for name, value in results for found in _leaves_of(value, name)
        ]
        self.results = {name: at for at, (name, _) in enumerate(self.result_leaves)}
        self.memory = {name: at for at, (name, _) in enumerate(file.memory)}
        for _, size in file.memory:
            self.check(file.launches[0], size)

    def is_array(self, name: str) -> bool:
        """Whether it is passed as a buffer."""
        if name in self.leaves:
            return self.leaves[name][1].shape is not None
        return name in self.results or name in self.memory

    def check(self, launch: LaunchBlock, argument: Argument) -> None:
        """An error for what the entry point does not have."""
        match argument:
            case LocalMemory(size):
                self.check(launch, size)
            case BufferName(name):
                if not self.is_array(name) and name not in self.leaves:
                    self._check_size(launch, name)
            case Size():
                for each in argument.names():
                    self._check_size(launch, str(each))

    def _check_size(self, launch: LaunchBlock, name: str) -> None:
        if name in self.sizes:
            return
        if name in self.leaves and not self.is_array(name):
            if DTYPES[self.leaves[name][1].type].kind in "iu":
                return
            raise self.file.error(launch, f"'{name}' is no whole number")
        known = [*self.sizes, *self.leaves, *self.results, *self.memory]
        advice = nearest_or_all(name, known)
        problem = f"the entry point {self.file.entry} has no '{name}'; {advice}"
        raise self.file.error(launch, problem)


def _named(values: Sequence[Value]) -> Iterator[tuple[str, EntryLeaf]]:
    return (found for value in values for found in _leaves_of(value, value.name))


def _leaves_of(value: Value, path: str) -> Iterator[tuple[str, EntryLeaf]]:
    """The leaves with their names; those of opaque values have none that count."""
    if value.kind in ("tuple", "record"):
        for part in value.parts:
            yield from _leaves_of(part, f"{path}.{part.name}")
    elif value.kind == "opaque":
        yield from ((f"({path}).{i}", leaf) for i, leaf in enumerate(value.leaves))
    else:
        yield path, value.leaves[0]


@dataclass(slots=True)
class _Launching:
    """One run."""

    places: _Places
    run: Run
    leaves: tuple[Any, ...]
    shapes: tuple[tuple[int, ...], ...]

    def run_all(self, kernels: Sequence[Any]) -> tuple[Any, ...]:
        """Launch them; the results as the entry point gives them."""
        places, run = self.places, self.run
        results = [
            run.allocate(DTYPES[leaf.type].itemsize * int(np.prod(shape, dtype=int)))
            for (_, leaf), shape in zip(places.result_leaves, self.shapes, strict=True)
        ]
        memory = [run.allocate(self.number(size)) for _, size in places.file.memory]
        blocks = {
            **{name: self.leaves[at] for name, (at, _) in places.leaves.items()},
            **{name: results[at] for name, at in places.results.items()},
            **{name: memory[at] for name, at in places.memory.items()},
        }
        for launch, kernel in zip(places.file.launches, kernels, strict=True):
            self.launch(launch, kernel, blocks)
        return tuple(
            run.read(block, 0, leaf.type) if leaf.shape is None else (block, shape)
            for block, (_, leaf), shape in zip(
                results, places.result_leaves, self.shapes, strict=True
            )
        )

    def launch(
        self, launch: LaunchBlock, kernel: Any, blocks: Mapping[str, Any]
    ) -> None:
        """Enqueue one kernel."""
        session = self.run.session
        extent = tuple(map(self.number, launch.global_size))
        group = tuple(map(self.number, launch.local_size))
        arguments = [self.value(each, blocks) for each in launch.arguments]
        if min(extent) <= 0:
            return
        self.check_local(launch)
        try:
            session.last_event = kernel(session.queue, extent, group, *arguments)
        except session.cl.Error as error:
            path = self.places.file.path
            raise UsageError(
                f"{path}: {launch.kernel} over {extent} work-items in groups of "
                f"{group}: {error}"
            ) from None

    def check_local(self, launch: LaunchBlock) -> None:
        """An error for more local memory than there is: drivers may end the process."""
        sizes = [a.nbytes for a in launch.arguments if isinstance(a, LocalMemory)]
        needed, there = sum(map(self.number, sizes)), self.run.device.local_memory
        if needed > there:
            problem = f"{launch.kernel} needs {needed} bytes of local memory"
            raise self.places.file.error(launch, f"{problem}; the device has {there}")

    def value(self, argument: Argument, blocks: Mapping[str, Any]) -> Any:
        match argument:
            case LocalMemory(nbytes):
                return self.run.local(self.number(nbytes))
            case BufferName(name):
                if self.places.is_array(name):
                    return blocks[name].buffer
                if name in self.places.leaves:
                    return self.leaves[self.places.leaves[name][0]]
                return self.leaves[self.places.sizes[name]]
            case Size():
                return self.number(argument)

    def number(self, size: Size) -> int:
        """A size on this data."""
        sizes, leaves = self.places.sizes, self.places.leaves
        return size.evaluate(
            {
                name: int(
                    self.leaves[sizes[text] if text in sizes else leaves[text][0]]
                )
                for name in size.names()
                for text in (str(name),)
            }
        )


def _kernel(file: KernelFile, launch: LaunchBlock, session: Session) -> Any:
    """The kernel of the launch, built."""
    cl = session.cl
    options = f"-w -cl-kernel-arg-info {file.options}"
    try:
        program = cl.Program(session.context, file.text)
        program.build(options, cache_dir=False)  # a killed process leaves a lock there
    except cl.Error as error:
        problem = f"{session.device} does not compile it:\n{error}"
        raise KernelFileError(f"{file.path}: {problem}") from None
    names = [each.function_name for each in program.all_kernels()]
    if launch.kernel not in names:
        there = f"the file has {', '.join(names) or 'none'}"
        raise file.error(launch, f"there is no kernel '{launch.kernel}'; {there}")
    return cl.Kernel(program, launch.kernel)


def _check_kernel(
    file: KernelFile,
    launch: LaunchBlock,
    kernel: Any,
    places: _Places,
    session: Session,
) -> None:
    """Whether the arguments are what the kernel takes; sets types of numbers."""
    arguments = launch.arguments
    if len(arguments) != kernel.num_args:
        raise file.error(
            launch,
            f"{launch.kernel} takes {kernel.num_args} arguments, {len(arguments)} are "
            "given",
        )
    info = session.cl.kernel_arg_info
    spaces = session.cl.kernel_arg_address_qualifier
    types: list[Any] = []
    for number, argument in enumerate(arguments):
        qualifier = kernel.get_arg_info(number, info.ADDRESS_QUALIFIER)
        type_ = kernel.get_arg_info(number, info.TYPE_NAME)
        name = kernel.get_arg_info(number, info.NAME)
        wanted = {spaces.LOCAL: "local memory", spaces.PRIVATE: "a number"}.get(
            qualifier, "an array"
        )
        given, shown = _described(argument, places)
        if given != wanted or (wanted == "a number" and type_ not in NUMBERS):
            wanted = wanted if given != wanted else f"of type {type_}"
            raise file.error(
                launch,
                f"parameter {number + 1} of {launch.kernel}, {name}, is {wanted}; it "
                f"is given {shown}, {given}",
            )
        types.append(NUMBERS[type_] if wanted == "a number" else None)
    kernel.set_scalar_arg_dtypes(types)


def _described(argument: Argument, places: _Places) -> tuple[str, str]:
    """What kind of thing it is, and its text."""
    match argument:
        case LocalMemory(size):
            return "local memory", f"local({size})"
        case BufferName(name):
            return ("an array" if places.is_array(name) else "a number"), name
        case Size():
            return "a number", str(argument)
