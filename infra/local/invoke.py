"""``make invoke FUNCTION=schedule EVENT=events/schedule.ok.json``: one handler, one event, on the parts that run."""

import argparse
import json
import sys
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from typing import Any, TextIO

from pydantic import ValidationError

from infra.local.answer import run_writing
from infra.local.sample_rows import add_sample_rows
from infra.local.samples import HOST
from infra.local.state import SAMPLES_PORT, folder_argument, running_environment
from siftline.kit.db import SingleConnection
from siftline.kit.errors import SiftlineError
from siftline.operate.set_up_error import SetUpError
from siftline.settings.functions import environment
from siftline.worker.hosting import HostedFunction, InvocationError
from siftline.worker.template import Function, Template

ROOT = Path(__file__).resolve().parents[2]
EVENTS = ROOT / "events"
_TOKEN_LIVES = timedelta(minutes=5)


def main(arguments: list[str], out: TextIO) -> int:
    """Invoke and print the answer as JSON to ``out``; return the exit code."""
    parser = argparse.ArgumentParser(prog="make invoke", description=__doc__)
    parser.add_argument("function", nargs="?", default="", help="a folder of functions/")
    parser.add_argument("event", nargs="?", default="", help="a JSON file, such as those in events/")
    parser.add_argument("--folder", type=Path, default=ROOT / ".local", help="folder of make run")
    options = parser.parse_args(arguments)
    try:
        if not (options.function and options.event):
            where = folder_argument(options.folder)
            raise SetUpError(
                f"Which function and event? make invoke FUNCTION=schedule EVENT=events/schedule.ok.json{where}"
            )
        function = _function(options.function)
        event = _event(Path(options.event))
        variables = running_environment(options.folder)
        if Path(options.event).resolve().parent == EVENTS:
            _add_rows(variables["DATABASE_URL"], options.folder)
        with environment(variables):
            print(json.dumps(_answer(function, event), indent=2, default=str), file=out)
    except (SetUpError, InvocationError) as error:
        print(f"siftline: {error}", file=sys.stderr)
        return 1
    return 0


def _function(name: str) -> Function:
    functions = {function.name: function for function in Template.read(ROOT / "template.yaml").functions.values()}
    if name not in functions:
        raise SetUpError(f"There is no function {name!r}. Functions: {', '.join(sorted(functions))}.")
    return functions[name]


def _event(path: Path) -> dict[str, Any]:
    try:
        event = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise SetUpError(f"The event {path} cannot be read: {error.strerror}.") from error
    except json.JSONDecodeError as error:
        raise SetUpError(f"The event {path} is not valid JSON: see line {error.lineno}.") from error
    except (ValueError, RecursionError) as error:
        raise SetUpError(f"The event {path} is not valid UTF-8.") from error
    if not isinstance(event, dict):
        raise SetUpError(f"The event {path} is not a JSON object like those in events/.")
    return event


def _add_rows(database_url: str, folder: Path) -> None:
    """Add what the events of this project name. Raises ``SetUpError``."""
    port = folder / SAMPLES_PORT
    samples_url = f"http://{HOST}:{port.read_text(encoding='ascii')}" if port.exists() else None
    try:
        with closing(SingleConnection(database_url)) as database, database.transaction() as connection:
            add_sample_rows(connection, samples_url=samples_url, token_lives=_TOKEN_LIVES)
    except SiftlineError as error:
        raise SetUpError(f"The rows that this event names could not be added: {error.detail}") from error


def _answer(function: Function, event: dict[str, Any]) -> Any:
    """Return what a function answers. Raises ``InvocationError``, and ``SetUpError`` with what it raised, in words."""
    hosted = HostedFunction(function)
    hosted.load()
    try:
        return hosted.invoke(event)
    except InvocationError as error:
        cause = error.__cause__
        if isinstance(cause, SiftlineError):
            raise SetUpError(f"{function.name} failed: {cause.detail}") from error
        if isinstance(cause, KeyError):
            shown = f"it has no {cause.args[0]}; see events/{function.name}.*.json for complete events"
            raise SetUpError(f"{function.name} cannot use this event: {shown}.") from error
        if isinstance(cause, ValidationError):
            faults = cause.errors(include_url=False, include_context=False, include_input=False)
            shown = "; ".join(f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in faults)
            raise SetUpError(f"{function.name} cannot use this event: {shown}.") from error
        raise SetUpError(f"{error} See the log above.") from error


if __name__ == "__main__":
    run_writing(main)
