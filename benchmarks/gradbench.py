"""GradBench's Futhark programs, compiled unmodified by minifut and judged by its evals.

    python benchmarks/gradbench.py CHECKOUT [EVAL ...] [--lib LIB]

`CHECKOUT` is a checkout of github.com/gradbench/gradbench. An eval is a process that
sends inputs as lines of JSON, reads the outputs and judges them by an implementation
whose derivatives were written by hand (`tools/manual`, built here by make; it needs
json.hpp on CPLUS_INCLUDE_PATH). The tool that answers is this file: it runs the
functions of `tools/futhark/*.py` on a stand-in for Futhark's server. Inputs are smaller
than GradBench's own, for two cores. `LIB` is the folder of Futhark packages that
`futhark pkg sync` makes (default: tools/futhark/lib). The eval lstm reads a text from
evals/lstm/data/lstm_full.txt, which ADBench has; any text will do. Python needs
pydantic, dataclasses-json and scipy. Exits with 1 if an output was not valid.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

import minifut

SMALL = {
    "hello": "",
    "ba": "--min 1 --max 1",
    "det": "-l 5 6",
    "gmm": "-d 2 10 -k 5 -n 1000",
    "ht": "--min 1 --max 1 --model small",
    "kmeans": "-k 10 -n 1000 -d 8",
    "llsq": "-n 16 64 -m 16",
    "lse": "-n 1000",
    "lstm": "-l 2 -c 64",
    "ode": "-n 100 -s 1 10",
    "particle": "",
    "saddle": "",
}
"""the evals, with options that make their inputs small"""
QUICK = "--min-runs 1 --min-seconds 0"


class Server:
    """What `tools/futhark` uses of Futhark's server: values by name, and calls."""

    def __init__(self, program: minifut.Program) -> None:
        self.program = program
        self.values: dict[str, Any] = {}

    def put_value(self, name: str, value: Any) -> None:
        self.values[name] = value[()] if isinstance(value, np.ndarray) else value

    def get_value(self, name: str) -> Any:
        return self.values[name]

    def cmd_free(self, name: str) -> None:
        del self.values[name]

    def cmd_call(self, entry: str, *names: str) -> list[str]:
        """Call an entry point: names of results, then of arguments."""
        called = self.program.entry(entry)
        count = len(called.results)
        arguments = [self.values[name] for name in names[count:]]
        started = time.perf_counter()
        results = called.call(arguments)
        seconds = time.perf_counter() - started
        self.values |= dict(zip(names[:count], results, strict=True))
        return [f"runtime: {round(seconds * 1e6)}"]


class Tool:
    """Answers the messages of an eval."""

    def __init__(self, programs: Path, schedule: str | None) -> None:
        self.programs, self.schedule = programs, schedule
        self.program: minifut.Program | None = None
        self.verdicts: list[tuple[str, bool]] = []
        self.descriptions: dict[int, str] = {}

    def answer(self, message: dict[str, Any]) -> dict[str, Any]:
        match message["kind"]:
            case "start":
                return {"tool": "minifut"}
            case "define":
                return self.guarded(lambda: self.define(message["module"]))
            case "evaluate":
                about = f"{message['function']} {message.get('description', '')}"
                self.descriptions[message["id"]] = about
                return self.guarded(lambda: self.evaluate(message), about)
            case "analysis":
                self.judge(self.descriptions[message["of"]], message)
        return {}

    def guarded(self, run: Any, about: str = "compile") -> dict[str, Any]:
        try:
            return {"success": True, **run()}
        except (minifut.MinifutError, MemoryError) as error:
            self.judge(about, {"valid": False, "error": str(error)})
            return {"success": False, "error": str(error)}

    def judge(self, about: str, analysis: dict[str, Any]) -> None:
        valid = analysis["valid"]
        self.verdicts.append((about, valid))
        print(f"  {about.strip()}: {'valid' if valid else 'WRONG'}", flush=True)
        if not valid:
            print(f"    {analysis['error']}", flush=True)

    def define(self, module: str) -> dict[str, Any]:
        path = self.programs / f"{module}.fut"
        self.program = minifut.compile(path, schedule=self.schedule)
        return {}

    def evaluate(self, message: dict[str, Any]) -> dict[str, Any]:
        assert self.program is not None
        module = import_module(message["module"])
        server = Server(self.program)
        module.prepare(server, message["input"])
        output, times = getattr(module, message["function"])(server, message["input"])
        timings = [{"name": "evaluate", "nanoseconds": each} for each in times]
        return {"output": output, "timings": timings}


def run_eval(name: str, checkout: Path, programs: Path, schedule: str | None) -> bool:
    """Whether all outputs of an eval are valid, and there are some."""
    if (checkout / "tools/manual" / f"{name}.cpp").exists():
        make = ["make", "-s", "-C", "tools/manual", f"bin/{name}"]
        subprocess.run(make, check=True)
    options = SMALL[name].split() + (QUICK.split() if name != "hello" else [])
    command = [sys.executable, "-m", f"gradbench.evals.{name}.run", *options]
    tool = Tool(programs, schedule)
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as process:
        assert process.stdin is not None and process.stdout is not None
        for line in process.stdout:
            message = json.loads(line)
            response = {"id": message["id"], **tool.answer(message)}
            if message["kind"] != "end":
                process.stdin.write(json.dumps(response, default=_plain) + "\n")
                process.stdin.flush()
        process.stdin.close()
    return bool(tool.verdicts) and all(valid for _, valid in tool.verdicts)


def _plain(value: Any) -> Any:
    """What JSON cannot write: numbers of NumPy."""
    return value.tolist()


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("checkout", type=Path)
    parser.add_argument("evals", nargs="*", default=[], metavar="EVAL")
    parser.add_argument("--lib", type=Path, help="the folder of Futhark packages")
    parser.add_argument("--schedule", choices=["cpu", "gpu"])
    options = parser.parse_args()
    checkout = options.checkout.resolve()
    lib = (options.lib or checkout / "tools/futhark/lib").resolve()
    package = checkout / "python/gradbench"
    os.environ["PYTHONPATH"] = os.pathsep.join((str(package), *sys.path))
    sys.path[:0] = [str(package), str(checkout / "tools/futhark")]
    os.chdir(checkout)
    failed = []
    with tempfile.TemporaryDirectory() as folder:
        programs = Path(folder)
        for path in Path("tools/futhark").glob("*.fut"):
            shutil.copy(path, programs)
        shutil.copytree(lib, programs / "lib")
        for name in options.evals or SMALL:
            print(name, flush=True)
            if not run_eval(name, checkout, programs, options.schedule):
                failed.append(name)
    print("all evals are valid" if not failed else f"FAILED: {', '.join(failed)}")
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
