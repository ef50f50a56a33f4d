"""Which device is chosen, with devices that are made up."""

from __future__ import annotations

import os

import pytest

from minifut.errors import UsageError
from minifut.opencl.runtime import device as module
from minifut.opencl.runtime.device import Device, open_device
from minifut.opencl.runtime.failures import decode, show
from minifut.opencl.runtime.pool import size_class


def made_up(number: int, kind: str, platform: str) -> Device:
    return Device(
        number, None, kind, f"Chip {number}", platform, "OpenCL 3.0", 4, 1 << 33,
        1 << 31, 1 << 16, 256, platform == "PoCL", platform == "Oclgrind",
    )  # fmt: skip


@pytest.fixture(autouse=True)
def no_wish(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MINIFUT_DEVICE", raising=False)


def install(monkeypatch: pytest.MonkeyPatch, *devices: Device) -> None:
    monkeypatch.setattr(module, "list_devices", lambda: list(devices))


def test_the_first_device_is_the_default(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, made_up(0, "gpu", "Maker"), made_up(1, "cpu", "PoCL"))
    assert open_device().number == 0
    assert open_device("cpu").number == 1
    assert open_device("pocl chip").number == 1
    assert open_device("#1").number == 1


def test_the_environment_chooses(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, made_up(0, "gpu", "Maker"), made_up(1, "cpu", "PoCL"))
    monkeypatch.setenv("MINIFUT_DEVICE", "pocl")
    assert open_device().number == 1
    assert open_device("maker").number == 0


def test_no_device_says_how_to_install_one(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch)
    with pytest.raises(UsageError, match="pip install pocl-binary-distribution"):
        open_device()


def test_simulators_only_when_named(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, made_up(0, "cpu", "Oclgrind"))
    with pytest.raises(UsageError, match="simulator"):
        open_device()
    assert open_device("oclgrind").number == 0


def test_an_unknown_device_lists_those_there_are(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    install(monkeypatch, made_up(0, "cpu", "PoCL"))
    with pytest.raises(UsageError, match=r"no OpenCL device matches 'x'.*\n.*#0  Chip"):
        open_device("x")


@pytest.mark.parametrize(
    ("allowed", "wish", "setting"),
    [({0, 1}, None, "1"), ({1}, None, None), ({0, 1}, "0", "0"), (None, None, None)],
)
def test_threads_have_cores_of_their_own(
    monkeypatch: pytest.MonkeyPatch,
    allowed: set[int] | None,
    wish: str | None,
    setting: str | None,
) -> None:
    """Unless some cores are not for this process, or the user needs otherwise."""
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    if allowed is None:  # as on systems that have no such notion
        monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    else:
        monkeypatch.setattr(os, "sched_getaffinity", lambda _: allowed, raising=False)
    monkeypatch.setenv("POCL_AFFINITY", wish or "")  # put back when the test ends
    if wish is None:
        monkeypatch.delenv("POCL_AFFINITY")
    module._threads_stay_on_their_cores()
    assert os.environ.get("POCL_AFFINITY") == setting


def test_processes_with_fewer_threads_share_the_cores(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1}, raising=False)
    monkeypatch.setenv("POCL_MAX_PTHREAD_COUNT", "1")
    monkeypatch.setenv("POCL_AFFINITY", "")
    monkeypatch.delenv("POCL_AFFINITY")
    module._threads_stay_on_their_cores()
    assert "POCL_AFFINITY" not in os.environ


@pytest.mark.device
def test_real_devices_have_limits() -> None:
    devices = module.list_devices()
    assert devices and [d.number for d in devices] == list(range(len(devices)))
    chosen = open_device()
    assert not chosen.is_simulator
    assert chosen.cores > 0 and chosen.memory > 0 and chosen.group_size > 0


@pytest.mark.parametrize("nbytes", [0, 1, 1024, 1025, 5000, 1 << 20, (1 << 30) + 1])
def test_size_classes_waste_little(nbytes: int) -> None:
    capacity = size_class(nbytes)
    assert nbytes <= capacity <= max(1024, nbytes * 1.13)
    assert size_class(capacity) == capacity


@pytest.mark.parametrize(
    ("bits", "type_", "text"),
    [
        (-1, "i64", "-1"),
        (-1, "u8", "255"),
        (1, "bool", "true"),
        (0x3FF8000000000000, "f32", "1.5"),
        (0x4000000000000000, "f64", "2.0"),
    ],
)
def test_recorded_values_are_shown(bits: int, type_: str, text: str) -> None:
    assert show(decode(bits, type_)) == text
