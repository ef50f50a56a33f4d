"""Calls with plain arguments, as generated Python.

To convert arguments by their description takes longer than a small kernel. Where each
parameter and each result of an entry point is a scalar or an array of scalars, a call
without anything to convert, explain or copy is generated, for one parameter `[n]f32`
and one result:

    def direct(argument_0=MISSING, /, *more, device=False):
        block_0 = None
        if argument_0.__class__ is ndarray:
            array_0 = argument_0
            if not (array_0.dtype is f32_ and ...):
                return general((argument_0,), more, device)
        elif argument_0.__class__ is device_arrays.kind:  # an array of the device
            array_0 = argument_0.minifut_view
            ...
        size_0, = array_0.shape
        key = (size_0,)
        with lock:
            ...
            if key in ready and block_0 is None:
                results = ready[key](array_0)           # recorded.py, lent.py
            if results is None:
                leaf_0 = block_0 or Block(Buffer(...), ...)
                found_0, = function(run, size_0, leaf_0)
                ...

What is not plain has no effect, and is left to the general call (program.py), which
converts it or says what is wrong with it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache
from types import CodeType
from typing import TYPE_CHECKING, Any

import numpy as np

from minifut.opencl.runtime import arrays
from minifut.opencl.runtime.describe import DTYPES, Entry, EntryLeaf, Value, leaves_of
from minifut.opencl.runtime.entry import wrapped
from minifut.opencl.runtime.pool import Block
from minifut.opencl.runtime.recorded import Recordings

if TYPE_CHECKING:
    from minifut.opencl.runtime.queue import Session
    from minifut.opencl.runtime.run import Run

General = Callable[[tuple[Any, ...], bool], Any]
"""a call with arguments of any kind; whether results stay on the device"""

MISSING: Any = object()
"""in place of an argument that is not given"""


def direct_call(
    run: Run, session: Session, entry: Entry, general: General
) -> Callable[..., Any] | None:
    """The call of an entry point, with plain arguments or those that `general` takes.
    None if it has other parameters or results, or the device a memory of its own."""
    text = direct_text(entry) if session.shares_memory else None
    if text is None:
        return None
    cl, device = session.cl, session.device

    def otherwise(given: tuple[Any, ...], more: tuple[Any, ...], device: bool) -> Any:
        return general((*(a for a in given if a is not MISSING), *more), device)

    recordings = Recordings(session, run, entry)
    run.recordings.append(recordings)
    names: dict[str, Any] = {
        "Block": Block,
        "Buffer": cl.Buffer,
        "MISSING": MISSING,
        "block_of": arrays.block_in_place,
        "context": session.context,
        "device_arrays": session.device_arrays,
        "device_result": arrays.device_result,
        "first": session.first_launches,
        "flags": cl.mem_flags.READ_ONLY | cl.mem_flags.USE_HOST_PTR,
        "function": entry.function,
        "general": otherwise,
        "host_result": arrays.shared_result,
        "lock": session.lock,
        "most": min(device.largest_buffer, device.largest_array),
        "name": entry.name,
        "number": session.number,
        "ndarray": np.ndarray,
        "pool": session.pool,
        "on_device": recordings.on_device,
        "ready": recordings.ready,
        "recordings": recordings,
        "run": run,
        "scalar_of": wrapped,
        "session": session,
    }
    leaves = leaves_of((*entry.parameters, *entry.results))
    names |= {f"{leaf.type}_": DTYPES[leaf.type] for leaf in leaves}
    exec(_code_of(text, entry.name), names)
    found: Callable[..., Any] = names["direct"]
    return found


@lru_cache(maxsize=256)
def _code_of(text: str, name: str) -> CodeType:
    """The same for a program that is loaded again."""
    return compile(text, f"<call of {name}>", "exec")


def direct_text(entry: Entry) -> str | None:
    """The Python text of the direct call, None where there is none."""
    parameters = _plain(entry.parameters)
    results = _plain(entry.results)
    if parameters is None or results is None or any(v.unique for v in entry.parameters):
        return None
    sizes = {name: f"size_{number}" for number, name in enumerate(entry.sizes)}
    names = [f"argument_{number}" for number in range(len(parameters))]
    arguments = f"({''.join(f'{name}, ' for name in names)})"
    leave = f"return general({arguments}, more, device)"
    checks = [*_unless("device is False or device is True", leave)]
    known: set[str] = set()
    arrays = [
        number for number, leaf in enumerate(parameters) if leaf.shape is not None
    ]
    for number, leaf in enumerate(parameters):
        if leaf.shape is None:
            checks += _unless(_is_plain_scalar(names[number], leaf.type), leave)
        else:
            checks += _array_checks(number, leaf, sizes, known, leave)
    if known != set(sizes):
        return None
    here = "".join(f" and block_{number} is None" for number in arrays)
    made = [f"leaf_{number}" for number in range(len(parameters))]
    given = ", ".join(["run", *sizes.values(), *made])
    found = [f"found_{number}" for number in range(len(results))]
    out = ", ".join(
        f"scalar_of({name}, {leaf.type}_)"
        if leaf.shape is None
        else f"result_of(session, *{name}, {leaf.type}_)"
        for name, leaf in zip(found, results, strict=True)
    )
    replayed = ", ".join(f"array_{number}" for number in arrays)
    several = len(results) != 1
    missing = "".join(f"{name}=MISSING, " for name in names)
    lines = [
        f"def direct({missing}{'/, ' if names else ''}*more, device=False):",
        "    if more:",
        f"        {leave}",
        *(f"    {line}" for line in checks),
        f"    key = ({_key(parameters, sizes)})",
        "    with lock:",
        "        if session.is_dirty or number[0]:",
        "            session.recover()",
        "        session.running, session.since_wait.caller_work = name, 0",
        f"        {''.join(f'{name} = ' for name in made)}results = None",
        "        try:",
        f"            if key in ready{here}:",
        f"                results = (on_device if device else ready)[key]({replayed})",
        "            if results is None:",
        *(
            f"                {made[number]} = {_leaf_of(number, leaf)}"
            for number, leaf in enumerate(parameters)
        ),
        f"                {''.join(f'{name}, ' for name in found)}"
        f"{'= ' if found else ''}function({given})",
        "                result_of = device_result if device else host_result",
        f"                results = ({out}{',' if out else ''})",
        "                if session.last_event is not None or first.waiting "
        "or number[0]:",
        "                    run.check()",
        f"                if key == recordings.latest{here}:",
        f"                    recordings.again(key, ({given},))",
        "                else:",
        "                    recordings.start(key)",
        "        except BaseException as error:",
        f"            leaves = [{', '.join(made)}]",
        "            raise session.failure_of("
        f"error, {arguments}, leaves, results) from None",
        "        finally:",
        "            if session.builds.count:",
        "                session.builds.end()",
        f"    return results{'' if several else '[0]'}",
    ]
    return "\n".join(lines)


def _plain(values: tuple[Value, ...]) -> list[EntryLeaf] | None:
    """The leaves of scalars and arrays of scalars, None if there is another value."""
    if any(value.kind != "array" or value.count != 1 for value in values):
        return None
    return list(leaves_of(values))


def _is_plain_scalar(name: str, type_: str) -> str:
    """The test for a number that a run takes as it is, or of Python's `float` without
    overflow."""
    dtype = DTYPES[type_]
    if dtype.kind in "iu":
        low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
        return f"{name}.__class__ is int and {low} <= {name} <= {high}"
    if dtype.kind == "f":
        most = float(np.finfo(dtype).max)
        python = f"{name}.__class__ is float and {-most!r} <= {name} <= {most!r}"
        return f"{name}.__class__ is {type_}_.type or {python}"
    return f"{name}.__class__ is bool"


def _key(parameters: list[EntryLeaf], sizes: dict[str, str]) -> str:
    """What calls have in common that do the same, up to the contents of arrays. The two
    zeros are equal in Python."""
    parts = list(sizes.values())
    for number, leaf in enumerate(parameters):
        name = f"argument_{number}"
        if leaf.shape is None:
            is_float = DTYPES[leaf.type].kind == "f"
            parts.append(f"{name} or repr({name})" if is_float else name)
        else:
            free = [place for place, size in enumerate(leaf.shape) if size is None]
            parts += [f"{name}_{place}" for place in free]
    return "".join(f"{part}, " for part in parts)


def _leaf_of(number: int, leaf: EntryLeaf) -> str:
    """What the host function gets for an argument that passed its test."""
    name = f"argument_{number}"
    if leaf.shape is not None:
        array = f"array_{number}"
        own = f"{name}.__class__ is not ndarray and {name}.minifut_block"
        buffer = f"{name}.minifut_block.buffer if {own} else "
        buffer += f"Buffer(context, flags, 0, {array})"
        return f"block_{number} or Block({buffer}, {array}.nbytes, {array})"
    return f"{leaf.type}_.type({name})" if DTYPES[leaf.type].kind == "f" else name


def _array_checks(
    number: int, leaf: EntryLeaf, sizes: dict[str, str], known: set[str], leave: str
) -> Iterator[str]:
    """Statements that leave unless it is an array in place of that type and shape;
    sizes that it is the first to have are defined."""
    assert leaf.shape is not None
    name, block, rank = f"argument_{number}", f"block_{number}", len(leaf.shape)
    array = f"array_{number}"
    of_type = f"{array}.dtype is {leaf.type}_ and {array}.ndim == {rank}"
    yield f"{block} = None"
    yield f"if {name}.__class__ is ndarray:"
    yield f"    {array} = {name}"
    yield (
        f"    if not ({of_type} and {array}.flags.carray "
        f"and 0 < {array}.nbytes <= most):"
    )
    yield f"        {leave}"
    yield f"elif {name}.__class__ is device_arrays.kind:"
    yield f"    {array} = {name}.minifut_view"
    yield f"    if {array} is None:"
    yield f"        {array} = {name}"
    yield f"        {block} = block_of({name}, pool, {leaf.type}_, {rank})"
    yield f"        if {block} is None:"
    yield f"            {leave}"
    yield f"    elif not ({of_type}):"
    yield f"        {leave}"
    yield "else:"
    yield f"    {leave}"
    tests = []
    parts = []
    for place, wanted in enumerate(leaf.shape):
        own = f"{name}_{place}"
        if isinstance(wanted, str) and wanted not in known:
            known.add(wanted)
            own = sizes[wanted]
        elif isinstance(wanted, str):
            tests.append(f"{own} == {sizes[wanted]}")
        elif wanted is not None:
            tests.append(f"{own} == {wanted}")
        parts.append(own)
    yield f"{''.join(f'{part}, ' for part in parts)} = {array}.shape"
    if tests:
        yield from _unless(" and ".join(tests), leave)


def _unless(test: str, leave: str) -> Iterator[str]:
    yield f"if not ({test}):"
    yield f"    {leave}"
