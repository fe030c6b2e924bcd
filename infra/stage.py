"""A deployed stage: where it is, what it tells of itself, and commands that run inside it."""

import json
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError
from botocore.parsers import ResponseParserError

from siftline.operate.operate_service import Outcome
from siftline.operate.set_up_error import SetUpError

ROOT = Path(__file__).resolve().parent.parent
_LONGEST_S = 900
"""The time limit of ``operate``."""


@contextmanager
def answered(client: Any, otherwise: str) -> Iterator[None]:
    """Raise ``SetUpError`` where AWS refuses, is not reached, or where something else answers, such as a proxy."""
    try:
        yield
    except (BotoCoreError, ClientError, KeyError, ResponseParserError, ValueError) as error:
        # What is no answer of AWS is taken for one where its status is an error.
        if isinstance(error, BotoCoreError | ClientError) and "<" not in str(error):
            raise SetUpError(f"{otherwise}: {error}") from error
        raise SetUpError(f"AWS answered something unexpected at {client.meta.endpoint_url}.") from error


class Stage:
    """A stage of samconfig.toml. Raises ``SetUpError`` for one that is not there."""

    def __init__(self, name: str) -> None:
        if not name:
            raise SetUpError("Set STAGE=…, a stage of samconfig.toml.")
        stages = tomllib.loads((ROOT / "samconfig.toml").read_text(encoding="utf-8"))
        try:
            common = stages[name]["global"]["parameters"]
            self.name: str = name
            self.region: str = common["region"]
            self.stack: str = common["stack_name"]
        except (KeyError, TypeError):
            raise SetUpError(f"There is no stage {name} in samconfig.toml.") from None
        self._operate = f"siftline-{name}-operate"

    def client(self, service: str) -> Any:
        """Return a client of one of its region's services, which waits for as long as ``operate`` may take.

        Raises ``SetUpError``.
        """
        patience = Config(read_timeout=_LONGEST_S + 10, connect_timeout=10, retries={"total_max_attempts": 1})
        try:
            return boto3.client(service, region_name=self.region, config=patience)  # type: ignore[call-overload]  # any
        except (BotoCoreError, ValueError) as error:
            raise SetUpError(f"AWS cannot be reached: {error}") from error

    def outputs(self) -> dict[str, str]:
        """Return the outputs of its stack; none where it is not deployed yet. Raises ``SetUpError``."""
        return {output["OutputKey"]: output["OutputValue"] for output in self._described().get("Outputs", [])}

    def parameters(self) -> dict[str, str]:
        """Return the parameters that it was deployed with; none where it is not. Raises ``SetUpError``."""
        return {one["ParameterKey"]: one["ParameterValue"] for one in self._described().get("Parameters", [])}

    def is_updating(self) -> bool:
        """Whether a deployment is under way, or being undone. Raises ``SetUpError``."""
        return self._described().get("StackStatus") in {"UPDATE_IN_PROGRESS", "UPDATE_ROLLBACK_IN_PROGRESS"}

    def resources(self, kind: str) -> list[str]:
        """Return the physical ids of its stack's resources of one type. Raises ``SetUpError``."""
        client = self.client("cloudformation")
        with answered(client, f"The stack {self.stack} cannot be looked at"):
            pages = client.get_paginator("list_stack_resources").paginate(StackName=self.stack)
            found = [resource for page in pages for resource in page["StackResourceSummaries"]]
        return [resource["PhysicalResourceId"] for resource in found if resource["ResourceType"] == kind]

    def _described(self) -> dict[str, Any]:
        client = self.client("cloudformation")
        with answered(client, f"The stack {self.stack} cannot be looked at"):
            try:
                [stack] = client.describe_stacks(StackName=self.stack)["Stacks"]
            except ClientError as error:
                if "does not exist" in str(error):
                    return {}
                raise
            return dict(stack)

    def renew_operate(self, package: bytes) -> None:
        """Give ``operate`` another zip, ahead of everything else: it brings the next release's migrations."""
        client = self.client("lambda")
        with answered(client, f"{self._operate} could not be updated"):
            client.update_function_code(FunctionName=self._operate, ZipFile=package)
            client.get_waiter("function_updated_v2").wait(FunctionName=self._operate)

    def ask(self, command: str, *arguments: str) -> Outcome:
        """Have ``operate`` run a command. Raises ``SetUpError`` where it cannot be, or fails."""
        payload = json.dumps({"command": command, "arguments": list(arguments)}).encode()
        client = self.client("lambda")
        with answered(client, f"{self._operate} could not be invoked"):
            answer = client.invoke(FunctionName=self._operate, Payload=payload)
            said = json.loads(answer["Payload"].read())
            if "FunctionError" not in answer:
                return Outcome.model_validate(said)
        why = said.get("errorMessage", said)
        raise SetUpError(f"{self._operate} failed: {why} (its log is /aws/lambda/{self._operate})")

    def do(self, command: str, *arguments: str) -> str:
        """Have ``operate`` run a command and return what it printed. Raises ``SetUpError`` where it did not succeed."""
        outcome = self.ask(command, *arguments)
        if outcome.exit_code:
            raise SetUpError(outcome.errors.strip() or f"{command} ended with {outcome.exit_code}.")
        return outcome.output
