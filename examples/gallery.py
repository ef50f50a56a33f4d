"""The gallery of the documentation: its programs run, and their pictures are drawn.

A page of `docs/gallery` shows a program and the Python that calls it, checks the result
and makes a `figure`. `python examples/gallery.py [NAME ...]` draws the pictures again.
"""

from __future__ import annotations

import os
import re
import sys
import tempfile
from pathlib import Path
from typing import Any

PAGES = Path(__file__).parent.parent / "docs" / "gallery"


def names() -> list[str]:
    """The pages that show a program."""
    return sorted(path.stem for path in PAGES.glob("*.md") if path.stem != "index")


def run(name: str) -> Any:
    """The figure of a page, made as its reader would: in a folder with the program."""
    import matplotlib

    matplotlib.use("Agg")
    path = PAGES / f"{name}.md"
    text = path.read_text()
    found: dict[str, object] = {}
    here = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            for block in re.finditer(r"^```(\w+)\n(.*?)^```", text, re.M | re.S):
                if block[1] == "futhark":
                    Path(f"{name}.fut").write_text(block[2])
                else:
                    above = "\n" * text[: block.start(2)].count("\n")
                    exec(compile(above + block[2], path, "exec"), found)
        finally:
            os.chdir(here)
    return found["figure"]


def draw(figure: Any, path: Path) -> None:
    """Save a figure with 128 colours, which is a third of the bytes."""
    from PIL import Image

    figure.savefig(path, dpi=100)
    Image.open(path).convert("RGB").quantize(128).save(path, optimize=True)


def main(wanted: list[str]) -> None:
    for name in wanted or names():
        draw(run(name), PAGES / f"{name}.png")
        print(f"drew {name}.png")


if __name__ == "__main__":
    main(sys.argv[1:])
