"""The `minifut` command, also as `python -m minifut`."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command; an interrupt while it still loads is answered like any other."""
    try:
        from minifut.cli import main as command

        command()
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        raise SystemExit(130) from None


if __name__ == "__main__":
    main()
