"""`python -m minifut` is the `minifut` command."""

from minifut.cli import main

if __name__ == "__main__":
    main()
