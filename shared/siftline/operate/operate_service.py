"""Runs operators' commands where the database is: what ``make user NAME=Ada STAGE=prod`` asks the function for."""

from collections.abc import Callable, Mapping
from contextlib import redirect_stderr, redirect_stdout
from functools import partial
from io import StringIO
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from siftline.operate import credits_command, migrate, redrive_command, reprocess_command, user_command
from siftline.operate.command_line import same_place

Command = Callable[[list[str]], int]
COMMANDS: Mapping[str, Command] = {
    "migrate": migrate.main,
    "user": user_command.main,
    "credits": credits_command.main,
    "redrive": redrive_command.main,
    "reprocess": reprocess_command.main,
}
"""By the name of their target of ``make``: each takes its arguments, prints its answer, and returns an exit code."""


class Order(BaseModel):
    """A command to run."""

    model_config = ConfigDict(extra="forbid", hide_input_in_errors=True)

    command: Annotated[str, Field(pattern=f"^({'|'.join(COMMANDS)})$")]
    arguments: Annotated[list[Annotated[str, Field(max_length=1_000)]], Field(max_length=50)] = []


class Outcome(BaseModel):
    """What a command printed, and its exit code: 0 if it succeeded, 2 if its arguments were wrong."""

    exit_code: int
    output: str
    errors: str


class Operator:
    """Runs commands one at a time. ``migrations`` is the folder of this release's; ``place`` goes behind a command."""

    def __init__(self, migrations: Path, place: str) -> None:
        self._commands: dict[str, Command] = {**COMMANDS, "migrate": partial(migrate.main, migrations=migrations)}
        self._place = place

    def run(self, order: Order) -> Outcome:
        """Run a command as a shell would; what it prints is in the outcome and in no log."""
        output, errors = StringIO(), StringIO()
        before = same_place.set(self._place)
        with redirect_stdout(output), redirect_stderr(errors):
            try:
                code = self._commands[order.command](order.arguments)
            except SystemExit as end:  # of argparse, which has printed why
                code = int(end.code or 0)
            finally:
                same_place.reset(before)
        return Outcome(exit_code=code, output=output.getvalue(), errors=errors.getvalue())
