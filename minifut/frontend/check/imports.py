"""The imported files of a program, each read and checked at its first import.

A program reads nothing outside of its own folders: those below its *import root*, which
is the first of

    the folder that MINIFUT_IMPORT_ROOT names
    the nearest folder upwards that is under version control (holds .git, .hg, .svn)
    the outermost folder upwards that is a package (holds futhark.pkg)
    the outermost folder that is reached upwards through folders that hold programs

so that `import "../common/sort"` works within a project, and `import "../../../x"` does
not leave it. Links are followed before they are judged.
"""

from __future__ import annotations

import os
import posixpath
import re
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING

from minifut.errors import Portable, Source, error
from minifut.files import read_text
from minifut.frontend.check.environment import Checking, Scope, Structure
from minifut.frontend.check.messages import quote
from minifut.ir.node import mutable
from minifut.suggestions import nearest

if TYPE_CHECKING:
    from collections.abc import Callable

    from minifut.errors import Location
    from minifut.frontend import syntax
    from minifut.frontend.check.prelude import Prelude

SETTING = "MINIFUT_IMPORT_ROOT"
_VERSION_CONTROL = (".git", ".hg", ".svn")
_PACKAGE = "futhark.pkg"


class Outside(Portable):
    """A file is outside of the import root."""

    def __init__(self, root: Path) -> None:
        super().__init__(str(root))
        self.root = root


def import_root(folder: Path) -> Path:
    """The folder below which a program in `folder` may import (see the module)."""
    setting = os.environ.get(SETTING)
    if setting:
        return Path(setting).resolve()
    folder = folder.resolve()
    above = [folder, *folder.parents]
    for candidate in above:
        if any((candidate / mark).exists() for mark in _VERSION_CONTROL):
            return candidate
    packages = [candidate for candidate in above if (candidate / _PACKAGE).is_file()]
    if packages:
        return packages[-1]
    root = folder
    while root != root.parent and next(root.parent.glob("*.fut"), None) is not None:
        root = root.parent
    return root


PACKAGE = re.compile(r"lib/(?P<name>[^/]+\.[^/]+/[^/]+/[^/]+)/.+")
"""a path into a package, `lib/github.com/diku-dk/sorts/radix_sort`, with its name"""
HIGHEST = 8
"""folders above the importing one in which packages are looked for, for a hint"""


class FileReader:
    """Reads the files that a program on disk imports; looks for the root once, when
    the first one is read."""

    def __init__(self, program: str) -> None:
        self.program = program
        self.root: Path | None = None

    def __call__(self, path: str) -> Source:
        if self.root is None:
            self.root = import_root(Path(self.program).parent)
        file = Path(path).resolve()
        if not file.is_relative_to(self.root):
            raise Outside(self.root)
        return Source(path, read_text(file))


@mutable
class Files:
    """The imported files of one program."""

    context: Checking
    prelude: Prelude
    read: Callable[[str], Source]
    programs: dict[str, syntax.Program] = field(default_factory=dict)
    contents: dict[str, Structure] = field(default_factory=dict)
    open: list[str] = field(default_factory=list)

    def load(
        self, importer: str, path: str, location: Location
    ) -> tuple[str, Structure]:
        """The contents of an imported file, checked at its first import."""
        if path.startswith("/") or "\\" in path or "\0" in path:
            raise error(
                location,
                f"Cannot import {quote(path)}: only paths relative to the importing "
                "file are allowed.",
                "import",
                "write it as in import \"../common/sort\", without '.fut'",
            )
        folder = posixpath.dirname(importer)
        resolved = posixpath.normpath(posixpath.join(folder, path + ".fut"))
        if resolved in self.open:
            chain = " -> ".join((*self.open[self.open.index(resolved) :], resolved))
            raise error(
                location,
                f"Import cycle: {chain}.",
                "import",
                "move what both need to a file of its own",
            )
        if resolved not in self.contents:
            self._check(resolved, self._source(importer, path, resolved, location))
        return resolved, self.contents[resolved]

    def _source(
        self, importer: str, path: str, resolved: str, location: Location
    ) -> Source:
        try:
            return self.read(resolved)
        except Outside as outside:
            raise error(
                location,
                f"Cannot import {quote(path)}: {resolved} lies outside of the "
                f"program's folders, which are those below {outside.root}.",
                "import",
                f"set {SETTING} to a folder that holds both",
            ) from None
        except (OSError, UnicodeDecodeError, KeyError):
            raise error(
                location,
                f"Cannot import {quote(path)}: there is no readable file {resolved}.",
                "import",
                self._hint(posixpath.dirname(importer), path),
            ) from None

    def _hint(self, folder: str, path: str) -> str | None:
        """What to do about a file that is not there."""
        if path.endswith(".fut"):
            return "paths are written without '.fut'"
        package = PACKAGE.search(path)
        if package is None:
            beside = Path(folder, path).parent
            names = [found.stem for found in beside.glob("*.fut")]
            *parents, name = path.split("/")
            return (
                nearest(name, names, prefix="".join(f"{p}/" for p in parents)) or None
            )
        for levels in range(HIGHEST):
            way = "../" * levels + package[0]
            try:
                self.read(posixpath.normpath(posixpath.join(folder, f"{way}.fut")))
            except (OSError, UnicodeDecodeError, KeyError):
                continue
            except Outside:
                break
            return f'write import "{way}", from the folder of this file'
        name = package["name"]
        return (
            f"'futhark pkg add {name}' and 'futhark pkg sync' put the package into the "
            f"folder lib/{name}, as does a copy of that folder of its repository"
        )

    def _check(self, resolved: str, source: Source) -> None:
        from minifut.frontend.check.modules import Checker
        from minifut.frontend.parser import parse_program

        self.open.append(resolved)
        program = parse_program(source)
        checker = Checker(
            self.context,
            Scope(self.prelude),
            lambda inner, at: self.load(resolved, inner, at),
        )
        self.contents[resolved] = checker.body(program.declarations)
        self.programs[resolved] = program
        self.open.pop()
