"""The `minifut` command, also as `python -m minifut`.

The first thing that it does is to answer interrupts (`interrupts.install`); those that
come before, while Python itself starts, are Python's.
"""

from __future__ import annotations


def main() -> None:
    """Run the command."""
    try:
        from minifut.interrupts import install

        install()
    except KeyboardInterrupt:
        import os

        os.write(2, b"interrupted\n")
        os._exit(130)
    from minifut.collector import collect_rarely

    collect_rarely()
    from minifut.cli import main as command

    command()


if __name__ == "__main__":
    main()
