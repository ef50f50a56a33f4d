"""Kernels with functions of the same names in one program."""

from __future__ import annotations

import pytest

from minifut.kernel_ir.shuffles import SHUFFLES, compress
from minifut.opencl.masked_accesses import MASKED_ACCESSES, required
from minifut.opencl.runtime.sections import Section, together

HELPERS = {
    "compressed": (SHUFFLES[compress(16, 32)], "__AVX512VL__"),
    "packed bytes": (SHUFFLES["minifut_pack_bytes"], "__BMI2__"),
    "masked": (
        "".join(MASKED_ACCESSES[h] for h in required("load", 16, 32)), "__AVX2__"
    ),
}  # fmt: skip


@pytest.mark.device
@pytest.mark.parametrize("native", [True, False])
@pytest.mark.parametrize("name", HELPERS)
def test_each_kernel_has_its_own_helpers(name: str, native: bool) -> None:
    """With the instructions of the processor, which are macros, and without them."""
    from minifut.opencl.runtime import open_session

    helper, feature = HELPERS[name]
    sections = [
        Section(kernel, "", f"{helper}__kernel void {kernel}() {{}}\n", "", {})
        for kernel in ("first", "second")
    ]
    session = open_session()
    text = ("" if native else f"#undef {feature}\n") + together(sections)
    built = session.cl.Program(session.context, text).build()
    assert {kernel.function_name for kernel in built.all_kernels()} == {
        "first", "second"
    }  # fmt: skip


def test_a_new_name_is_none_that_another_function_has() -> None:
    """A helper of one lane, and that of four, in the fifth text: the macro of one
    would lead to that of the other."""
    text = "".join(
        f"static ulong {name}(ulong a) {{ return a; }}\n"
        for name in ("shr_u64", "shr_u64_4")
    )
    sections = [Section("k", "", text, "", {})] * 5
    defined = [
        line.split()[1:]
        for line in together(sections).splitlines()
        if line.startswith("#define")
    ]
    old, new = zip(*defined, strict=True)
    assert not set(old) & set(new)
    assert len(set(new)) == len(new) == 10
