"""A command's beginning and end: arguments that can be read, an answer alone on stdout, one line where it ends early.

What the parts that a command uses log or print meanwhile goes to stderr.
"""

import argparse
import errno
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from typing import NoReturn, TextIO

from infra.local.state import folder_argument, running_environment
from siftline.operate.command_line import same_place
from siftline.operate.set_up_error import SetUpError, check_settings
from siftline.settings.functions import environment, process_environment

# What an answer meets that nobody takes any more, or that has no room.
_UNTOLD = {errno.EBADF, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.ENOSPC, errno.EPIPE}
_INTERRUPTED = 130  # as a shell says it of who was ended by SIGINT


@contextmanager
def logs_apart() -> Iterator[TextIO]:
    """Send to stderr whatever is written to stdout meanwhile, however it gets there; yield the true stdout."""
    sys.stdout.flush()
    with os.fdopen(os.dup(1), "w", encoding="utf-8") as out:
        os.dup2(2, 1)
        try:
            yield out
        finally:
            sys.stdout.flush()
            out.flush()
            os.dup2(out.fileno(), 1)


def run(main: Callable[[list[str]], int], *, beside: bool = False) -> NoReturn:
    """Run a command that prints its answer, and exit with its code.

    ``beside``: it acts on ``DATABASE_URL`` or, where that is not set, on what ``make run`` runs in ``--folder``.
    """

    def printing(arguments: list[str], out: TextIO) -> int:
        own, variables = _beside(arguments) if beside else (arguments, {})
        with redirect_stdout(out), environment(variables):
            return main(own)

    run_writing(printing)


def run_writing(main: Callable[[list[str], TextIO], int]) -> NoReturn:
    """Run a command that is handed the true stdout, and exit with its code."""
    try:
        check_settings()
        with logs_apart() as out:
            code = main(readable(sys.argv[1:]), out)
    except SetUpError as error:
        print(error, file=sys.stderr)
        code = 1
    except KeyboardInterrupt:
        print("\nInterrupted.", file=sys.stderr)
        code = _INTERRUPTED
    except OSError as error:
        print(_told(error), file=sys.stderr)
        code = 1
    sys.exit(code)


def readable(arguments: list[str]) -> list[str]:
    """Return the arguments. Raises ``SetUpError`` for one that is not UTF-8, which nothing could store or print."""
    for one in arguments:
        try:
            one.encode()
        except UnicodeEncodeError as error:
            shown = os.fsencode(one).decode("ascii", errors="backslashreplace")
            raise SetUpError(f"{shown} is not valid UTF-8.") from error
    return arguments


def _beside(arguments: list[str]) -> tuple[list[str], dict[str, str]]:
    """Return the arguments but for ``--folder``, and the variables to be set. Raises ``SetUpError``."""
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    parser.add_argument("--folder", type=Path, default=Path(".local"))
    chosen, own = parser.parse_known_args(arguments)
    if process_environment().get("DATABASE_URL"):
        return own, {}
    same_place.set(folder_argument(chosen.folder))
    try:
        return own, running_environment(chosen.folder)
    except SetUpError as error:
        raise SetUpError(f"{error} To use another database, set DATABASE_URL.") from error


def _told(error: OSError) -> str:
    """Return in a sentence what the system refused. Raises again what is no matter of files or of the answer."""
    if error.filename is not None:
        return f"{error.filename}: {error.strerror}."
    if error.errno in _UNTOLD:
        return f"The answer could not be written ({error.strerror}); the command itself may have succeeded."
    raise error
