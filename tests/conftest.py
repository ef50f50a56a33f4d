"""Random examples take as long as they take: a busy machine is no failure. Kernel code
is verified after each pass.

PoCL builds kernels without optimisation, in a third of the time, but for those of tests
marked `optimised` and of processes that tests start. Kernels with barriers run there in
tests only, so that they are optimised for `optimised(barriers=True)` alone. With
`pytest --optimised` all are built as users build them.

Tests marked `sweep` say the same of many programs, sizes or operators. Every fifth of
their parameters is tested, all with `pytest --all`, or of a test that is named.

`pytest --schedule gpu` compiles for that schedule what is compiled without naming one,
whatever the device is.
"""

from __future__ import annotations

import os
import signal
from collections import Counter
from collections.abc import Iterator

import pytest
from hypothesis import settings

ONE_OF = 5
"""how many parameters of a sweep one is tested of"""
os.environ.setdefault("MINIFUT_DEBUG", "verify")

settings.register_profile("unhurried", deadline=None)
settings.load_profile("unhurried")


@pytest.fixture(autouse=True)
def build_kernels_fast(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    marker = request.node.get_closest_marker("optimised")
    everything = request.config.getoption("--optimised", default=False)
    if not everything and (marker is None or not marker.kwargs.get("barriers")):
        most = -1 if marker is None else 0
        monkeypatch.setattr("minifut.opencl.runtime.kernels.MANY_BARRIERS", most)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--schedule", choices=("cpu", "gpu"))
    parser.addoption("--optimised", action="store_true")
    parser.addoption("--all", action="store_true")


def pytest_collection_modifyitems(
    config: pytest.Config, items: list[pytest.Item]
) -> None:
    named = any("::" in argument for argument in config.args)
    if config.getoption("--all", default=False) or named:
        return
    seen: Counter[tuple[object, ...]] = Counter()
    kept, left_out = [], []
    for item in items:
        test = item.path, getattr(item, "originalname", item.name)
        is_left_out = item.get_closest_marker("sweep") and seen[test] % ONE_OF
        (left_out if is_left_out else kept).append(item)
        seen[test] += 1
    config.hook.pytest_deselected(items=left_out)
    items[:] = kept


def pytest_configure(config: pytest.Config) -> None:
    schedule = config.getoption("--schedule", default=None)
    if schedule:
        from minifut import compiler

        setattr(compiler, "device_kind", lambda device=None: schedule)  # noqa: B010


@pytest.fixture
def interruptible() -> Iterator[None]:
    """As on a terminal: a shell lets what it starts in the background ignore Ctrl-C."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)
