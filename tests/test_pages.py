"""The pages of the documentation: their code runs, and the site is built without a
warning.

Every fenced block is one of these: Python of a page in `PYTHON`; a command, run here
among the examples; a Futhark program with tests, run by `minifut test`; or on a page
that another test checks (`ELSEWHERE`). What is not run is in `NOT_RUN`, with the reason.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
PYTHON = ["index.md", "futhark-for-numpy-users.md", "python.md", "distributed.md"]
ELSEWHERE = {
    "README.md:python": "test_readme.py",
    "tour.md": "test_tour.py",
    "gallery/": "test_gallery.py",
}
"""pages, or blocks of a language on a page, and the test that runs them"""
NOT_RUN = {
    "make demo": "sets up an environment; its examples are tested by themselves",
    "make test": "is this test suite",
    "make lint": "a job of its own in CI",
    "make format": "changes the sources",
    "make campaign": "takes an hour",
    ".venv/bin/": "the environment that make sets up",
    "git clone": "needs a network",
    "pip install build": "needs a network",
    "cd /tmp/minifut-*/": "is this test suite, from the source distribution",
    "python examples/clusters.py --memory": "takes minutes, and gigabytes of a disk",
    "minifut test futhark/tests": "the tests of the language are not part of this",
    "minifut test PATH/TO/": "the tests of the language are not part of this",
    "minifut bench --versions examples/matmul.fut": "takes minutes; run below for less",
}
"""beginnings of commands"""
SHOWN = {
    "distributed.md:text": "output; test_plans.py, and benchmarks/results",
    "versions-and-tuning.md:c": "a kernel's header; tests/benchmarking reads such",
}
"""blocks that are no programs"""
PROGRAM = """-- ==
-- entry: loss
-- random input { [16]f32 [16]f32 }
entry loss [n] (w: [n]f32) (ys: [n]f32): f32 =
  f32.sum (map2 (\\x y -> (x - y) ** 2) w ys)
"""
"""what pages call prog.fut"""
FENCED = re.compile(r"^```(\w*)\n(.*?)^```", re.MULTILINE | re.DOTALL)


def fenced() -> list[tuple[str, str, str]]:
    """Page, language and text of all blocks that no other test runs."""
    found = []
    names = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(DOCS.rglob("*.md"))]
    for path in names:
        page = str(path.relative_to(DOCS if DOCS in path.parents else ROOT))
        for language, text in FENCED.findall(path.read_text()):
            place = f"{page}:{language}"
            if not any(place.startswith(start) for start in ELSEWHERE):
                found.append((page, language, text))
    return found


def commands() -> list[str]:
    """The different lines of blocks without a language that are not in `NOT_RUN`."""
    lines = [
        line.partition(" #")[0].strip()
        for _, language, text in fenced()
        if not language
        for line in text.splitlines()
    ]
    skipped = tuple(NOT_RUN)
    return [x for x in dict.fromkeys(lines) if x and not x.startswith(skipped)]


def test_every_block_is_run_or_listed() -> None:
    every = fenced()
    lines = "".join(text for _, language, text in every if not language)
    assert [start for start in NOT_RUN if start not in lines] == []
    rest = {
        f"{page}:{language}"
        for page, language, _ in every
        if language not in ("", "futhark")
        and not (language == "python" and page in PYTHON)
    }
    assert rest == set(SHOWN)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder as the pages take it: the examples, prog.fut and arrays."""
    made = tmp_path_factory.mktemp("pages")
    shutil.copytree(ROOT / "examples", made / "examples")
    (made / "prog.fut").write_text(PROGRAM)
    for name in ("a.npy", "b.npy"):
        np.save(made / name, np.ones((4, 4), np.float32))
    return made


@pytest.mark.sweep
@pytest.mark.device
@pytest.mark.parametrize("command", commands())
def test_a_command_of_a_page_runs(command: str, folder: Path) -> None:
    if "--plot" in command:
        pytest.importorskip("matplotlib")
    call = f'minifut() {{ {shlex.quote(sys.executable)} -m minifut "$@"; }}'
    done = subprocess.run(
        ["bash", "-eo", "pipefail", "-c", f"{call}\n{command}"],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
    )
    assert done.returncode == 0, (done.stdout + done.stderr).decode()


@pytest.mark.device
def test_the_programs_of_pages_pass_their_tests(tmp_path: Path) -> None:
    texts = [text for _, language, text in fenced() if language == "futhark"]
    assert texts
    for number, text in enumerate(texts):
        (tmp_path / f"{number}.fut").write_text(text)
    done = subprocess.run(
        [sys.executable, "-m", "minifut", "test", str(tmp_path)],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def blocks(page: str) -> list[tuple[int, str]]:
    """The Python of a page, with the lines where it begins."""
    text = (DOCS / page).read_text()
    found = re.finditer(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    return [(text[: m.start(1)].count("\n"), m[1]) for m in found]


@pytest.mark.device
@pytest.mark.parametrize("page", PYTHON)
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
