"""``python -m infra.operate COMMAND …``: runs it here, or with ``--stage`` inside that stage's network.

There it is the function ``operate`` that runs it, invoked with the caller's own permissions.
"""

import argparse
import json
import sys
import tomllib
from functools import partial
from pathlib import Path

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

from infra.local.answer import run
from siftline.operate.operate_service import COMMANDS, Outcome
from siftline.operate.set_up_error import SetUpError

_ROOT = Path(__file__).resolve().parent.parent
_LONGEST_S = 900  # the function's time limit


def region(stage: str) -> str:
    """Return the region of a stage, as samconfig.toml says. Raises ``SetUpError`` for one that is not there."""
    stages = tomllib.loads((_ROOT / "samconfig.toml").read_text(encoding="utf-8"))
    try:
        found: str = stages[stage]["global"]["parameters"]["region"]
    except KeyError:
        raise SetUpError(f"There is no stage {stage} in samconfig.toml.") from None
    return found


def ask(stage: str, command: str, arguments: list[str]) -> Outcome:
    """Have a stage's ``operate`` function run a command. Raises ``SetUpError``."""
    patience = Config(read_timeout=_LONGEST_S + 10, connect_timeout=10, retries={"total_max_attempts": 1})
    client = boto3.client("lambda", region_name=region(stage), config=patience)
    name = f"siftline-{stage}-operate"
    payload = json.dumps({"command": command, "arguments": arguments}).encode()
    try:
        answer = client.invoke(FunctionName=name, Payload=payload)
        said = json.loads(answer["Payload"].read())
    except (BotoCoreError, ClientError) as error:
        raise SetUpError(f"{name} could not be invoked: {error}") from error
    if "FunctionError" in answer:
        raise SetUpError(f"{name} failed: {said.get('errorMessage', said)} (see its log, /aws/lambda/{name})")
    return Outcome.model_validate(said)


def _at_stage(command: str, arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    parser.add_argument("--stage", required=True)
    chosen, own = parser.parse_known_args(arguments)
    outcome = ask(chosen.stage, command, own)
    print(outcome.output, end="")
    print(outcome.errors, end="", file=sys.stderr)
    return outcome.exit_code


def main() -> None:
    """Run the command that the first argument names."""
    if len(sys.argv) < 2 or sys.argv[1] not in COMMANDS:
        sys.exit(f"Name one of {', '.join(COMMANDS)}.")
    command = sys.argv.pop(1)
    if any(word.startswith("--stage=") for word in sys.argv):
        run(partial(_at_stage, command))
    run(COMMANDS[command], beside=True)


if __name__ == "__main__":
    main()
