"""``make localstack``: from nothing to an API that answers, in containers: LocalStack, PostgreSQL and Qdrant.

Needs Docker and LocalStack's token. Whatever is there already is kept, so it may be run again to deploy a change.
Addresses are those of samconfig.toml's stage ``local``, by which the containers reach one another; from here they are
reached by the ports that infra/local/compose.yaml publishes.
"""

import shutil
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from typing import Any, TextIO
from urllib.parse import urlsplit

import boto3
import yaml
from botocore.exceptions import BotoCoreError, ClientError

from infra.deploy import BUILT, sam_deploy
from infra.local.answer import run_writing
from infra.local.furnish import FIRST_USER, told
from infra.local.sam_environment import COMPOSE_AWS_URL
from infra.local.sample_rows import add_sample_rows
from infra.package import stage_parameters
from infra.stage import Stage
from infra.upload_model import upload
from siftline.jobs.deletions_store import find
from siftline.kit.db import SingleConnection
from siftline.operate.migrate import migrate
from siftline.operate.set_up_error import SetUpError
from siftline.operate.user_command import make_user, reissue
from siftline.settings.functions import environment, process_environment

ROOT = Path(__file__).resolve().parents[2]
COMPOSE_FILE = ROOT / "infra" / "local" / "compose.yaml"
STAGE = "local"
MODEL = ROOT / ".local" / "model"
CREDENTIALS = {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test", "AWS_DEFAULT_REGION": "us-east-1"}
_TOKEN = "LOCALSTACK_AUTH_TOKEN"  # noqa: S105  -- the name of a variable
_SAMPLE_TOKEN_LIVES = timedelta(days=3650)  # in a database whose password stands in compose.yaml


def main(arguments: list[str], out: TextIO) -> int:
    """Do it all and print address and token. Raises ``SetUpError``."""
    if arguments:
        raise SetUpError(f"make localstack takes no {arguments[0]}.")
    if shutil.which("docker") is None:
        raise SetUpError("make localstack needs Docker with compose; make run needs neither.")
    if not process_environment().get(_TOKEN):
        raise SetUpError(f"make localstack needs {_TOKEN}: LocalStack serves HTTP APIs only with its token.")
    parameters, aws_url = stage_parameters(STAGE), published(COMPOSE_AWS_URL)
    _run(["docker", "compose", "--file", str(COMPOSE_FILE), "up", "--detach", "--wait"])
    database_url = published(parameters["DatabaseUrl"])
    with told():
        migrate(database_url)
    put_model(aws_url, parameters)
    _run(["make", "build", f"STAGE={STAGE}"])
    with environment({**CREDENTIALS, "AWS_ENDPOINT_URL": aws_url}):
        sam_deploy(Stage(STAGE), BUILT, {})
    print(f"API    {api_url(aws_url)}\nToken  {first_token(database_url)}", file=out)
    return 0


def published(url: str) -> str:
    """Return an address of a container as this machine reaches it. Raises ``SetUpError`` for a port of its own."""
    parts = urlsplit(url)
    services = yaml.safe_load(COMPOSE_FILE.read_text(encoding="utf-8"))["services"]
    for ports in services.get(parts.hostname, {}).get("ports", ()):
        outside, _, inside = ports.rpartition(":")
        if inside == str(parts.port):
            return url.replace(f"{parts.hostname}:{inside}", outside)
    raise SetUpError(f"{COMPOSE_FILE.name} publishes no port for {parts.hostname}:{parts.port}.")


def put_model(aws_url: str, parameters: Mapping[str, str]) -> None:
    """Put the model into the bucket of the stage, made if need be. Raises ``SetUpError`` where it is another's."""
    try:
        uri = upload(_client("s3", aws_url), MODEL, parameters["ModelBucket"])
    except (BotoCoreError, ClientError, OSError) as error:
        raise SetUpError(f"The model could not be uploaded: {error}") from error
    if uri != parameters["ModelUri"]:
        raise SetUpError(f"The model was uploaded to {uri}, but samconfig.toml deploys with {parameters['ModelUri']}.")


def api_url(aws_url: str) -> str:
    """Return where LocalStack serves the HTTP API of the stack."""
    stack = f"siftline-{STAGE}"
    found = _client("cloudformation", aws_url).describe_stack_resource(StackName=stack, LogicalResourceId="HttpApi")
    api_id = found["StackResourceDetail"]["PhysicalResourceId"]
    return f"http://{api_id}.execute-api.localhost.localstack.cloud:{urlsplit(aws_url).port}"


def first_token(database_url: str) -> str:
    """Return a new token of the first user, made if need be; add what the events name. Raises ``SetUpError``."""
    with told(), closing(SingleConnection(database_url)) as database:
        with database.transaction() as connection:
            known = find(connection, FIRST_USER)
            add_sample_rows(connection, samples_url=None, token_lives=_SAMPLE_TOKEN_LIVES)
        return (reissue if known else make_user)(database, FIRST_USER).token


def _client(service: str, aws_url: str) -> Any:
    return boto3.client(  # type: ignore[call-overload]  # any service
        service,
        endpoint_url=aws_url,
        region_name=CREDENTIALS["AWS_DEFAULT_REGION"],
        aws_access_key_id=CREDENTIALS["AWS_ACCESS_KEY_ID"],
        aws_secret_access_key=CREDENTIALS["AWS_SECRET_ACCESS_KEY"],
    )


def _run(command: Sequence[str]) -> None:
    if code := subprocess.run(command, cwd=ROOT, env=process_environment(), check=False).returncode:
        raise SetUpError(f"`{' '.join(command)}` ended with code {code}: see above.")


if __name__ == "__main__":
    run_writing(main)
