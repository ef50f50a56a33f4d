"""`minifut explain-error`: the index of errors."""

from __future__ import annotations

import re

import click


@click.command("explain-error")
@click.argument("name", required=False)
def command(name: str | None) -> None:
    """Say what an error means and what to do, or list all errors.

    NAME is at the end of a message: `see: minifut explain-error NAME`.
    """
    from minifut.resources import page_text
    from minifut.suggestions import nearest

    entries = index(page_text("errors.md"))
    if name is None:
        for known in entries:
            click.echo(known)
        return
    if name not in entries:
        alike = ", ".join(known for known in entries if name in known)
        hint = f"there are: {alike}" if alike else nearest(name, entries)
        hint = hint or "without a name, all are listed"
        raise click.UsageError(f"there is no error '{name}'; {hint}")
    click.echo(f"{name}\n\n{entries[name]}")


def index(page: str) -> dict[str, str]:
    """The text of each entry of the index, by its name."""
    parts = re.split(r"^## +(\S+) *$", page, flags=re.MULTILINE)
    texts = (text.strip() for text in parts[2::2])
    return dict(zip(parts[1::2], texts, strict=True))
