"""One place that turns errors into messages on stderr and exit codes.

0 success, 1 run-time error or failed test, 2 a program that does not compile or wrong
usage, 3 a fault of minifut itself, 130 interrupted.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable
from typing import Any

import click

from minifut.errors import CompileError, InternalError, ProgramError, UsageError, reason

RUN_FAILED, WRONG_USE, OUR_FAULT, INTERRUPTED = 1, 2, 3, 130

ASK_TO_REPORT = (
    "This is a fault of minifut, not of your program. Please report it, with the "
    "program and this message."
)


def guarded(run: Callable[[], Any]) -> int:
    """Run a command; its exit code."""
    try:
        result = run()
        if sys.stdout is not None:
            sys.stdout.flush()
        return result if isinstance(result, int) else 0
    except click.exceptions.Exit as done:
        return done.exit_code
    except (click.Abort, KeyboardInterrupt):
        say("interrupted")
        return INTERRUPTED
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except BrokenPipeError:
        _abandon_output()
        return RUN_FAILED
    except CompileError as error:
        say(str(error))
        return WRONG_USE
    except UsageError as error:
        say(f"minifut: {error}")
        return WRONG_USE
    except ProgramError as error:
        say(str(error))
        return RUN_FAILED
    except MemoryError as error:
        text = str(error)
        said = text if text.startswith("out of") else f"out of memory: {text}"
        say(f"minifut: {said.removesuffix(': ')}")
        return RUN_FAILED
    except InternalError as error:
        say(f"minifut: {error}\n{ASK_TO_REPORT}")
        return OUR_FAULT
    except OSError as error:
        say(f"minifut: {f'{error.filename}: ' * bool(error.filename)}{reason(error)}")
        return RUN_FAILED
    except Exception as error:
        return _unexpected(error)


def say(text: str) -> None:
    """A message on stderr."""
    click.echo(text, err=True)


def warn_of_one_thread(lines: Iterable[str]) -> None:
    """Warnings of what a GPU does not do in parallel."""
    for line in lines:
        say(f"warning: in one work-item of the device: {line}")


def _unexpected(error: Exception) -> int:
    """An unforeseen exception is a fault of minifut, too."""
    import traceback

    frames = "".join(traceback.format_tb(error.__traceback__)[-3:]).rstrip()
    say(f"minifut: internal error: {type(error).__name__}: {error}\n{frames}")
    say(ASK_TO_REPORT)
    return OUR_FAULT


def _abandon_output() -> None:
    """The reader of our output has ended: discard Python's last flush."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
