"""`minifut cache`: what is kept between runs."""

from __future__ import annotations

import click

from minifut.cli.options import option, parse_bytes


@click.command("cache")
@option("--clear", "Remove everything.")
@option(
    "--limit=BYTES",
    "Remove what was used longest ago until this much is left (500MB, 2GiB).",
    callback=parse_bytes,
)
def command(clear: bool, limit: int | None) -> None:
    """Say where compiled programs and kernels are kept, and how much space they take.

    The folder is $MINIFUT_CACHE, else $XDG_CACHE_HOME/minifut, else ~/.cache/minifut.
    """
    from minifut.cache import cache_folder, entries, reduce_to

    if clear or limit is not None:
        removed = reduce_to(0 if clear else limit or 0)
        click.echo(f"removed {removed / 1e6:.1f} MB", err=True)
    click.echo(f"{cache_folder()}")
    sizes: dict[str, list[int]] = {}
    for entry in entries():
        sizes.setdefault(entry.kind, []).append(entry.size)
    for kind, found in sorted(sizes.items()):
        click.echo(f"  {kind:12} {len(found):6} files {sum(found) / 1e6:9.1f} MB")
    total = sum(size for found in sizes.values() for size in found)
    click.echo(f"  {'in all':12} {sum(map(len, sizes.values())):6} files "
               f"{total / 1e6:9.1f} MB")  # fmt: skip
