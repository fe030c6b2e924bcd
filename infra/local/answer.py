"""A command's answer, alone on stdout: what the parts that it uses log or print meanwhile goes to stderr."""

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout
from typing import NoReturn, TextIO


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


def run(main: Callable[[list[str]], int]) -> NoReturn:
    """Run a command that prints its answer, and exit with its code."""
    with logs_apart() as out, redirect_stdout(out):
        code = main(sys.argv[1:])
    sys.exit(code)
