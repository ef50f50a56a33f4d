"""The pages of the documentation: their code runs, and the site is built without a
warning."""

from __future__ import annotations

import re
import shutil
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


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, built with warnings as errors."""
    pytest.importorskip("mkdocs")
    pytest.importorskip("material")
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "-q"]
    done = subprocess.run(
        [*command, "-d", str(folder)], cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


def test_the_site_is_built_without_warnings(site: Path) -> None:
    assert (site / "distributed" / "index.html").is_file()


def test_a_browser_shows_every_page(site: Path) -> None:
    """No picture is missing, no script fails, no page is wider than the window."""
    api = pytest.importorskip("playwright.sync_api")
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    if chromium is None:
        pytest.skip("no Chromium")
    problems: list[str] = []
    with api.sync_playwright() as play:
        arguments = ["--no-sandbox"]
        browser = play.chromium.launch(executable_path=chromium, args=arguments)
        window = browser.new_page(viewport={"width": 1200, "height": 900})
        window.on("pageerror", lambda error: problems.append(str(error)))
        pages = sorted(site.rglob("index.html"))
        for path in pages:
            window.goto(path.as_uri())
            broken = window.evaluate(
                "[...document.images].filter(i => !i.naturalWidth).map(i => i.src)"
            )
            width = window.evaluate("document.documentElement.scrollWidth")
            problems += broken + ([f"{path}: {width} wide"] if width > 1200 else [])
        browser.close()
    assert len(pages) >= 28
    assert problems == []
