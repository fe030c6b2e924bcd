"""``make invoke FUNCTION=ingest EVENT=events/ingest.ok.json``: one handler, one event, on the parts of ``make run``."""

import argparse
import json
import sys
from pathlib import Path
from typing import Any, TextIO

from infra.local.answer import logs_apart
from infra.local.errors import SetUpError
from infra.local.state import kept_environment
from siftline.settings import environment
from siftline.worker.hosting import HostedFunction, InvocationError
from siftline.worker.template import Function, Template

ROOT = Path(__file__).resolve().parents[2]


def main(arguments: list[str], out: TextIO) -> int:
    """Invoke and print the answer as JSON to ``out``; return the exit code."""
    parser = argparse.ArgumentParser(prog="make invoke", description=__doc__)
    parser.add_argument("function", help="a folder of functions/")
    parser.add_argument("event", type=Path, help="a JSON file, such as those in events/")
    parser.add_argument("--folder", type=Path, default=ROOT / ".local", help="where make run keeps everything")
    options = parser.parse_args(arguments)
    try:
        function = _function(options.function)
        event = _event(options.event)
        with environment(kept_environment(options.folder)):
            print(json.dumps(HostedFunction(function).invoke(event), indent=2, default=str), file=out)
    except (SetUpError, InvocationError) as error:
        print(f"siftline: {error}", file=sys.stderr)
        return 1
    return 0


def _function(name: str) -> Function:
    functions = {function.name: function for function in Template.read(ROOT / "template.yaml").functions.values()}
    if name not in functions:
        raise SetUpError(f"There is no function {name!r}; there are {', '.join(sorted(functions))}.")
    return functions[name]


def _event(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise SetUpError(f"The event {path} cannot be read: {error}") from error


if __name__ == "__main__":
    with logs_apart() as stdout:
        code = main(sys.argv[1:], stdout)
    sys.exit(code)
