"""The pages of the documentation: their code runs, and the site is built without a
warning."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"


def blocks(page: str) -> list[tuple[int, str]]:
    """The Python of a page, with the lines where it begins."""
    text = (DOCS / page).read_text()
    found = re.finditer(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    return [(text[: m.start(1)].count("\n"), m[1]) for m in found]


@pytest.mark.device
@pytest.mark.parametrize(
    "page",
    ["index.md", "futhark-for-numpy-users.md", "python.md", "distributed.md"],
)
def test_the_code_of_pages_runs(page: str) -> None:
    if page == "distributed.md":
        pytest.importorskip("dask.array")
    names: dict[str, object] = {}
    found = blocks(page)
    assert found
    for line, text in found:
        exec(compile("\n" * line + text, str(DOCS / page), "exec"), names)


def test_the_site_is_built_without_warnings(tmp_path: Path) -> None:
    pytest.importorskip("mkdocs")
    pytest.importorskip("material")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "-q"]
    done = subprocess.run(
        [*command, "-d", str(tmp_path / "site")],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert (tmp_path / "site" / "distributed" / "index.html").is_file()
