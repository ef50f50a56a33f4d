"""Where minifut finds the files that it ships with, and where it keeps its caches.

Grammars live in `grammar/` at the top of the repository; in an installed wheel the same
folder is `minifut/_grammar/`. Caches live in one folder of their own, so that removing
it is always safe.
"""

from __future__ import annotations

import os
from pathlib import Path

PACKAGE = Path(__file__).parent


def grammar_file(name: str) -> Path:
    """The path of a grammar, such as `futhark.lark`."""
    installed = PACKAGE / "_grammar" / name
    return installed if installed.exists() else PACKAGE.parent / "grammar" / name


def grammar_text(name: str) -> str:
    """The text of a grammar, such as `futhark.lark`."""
    return grammar_file(name).read_text(encoding="utf-8")


def cache_folder() -> Path:
    """The folder for caches, made on first use; `MINIFUT_CACHE` names another."""
    named = os.environ.get("MINIFUT_CACHE")
    if named:
        folder = Path(named)
    else:
        root = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
        folder = Path(root) / "minifut"
    folder.mkdir(parents=True, exist_ok=True)
    return folder
