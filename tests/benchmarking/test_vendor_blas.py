"""Products of a vendor's library: calls as the libraries take them, on fake ones."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import pytest

from benchmarks.gpu import vendor_blas
from benchmarks.gpu.vendor_blas import AMD, NVIDIA, Vendor, vendor_of, vendor_product

A = np.arange(6, dtype="f4").reshape(2, 3) + 1
B = np.arange(12, dtype="f4").reshape(3, 4) - 2


class Fake:
    """Both libraries of a vendor; memory of the device is that of the host."""

    def __init__(self, vendor: Vendor, code: int = 0) -> None:
        self.code = code
        self.memory: dict[int, Any] = {}
        setattr(self, vendor.create, lambda _: 0)
        for name in ("Malloc", "Memcpy", "Free", "DeviceSynchronize"):
            setattr(self, vendor.prefix + name, getattr(self, name.lower()))
        setattr(self, vendor.gemm[4], self.gemm)
        self.plain = vendor.plain

    def malloc(self, place: Any, size: ctypes.c_size_t) -> int:
        made = ctypes.create_string_buffer(size.value)
        place._obj.value = ctypes.addressof(made)
        self.memory[ctypes.addressof(made)] = made
        return 0

    def memcpy(self, to: Any, of: Any, size: Any, _direction: Any) -> int:
        ctypes.memmove(to, of, size.value)
        return 0

    def free(self, place: ctypes.c_void_p) -> int:
        del self.memory[place.value or 0]
        return 0

    def devicesynchronize(self) -> int:
        return 0

    def gemm(self, *given: Any) -> int:
        _, *plain, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc = given
        assert [each.value for each in plain] == [self.plain] * 2
        assert (alpha._obj.value, beta._obj.value) == (1, 0)
        m, n, k, lda, ldb, ldc = (each.value for each in (m, n, k, lda, ldb, ldc))

        def by_columns(place: Any, rows: int, columns: int, lead: int) -> np.ndarray:
            flat = (ctypes.c_float * (lead * columns)).from_address(place.value)
            return np.frombuffer(flat, "f4").reshape(columns, lead).T[:rows]

        found = by_columns(a, m, k, lda) @ by_columns(b, k, n, ldb)
        by_columns(c, m, n, ldc)[:] = found
        return self.code


@pytest.mark.parametrize(("family", "vendor"), [("sm_90", NVIDIA), ("cdna", AMD)])
def test_the_product_is_that_of_the_library(
    family: str, vendor: Vendor, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake = Fake(vendor)
    monkeypatch.setattr(vendor_blas, "load", lambda _: fake)
    rate, label = vendor_product(family, A, B)
    assert label == vendor.label and rate > 0 and not fake.memory


def test_what_fails_is_said_and_the_cpu_compared_with(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(vendor_blas, "load", lambda _: Fake(NVIDIA, 7))
    rate, label = vendor_product("sm_80", A, B)
    assert rate > 0 and "NumPy" in label and "cublasSgemm_v2 gave 7" in label
    fake = Fake(NVIDIA)
    monkeypatch.setattr(fake, "cublasSgemm_v2", lambda *_: 0)
    monkeypatch.setattr(vendor_blas, "load", lambda _: fake)
    assert "wrong" in vendor_product("sm_80", A, B)[1]


def test_devices_of_no_known_vendor_are_compared_with_the_cpu() -> None:
    assert vendor_of("intel") is None is vendor_of(None)
    assert vendor_product(None, A, B)[1] == "NumPy on the CPU"


def test_a_missing_library_is_named() -> None:
    with pytest.raises(OSError, match=r"libnone\.so"):
        vendor_blas.load(("libnone.so",))
