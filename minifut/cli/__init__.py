"""The `minifut` command: a group whose subcommands load when they are used.

One file per subcommand; each holds a click command named `command`. Only the module of
the requested subcommand is imported, and it defers what is heavy (numpy, pyopencl, the
compiler) into its body, so that `minifut --help` is fast.
"""

from __future__ import annotations

import importlib
from typing import Any

import click

from minifut.version import __version__

SUBCOMMANDS = {
    "run": "Run a program on values and print or save the results.",
    "check": "Check programs and print their warnings.",
    "test": "Run the test blocks of programs.",
    "bench": "Measure programs on their data sets, and versions against each other.",
    "profile": "Say where the time of a call goes, kernel by kernel.",
    "autotune": "Find the parameters with which a program runs best.",
    "compile": "Compile a program to a Python module.",
    "wheel": "Make an installable Python package of a program.",
    "dev": "Look inside the compiler: passes, dumps, times.",
    "dataset": "Print random values of given types.",
    "devices": "List the OpenCL devices.",
    "cache": "Show or clear what is kept between runs.",
    "explain-error": "Say what an error means and what to do.",
}


class LazyGroup(click.Group):
    """A group of subcommands that are loaded on demand."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(SUBCOMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in SUBCOMMANDS:
            return None
        name = cmd_name.replace("-", "_")
        module = importlib.import_module(f"minifut.cli.{name}")
        command: click.Command = module.command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in SUBCOMMANDS and not args[0].startswith("-"):
            from minifut.suggestions import unknown

            raise click.UsageError(unknown("command", args[0], SUBCOMMANDS), ctx)
        return super().resolve_command(ctx, args)

    def format_commands(
        self, ctx: click.Context, formatter: click.HelpFormatter
    ) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(SUBCOMMANDS.items()))

    def main(self, *args: Any, **options: Any) -> Any:
        """Run, and turn every error into one clear message and an exit code."""
        from minifut.cli.errors import guarded
        from minifut.debug import require_known_topics

        def run() -> Any:
            require_known_topics()
            return super(LazyGroup, self).main(*args, **options)

        options["standalone_mode"] = False
        raise SystemExit(guarded(run))


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="minifut")
def main() -> None:
    """Compile programs in the Futhark array language to OpenCL, and run them.

    \b
    Exit codes: 0 success, 1 run-time error or failed test,
    2 a program that does not compile or wrong usage, 3 a fault of minifut.
    """
