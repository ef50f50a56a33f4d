"""The vendor's product of matrices, to compare with: cuBLAS, rocBLAS, NumPy elsewhere.

    rate, label = vendor_product(device.family, a, b)     GFLOP/s, plain f32 or f64

Libraries are called as they are, by ctypes: memory and copies by the runtime library
(CUDA's and HIP's have the same functions), one product by `gemm`, which takes matrices
by columns: of the transposed operands in the other order. Neither library uses tensor
cores for these functions unless it is asked to.
"""

from __future__ import annotations

import ctypes
import importlib.util
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

RUNS = 5
TO_DEVICE, TO_HOST = 1, 2
"""directions of copies"""


@dataclass(frozen=True, slots=True)
class Vendor:
    """Libraries, by the names to try; functions are named `prefix` + name, `gemm` by
    the size of floats; `plain` is the operation that leaves a matrix as it is."""

    label: str
    runtime: tuple[str, ...]
    prefix: str
    library: tuple[str, ...]
    create: str
    gemm: dict[int, str]
    plain: int


NVIDIA = Vendor(
    "cuBLAS",
    ("libcudart.so", "libcudart.so.13", "libcudart.so.12", "libcudart.so.11.0"),
    "cuda",
    ("libcublas.so", "libcublas.so.13", "libcublas.so.12", "libcublas.so.11"),
    "cublasCreate_v2",
    {4: "cublasSgemm_v2", 8: "cublasDgemm_v2"},
    0,
)
AMD = Vendor(
    "rocBLAS",
    ("libamdhip64.so",),
    "hip",
    ("librocblas.so",),
    "rocblas_create_handle",
    {4: "rocblas_sgemm", 8: "rocblas_dgemm"},
    111,
)


def vendor_of(family: str | None) -> Vendor | None:
    """Whose library knows the devices of a family."""
    if family and family.startswith("sm_"):
        return NVIDIA
    return AMD if family in ("cdna", "rdna") else None


def vendor_product(
    family: str | None, a: np.ndarray, b: np.ndarray
) -> tuple[float, str]:
    """The best rate of some products in GFLOP/s, and whose it is. NumPy's is that of
    the CPU, which is what there is without a vendor's library."""
    operations = 2 * a.shape[0] * a.shape[1] * b.shape[1]
    vendor = vendor_of(family)
    if vendor is not None:
        try:
            seconds = _seconds(vendor, a, b)
        except OSError as reason:
            label = f"NumPy on the CPU ({vendor.label}: {reason})"
        else:
            return operations / seconds / 1e9, vendor.label
    else:
        label = "NumPy on the CPU"
    return operations / _best(lambda: a @ b) / 1e9, label


def load(names: tuple[str, ...]) -> Any:
    """The first library that is there, in the system's folders or in NVIDIA's
    wheels."""
    found = importlib.util.find_spec("nvidia")
    wheels = [Path(p) for p in (found and found.submodule_search_locations) or ()]
    for name in names:
        paths = [str(path) for folder in wheels for path in folder.rglob(name)]
        for path in (name, *paths):
            try:
                return ctypes.CDLL(path, mode=ctypes.RTLD_GLOBAL)
            except OSError:
                continue
    raise OSError(f"no {names[0]}")


def _seconds(vendor: Vendor, a: np.ndarray, b: np.ndarray) -> float:
    """The best time of a product of matrices on the device; OSError if the library
    fails or its result is wrong."""
    runtime, library = load(vendor.runtime), load(vendor.library)

    def call(name: str, *arguments: object) -> None:
        code = getattr(runtime, vendor.prefix + name)(*arguments)
        if code:
            raise OSError(f"{vendor.prefix}{name} gave {code}")

    rows, depth = a.shape
    columns = b.shape[1]
    product = np.full((rows, columns), np.nan, a.dtype)
    places = []
    try:
        for array in (a, b, product):
            place = ctypes.c_void_p()
            size = ctypes.c_size_t(array.nbytes)
            call("Malloc", ctypes.byref(place), size)
            places.append(place)
            call("Memcpy", place, _address(array), size, ctypes.c_int(TO_DEVICE))
        handle = ctypes.c_void_p()
        if code := getattr(library, vendor.create)(ctypes.byref(handle)):
            raise OSError(f"{vendor.create} gave {code}")
        gemm = getattr(library, vendor.gemm[a.itemsize])
        real = {4: ctypes.c_float, 8: ctypes.c_double}[a.itemsize]
        one, zero = real(1), real(0)
        plain = ctypes.c_int(vendor.plain)
        n, m, k = (ctypes.c_int(size) for size in (columns, rows, depth))

        def multiply() -> None:
            code = gemm(
                handle, plain, plain, n, m, k, ctypes.byref(one), places[1], n,
                places[0], k, ctypes.byref(zero), places[2], n,
            )  # fmt: skip
            if code:
                raise OSError(f"{vendor.gemm[a.itemsize]} gave {code}")
            call("DeviceSynchronize")

        seconds = _best(multiply)
        size = ctypes.c_size_t(product.nbytes)
        call("Memcpy", _address(product), places[2], size, ctypes.c_int(TO_HOST))
    finally:
        for place in places:
            call("Free", place)
    if not np.allclose(product[0], a[0].astype("f8") @ b, rtol=1e-3):
        raise OSError("its product is wrong")
    return seconds


def _address(array: np.ndarray) -> ctypes.c_void_p:
    return ctypes.c_void_p(array.ctypes.data)


def _best(run: Callable[[], object]) -> float:
    """The least time of some runs, after a first one."""
    run()
    times = []
    for _ in range(RUNS):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return min(times)
