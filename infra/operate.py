"""``python -m infra.operate COMMAND …``: runs it here, or with ``--stage`` inside that stage's network.

There it is the function ``operate`` that runs it, invoked with the caller's own permissions.
"""

import argparse
import sys
from functools import partial

from infra.local.answer import run
from infra.stage import Stage
from siftline.operate.operate_service import COMMANDS


def at_stage(command: str, arguments: list[str]) -> int:
    """Run a command at the stage that ``--stage`` names, print what it printed, and return its exit code."""
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    parser.add_argument("--stage", required=True)
    chosen, own = parser.parse_known_args(arguments)
    outcome = Stage(chosen.stage).ask(command, *own)
    print(outcome.output, end="")
    print(outcome.errors, end="", file=sys.stderr)
    return outcome.exit_code


def main() -> None:
    """Run the command that the first argument names."""
    if len(sys.argv) < 2 or sys.argv[1] not in COMMANDS:
        sys.exit(f"Name one of {', '.join(COMMANDS)}.")
    command = sys.argv.pop(1)
    if any(word.startswith("--stage=") for word in sys.argv):
        run(partial(at_stage, command))
    run(COMMANDS[command], beside=True)


if __name__ == "__main__":
    main()
