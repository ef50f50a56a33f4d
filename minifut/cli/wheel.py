"""`minifut wheel`: an installable package of a program.

    prog.fut  -->  prog-0.1.0-py3-none-any.whl
                     prog/__init__.py     its program, and nothing else
                     prog/generated.py    the generated module
                     prog/__init__.pyi    types of its entry points
                     prog/py.typed

    from prog import program
    program.load().main(xs)

The package depends on minifut, of which it needs the runtime only. The format is that
of the packaging specification "Binary distribution format".
"""

from __future__ import annotations

import base64
import hashlib
import io
import keyword
import re
import zipfile
from collections.abc import Mapping
from pathlib import Path

import click

from minifut.cli.compile import module_texts
from minifut.cli.options import PROGRAM, option
from minifut.errors import UsageError
from minifut.files import write_whole

VERSION = re.compile(r"[0-9]+(\.[0-9]+)*((a|b|rc)[0-9]+)?(\.post[0-9]+)?(\.dev[0-9]+)?")
"""versions of the packaging specification, in their normal form"""
OLDEST = (1980, 1, 1, 0, 0, 0)
"""the time of all files, so that equal programs give equal wheels"""

PACKAGE = """\
\"""{name}, compiled by minifut.

    from {name} import program
    loaded = program.load()      # its entry points: help(loaded), dir(loaded)
\"""

from .generated import program

__all__ = ["program"]
"""
"""host functions of a module, which have the names of entry points, take other
arguments"""


@click.command("wheel")
@click.argument("file", type=PROGRAM)
@option("--name=TEXT", "The package (default: FILE without its ending).")
@click.option("--package-version", "version", default="0.1.0", show_default=True)
@option("--folder=PATH", "Where to write.", type=PROGRAM, default=Path("."))
@option(
    "--schedule",
    "One shape of kernels (default: both; the device decides when it is loaded).",
    type=click.Choice(["cpu", "gpu"]),
)
def command(
    file: Path, name: str | None, version: str, folder: Path, schedule: str | None
) -> None:
    """Make an installable, typed Python package of a program."""
    name = file.stem if name is None else name
    if not name.isascii() or not name.isidentifier() or keyword.iskeyword(name):
        raise UsageError(f"'{name}' cannot be a Python package: give a --name")
    if name == "minifut":
        raise UsageError("a package called minifut would hide this one: give a --name")
    if not VERSION.fullmatch(version):
        raise UsageError(f"'{version}' is no version such as 1.0 or 1.2.3rc1")
    text, types = module_texts(file, name, schedule)
    files = {
        f"{name}/__init__.py": PACKAGE.format(name=name),
        f"{name}/generated.py": text,
        f"{name}/__init__.pyi": types,
        f"{name}/py.typed": "",
    }
    path = folder / f"{name}-{version}-py3-none-any.whl"
    write_whole(path, wheel(name, version, files))
    click.echo(f"wrote {path}: from {name} import program", err=True)


def wheel(name: str, version: str, files: Mapping[str, str]) -> bytes:
    """The archive of a package of these files, with its metadata."""
    from minifut.version import __version__

    about = f"{name}-{version}.dist-info"
    metadata = (
        f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
        f"Summary: {name}, compiled by minifut\nRequires-Python: >=3.11\n"
        f"Requires-Dist: minifut>={__version__}\n"
    )
    kind = "Wheel-Version: 1.0\nGenerator: minifut\nRoot-Is-Purelib: true\nTag: "
    contents = {
        **files,
        f"{about}/METADATA": metadata,
        f"{about}/WHEEL": f"{kind}py3-none-any\n",
    }
    record = [_record(path, text) for path, text in contents.items()]
    contents[f"{about}/RECORD"] = "\n".join((*record, f"{about}/RECORD,,\n"))
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as whole:
        for path, text in contents.items():
            entry = zipfile.ZipInfo(path, OLDEST)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = 0o644 << 16
            whole.writestr(entry, text.encode())
    return archive.getvalue()


def _record(path: str, text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    coded = base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
    return f"{path},sha256={coded},{len(text.encode())}"
