"""Where minifut finds the files that it ships with.

The grammar is in `grammar/` at the top of the repository and the index of errors in
`docs/`; in an installed wheel the folders are `minifut/_grammar/` and `minifut/_docs/`.
(Caches are in `minifut/cache.py`.)
"""

from __future__ import annotations

from pathlib import Path

PACKAGE = Path(__file__).parent


def grammar_file(name: str) -> Path:
    """The path of a grammar: `futhark.lark`."""
    installed = PACKAGE / "_grammar" / name
    return installed if installed.exists() else PACKAGE.parent / "grammar" / name


def page_text(name: str) -> str:
    """The text of a page of the documentation that is installed (`errors.md`)."""
    installed = PACKAGE / "_docs" / name
    page = installed if installed.exists() else PACKAGE.parent / "docs" / name
    return page.read_text(encoding="utf-8")
