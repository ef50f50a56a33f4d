"""How OpenCL files say the way their kernels are called."""

from __future__ import annotations

from pathlib import Path

import pytest

from minifut.benchmarking.kernel_file import (
    BufferName,
    LocalMemory,
    read_kernel_file,
)
from minifut.errors import UsageError

TWO = """// A sum in two steps.
// ==
// kernel: first
// entry: sum
// arguments: xs, partial, n, 2 * (n + 1),
//     local(4 * 64)
// global size: 64 * ceil_div(n, 64)
// local size: 64
// memory: partial(4 * n), flags(8)
kernel void first() {}
// ==
// kernel: second
// entry: sum
// arguments: partial, result
// global size: 1, 1
// local size: 1, 1
// options: -cl-fast-relaxed-math
kernel void second() {}
"""


def written(folder: Path, text: str) -> Path:
    path = folder / "kernel.cl"
    path.write_text(text)
    return path


def test_launches_are_read_in_their_order(tmp_path: Path) -> None:
    file = read_kernel_file(written(tmp_path, TWO))
    assert file.entry == "sum" and file.options == "-cl-fast-relaxed-math"
    assert [(name, str(size)) for name, size in file.memory] == [
        ("partial", "4 * n"),
        ("flags", "8"),
    ]
    first, second = file.launches
    assert (first.line, first.kernel) == (2, "first") and second.kernel == "second"
    xs, partial, n, more, local = first.arguments
    assert (xs, partial, n) == (
        BufferName("xs"),
        BufferName("partial"),
        BufferName("n"),
    )
    assert str(more) == "2 * n + 2"
    assert isinstance(local, LocalMemory) and str(local.nbytes) == "256"
    assert [str(size) for size in first.global_size] == ["64 * ceil_div(n, 64)"]
    assert len(second.local_size) == 2


BLOCK = """// ==
// kernel: k
// arguments: xs
// global size: n
// local size: 1
"""


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("kernel void k() {}", "begin one with `// ==` and give kernel, arguments"),
        (BLOCK.replace("// kernel: k\n", ""), ":1: the launch does not say its 'ker"),
        (BLOCK.replace("// ker", "// cer"), ":2: there is no 'cernel' of a launch"),
        (BLOCK.replace(": n", ": n, n"), ":5: global and local size must have one to"),
        (BLOCK.replace(": n", ": n / 2"), ":4: 'n / 2' is no size: names and whole"),
        (BLOCK.replace(": xs", ": local(n"), ":3: 'local(n' is no size"),
        (BLOCK + "// memory: 4 * n\n", ":6: '4 * n' is not of the form NAME(BYTES)"),
        (BLOCK + "\n" + BLOCK + "// entry: f", ":7: the launches are of several"),
    ],
)
def test_mistakes_are_named_with_their_line(
    tmp_path: Path, text: str, message: str
) -> None:
    with pytest.raises(UsageError) as raised:
        read_kernel_file(written(tmp_path, text))
    assert message in str(raised.value) and "kernel.cl" in str(raised.value)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be read: no such file"):
        read_kernel_file(tmp_path / "none.cl")
