"""Write random programs to a folder: `python -m tests.random_sources FOLDER 0 100`."""

from __future__ import annotations

import sys
from pathlib import Path

from tests.random_sources import random_source


def main(folder: Path, first: int, last: int) -> None:
    """The programs of the seeds from `first` up to but not with `last`."""
    folder.mkdir(parents=True, exist_ok=True)
    for seed in range(first, last):
        (folder / f"seed{seed:06}.fut").write_text(random_source(seed))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
