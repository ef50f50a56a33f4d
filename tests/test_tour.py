"""docs/tour.md shows what the commands in it print now.

    python -m tests.test_tour        writes the page anew

Its programs are the `futhark` blocks that begin with the name of a file; each command of
a `console` block is run among these files, and its output compared.
"""

from __future__ import annotations

import difflib
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "tour.md"
_PROGRAM = re.compile(r"^```futhark\n-- (\S+\.fut)\n(.*?)^```$", re.M | re.S)
_CONSOLE = re.compile(r"^```console\n(\$ ([^\n]*)\n)(.*?)^```$", re.M | re.S)
MINIFUT = f'minifut() {{ "{sys.executable}" -m minifut "$@"; }}'


def regenerated(page: str) -> str:
    """The page, with what its commands print now."""
    with tempfile.TemporaryDirectory() as folder:
        for name, text in _PROGRAM.findall(page):
            (Path(folder) / name).write_text(text)

        def run(found: re.Match[str]) -> str:
            done = subprocess.run(
                ["bash", "-c", f"{MINIFUT}\n{found[2]}"],
                cwd=folder,
                env={**os.environ, "PYTHONPATH": str(ROOT), "MINIFUT_DEBUG": ""},
                capture_output=True,
                text=True,
            )
            assert done.returncode == 0, done.stderr
            shown = "\n".join(line.rstrip() for line in done.stdout.splitlines())
            return f"```console\n{found[1]}{shown}\n```"

        return _CONSOLE.sub(run, page)


def test_the_tour_shows_what_the_compiler_does() -> None:
    page = PAGE.read_text()
    assert len(_CONSOLE.findall(page)) >= 10
    now = regenerated(page)
    changed = difflib.unified_diff(page.splitlines(), now.splitlines(), n=1)
    assert now == page, "run `python -m tests.test_tour`\n" + "\n".join(changed)


if __name__ == "__main__":
    PAGE.write_text(regenerated(PAGE.read_text()))
