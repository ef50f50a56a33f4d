"""docs/reliability.md names tests and results that exist."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parent.parent


def test_what_the_page_names_exists() -> None:
    page = (ROOT / "docs" / "reliability.md").read_text()
    rows = [line.split(" | ") for line in page.splitlines() if line.startswith("| ")]
    assert len(rows) == 16
    for promise, watched, _ in rows[1:]:
        named = re.findall(r"`([\w./-]+/[\w./-]+)`", watched)
        assert named, promise
        assert all((ROOT / path).is_file() for path in named), promise
    results = re.findall(r"`(benchmarks/results/[\w./-]+)`", page)
    assert all((ROOT / path).is_file() for path in results)
