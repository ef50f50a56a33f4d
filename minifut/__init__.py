"""minifut compiles the array language Futhark to OpenCL.

    import minifut
    prog = minifut.compile("matmul.fut")
    c = prog.main(a, b)                 # NumPy arrays in, NumPy arrays out

The packages, in the order in which a program passes through them:

`frontend`     `parser` turns text into `syntax`; `check` finds every type, size and
               consumption; `elaborate` evaluates modules, polymorphism, higher-order
               functions, records and sums away.
`ir`           the core: flat statements on atoms, arrays with sizes, one interpreter,
               printer, parser and verifier. Its two dialects are `soacs` (maps,
               reductions, scans) and `kernels` (the same over segmented index spaces).
`rewrite`      rules: small named rewrites, and the strategies that apply them.
`passes`       the pipeline is a list: simplify, fuse, flatten, ... each pass a function
               from program to program, verified after it ran.
`kernel_ir`    what kernels do in detail: loops, loads, barriers, launches; its nodes,
               printer, reader and verifier.
`kernel_passes` passes over kernels: vectorisation, prefetch, deduplication.
`lowering`     from the core to kernels, in two schedules, for CPUs and for GPUs.
`opencl`       prints OpenCL C and the host program; its `runtime` is all that a
               generated module needs: device, queue, memory pool, located failures.
`gradients`    derivatives of entry points: compiled when first requested, and kept.
`values`       Futhark's values on NumPy: text, binary, .npy, random ones, comparison.
`testing`      reads the test blocks of programs, runs them and judges the results.
`cli`          the `minifut` command, a file for each subcommand.

`compiler.py` ties the stages together, `program.py` is what users call, `errors.py`
says what can go wrong: `CompileError`, `ProgramError`, `UsageError`, `InternalError`.
"""

from __future__ import annotations

from os import PathLike

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from minifut.errors import (
        ArgumentError,
        CompileError,
        InternalError,
        MinifutError,
        ProgramError,
        UsageError,
    )
    from minifut.program import EntryPoint, Program
    from minifut.signature import Parameter
    from minifut.tuning.calls import autotune
    from minifut.values.structured import StructArray, Variant
    from minifut.version import __version__

__all__ = [
    "ArgumentError",
    "CompileError",
    "EntryPoint",
    "InternalError",
    "MinifutError",
    "Parameter",
    "Program",
    "ProgramError",
    "StructArray",
    "UsageError",
    "Variant",
    "__version__",
    "autotune",
    "compile",
]


def compile(
    path_or_source: str | PathLike[str],
    *,
    schedule: str | None = None,
    device: str | None = None,
    params: Mapping[str, int] | None = None,
    backend: str = "opencl",
    max_memory: int | None = None,
) -> Program:
    """Compile a program and load it on a device.

    `path_or_source` is a path, or the text of a program: a string that ends in `.fut`
    and has no line break is a path. `schedule` is "cpu" or "gpu" (None: what fits the
    device), `device` as for `minifut run --device`, `params` sets tuning parameters,
    `backend` is "opencl" or "interpreter", `max_memory` the most bytes of device memory
    to use.

    The same source, options and device are compiled once: what was generated is kept
    in memory and on disk (`minifut.host_modules`). Each call gives a program of its
    own, with its own tuning.

    Raises `CompileError` if the program is wrong, `UsageError` if a file, a device or a
    name is; both are `ValueError`s as well.
    """
    from minifut.collector import collecting_rarely
    from minifut.errors import CompileError, UsageError

    given = path_or_source, schedule, device, params, backend, max_memory
    try:
        with collecting_rarely():  # from the first import on
            return _compiled(*given)
    except (CompileError, UsageError) as error:
        # where in the compiler it was found does not help its user
        raise error.with_traceback(None) from None


def _compiled(
    path_or_source: object,
    schedule: str | None,
    device: str | None,
    params: object,
    backend: str,
    max_memory: int | None,
) -> Program:
    import re
    from collections.abc import Mapping
    from os.path import exists
    from pathlib import Path

    from minifut import compiler, stages
    from minifut.errors import Source, UsageError

    if not isinstance(params, Mapping | None):
        raise UsageError(f"params is a dict of numbers by parameters, got {params!r}")
    if not isinstance(device, str | None):
        how = "words of its description, or '#0' as minifut devices numbers it"
        raise UsageError(f"device is a text: {how}; got {device!r}")
    options = stages.Options(
        backend, schedule, device, dict(params or {}), max_memory=max_memory
    )
    if not isinstance(path_or_source, str | PathLike):
        kind = type(path_or_source).__name__
        raise UsageError(f"a path or the text of a program is expected, got {kind}")
    is_text = isinstance(path_or_source, str) and (
        "\n" in path_or_source or not path_or_source.endswith(".fut")
    )
    if is_text and exists(path_or_source):
        raise UsageError(f"{path_or_source}: the path of a program ends in .fut")
    if is_text and re.fullmatch(r"\w[\w./\\~-]*", str(path_or_source)):
        message = "neither the path of a program, which ends in .fut, nor its text"
        raise UsageError(f"{path_or_source}: {message}")
    if is_text:
        source = Source("<text>", str(path_or_source))
    else:
        source = stages.read_source(Path(path_or_source))
    return compiler.compile_program(source, options)


def load_ipython_extension(shell: object) -> None:
    """What `%load_ext minifut` runs; see `minifut.notebook`."""
    from minifut import notebook

    notebook.load(shell)


_HOME = {
    **dict.fromkeys(("EntryPoint", "Program"), "program"),
    "Parameter": "signature",
    "autotune": "tuning.calls",
    **dict.fromkeys(("StructArray", "Variant"), "values.structured"),
    "__version__": "version",
    **{name: "errors" for name in __all__ if name.endswith("Error")},
}
"""the modules of names that are imported when they are used: a command loads this
package before it can answer interrupts"""


def __dir__() -> list[str]:
    return [*__all__, "jax", "load_ipython_extension", "torch"]


def __getattr__(name: str) -> object:
    from importlib import import_module

    if name in ("torch", "jax"):
        return import_module(f"minifut.{name}")
    if name in _HOME:
        return getattr(import_module(f"minifut.{_HOME[name]}"), name)
    raise AttributeError(f"module 'minifut' has no attribute '{name}'")
