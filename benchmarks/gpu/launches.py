"""Run cases on Oclgrind, posing as a large GPU; keep kernel texts and transactions.

    python -m benchmarks.gpu.launches FOLDER CASE.. [--wide]
                        (a process: see `run_cases`)
  → FOLDER/CASE.json    a list of launches: kernel, text, options, sizes, local memory,
                        accesses of the warps by the line of the text

Oclgrind is a library of the OpenCL driver loader, so it is chosen by the environment of
the process; the plugin appends one JSON object for each launch to a file.
"""

from __future__ import annotations

import dataclasses
import json
import math
import os
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from benchmarks.gpu.cases import Case

LOCAL_MEMORY, GROUP_SIZE, SUBGROUP = 49152, 1024, 32
"""of the GPU that Oclgrind poses as"""
SHUFFLE = re.compile(r"\bSHUFFLE_(32|64)\(")
COUNTED_GROUPS = 4
"""of a launch, the first of them"""


@dataclasses.dataclass(frozen=True, slots=True)
class Launch:
    """A kernel as it was launched. `local_bytes` are those passed as arguments."""

    kernel: str
    text: str
    options: tuple[str, ...]
    group: int
    groups: int
    local_bytes: int
    accesses: tuple[dict[str, Any], ...]


def read_launches(path: Path) -> list[Launch]:
    """The launches of a case, one for each different kernel text."""
    launches: dict[tuple[str, ...], Launch] = {}
    for each in json.loads(path.read_text()):
        each["options"] = tuple(each["options"])
        each["accesses"] = tuple(_with_shuffles(each["accesses"], each["text"]))
        each["kernel"] = each["kernel"].removesuffix("_narrow")
        launch = Launch(**each)
        launches.setdefault((launch.text, *launch.options), launch)
    return list(launches.values())


def _with_shuffles(
    accesses: Sequence[dict[str, Any]], text: str
) -> Iterator[dict[str, Any]]:
    """The accesses of a kernel with shuffles instead of the local memory that stands
    for them: a wavefront for each word of 32 bits."""
    lines = text.splitlines()
    for each in accesses:
        found = SHUFFLE.search(lines[each["line"] - 1]) if each["line"] else None
        if found is None:
            yield each
        elif each["kind"] == "load":
            count = each["requests"] * int(found[1]) // 32
            cost = dict.fromkeys(("requests", "wavefronts", "least"), count)
            yield {**each, **cost, "space": "shuffle"}


def environment(folder: Path, plugin: Path, driver: Path) -> dict[str, str]:
    """The environment of a process whose only OpenCL device is Oclgrind."""
    vendors = folder / "vendors"
    vendors.mkdir(parents=True, exist_ok=True)
    (vendors / "oclgrind.icd").write_text(f"{driver}\n")
    return {
        **os.environ,
        "OCL_ICD_VENDORS": str(vendors),
        "MINIFUT_DEVICE": "Oclgrind",
        "OCLGRIND_PLUGINS": str(plugin),
        "OCLGRIND_NUM_THREADS": "1",
        "OCLGRIND_LOCAL_MEM_SIZE": str(LOCAL_MEMORY),
        "TRANSACTIONS_GROUPS": str(COUNTED_GROUPS),
        "TRANSACTIONS": str(folder / "transactions.jsonl"),
    }


def run_cases(folder: Path, names: Sequence[str], wide: bool = False) -> None:
    """Run the cases in this process, whose environment is the one above; `wide`: with
    indices of 64 bits."""
    import numpy as np

    from benchmarks.gpu.cases import CASES
    from minifut.kernel_passes.narrow import NARROW
    from minifut.opencl.runtime import kernels
    from minifut.opencl.runtime.sessions import open_session

    log: list[dict[str, Any]] = []
    logged = _logged(kernels.Launcher.kernel_of, log)
    kernels.Launcher.kernel_of = logged  # type: ignore[method-assign]
    session = open_session("Oclgrind")
    transactions = Path(os.environ["TRANSACTIONS"])
    for case in CASES:
        if case.name not in names:
            continue
        session.device = dataclasses.replace(
            session.device,
            cores=case.cores,
            local_memory=LOCAL_MEMORY,
            group_size=GROUP_SIZE,
            subgroup=SUBGROUP,
        )
        namespace: dict[str, Any] = {}
        exec(compile(_module(case), f"{case.name}.py", "exec"), namespace)
        program = namespace["program"]
        parameters = {**case.parameters, **({NARROW.name: 0} if wide else {})}
        instance = program.load(session=session, parameters=parameters)
        session.wait()
        log.clear()
        transactions.unlink(missing_ok=True)
        instance.entry(case.entry)(*case.arguments(np.random.default_rng(1)))
        session.wait()
        traced = [json.loads(line) for line in transactions.read_text().splitlines()]
        assert [each["kernel"] for each in traced] == [each["kernel"] for each in log]
        for each, trace in zip(log, traced, strict=True):
            each["accesses"] = trace["accesses"]
        (folder / f"{case.name}.json").write_text(json.dumps(log))


def _module(case: Case) -> str:
    from minifut import stages
    from minifut.errors import Source

    checked = stages.check(Source(f"{case.name}.fut", case.program))
    core = stages.to_kernels(stages.to_core(checked))
    return stages.to_host_module(core, "gpu", case.name)


def _logged(kernel_of: Callable[..., Any], log: list[dict[str, Any]]) -> Any:
    """`Launcher.kernel_of` that records every launch in `log`."""

    def kernel_logged(launcher: Any, program: Any) -> Any:
        commands = kernel_of(launcher, program)
        enqueue = commands.enqueue
        text, options = launcher.section().alone()
        macros = [option for option in options.split() if option.startswith("-D")]

        def call(queue: Any, sizes: Any, local: Any, *arguments: Any) -> Any:
            typed = zip(arguments, launcher.kernel.types, strict=True)
            launch = {
                "kernel": launcher.kernel.name,
                "text": text,
                "options": macros,
                "group": math.prod(local),
                "groups": math.prod(sizes) // math.prod(local),
                "local_bytes": sum(a.size for a, type_ in typed if type_ == "local"),
            }
            log.append(launch)
            return enqueue(queue, sizes, local, *arguments)

        commands.enqueue = call
        return commands

    return kernel_logged


if __name__ == "__main__":
    run_cases(Path(sys.argv[1]), sys.argv[2:], "--wide" in sys.argv)
