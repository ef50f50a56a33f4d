"""The gallery: every page's program and Python run, as a reader would run them."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parent.parent


def _gallery() -> ModuleType:
    path = ROOT / "examples" / "gallery.py"
    spec = importlib.util.spec_from_file_location("gallery", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


GALLERY = _gallery()


@pytest.mark.sweep
@pytest.mark.device
@pytest.mark.parametrize("name", GALLERY.names())
def test_a_page_runs(name: str) -> None:
    pytest.importorskip("matplotlib")
    if name == "pendulum":
        pytest.importorskip("scipy")
    assert GALLERY.run(name).get_size_inches().min() > 2
    sys.modules["matplotlib.pyplot"].close("all")


def test_every_page_is_shown_and_has_its_picture() -> None:
    index = (GALLERY.PAGES / "index.md").read_text()
    menu = (ROOT / "mkdocs.yml").read_text()
    assert len(GALLERY.names()) >= 12
    for name in GALLERY.names():
        assert f"]({name}.md)" in index and f"gallery/{name}.md" in menu
        assert f"]({name}.png)" in (GALLERY.PAGES / f"{name}.md").read_text()
        assert (GALLERY.PAGES / f"{name}.png").is_file()
