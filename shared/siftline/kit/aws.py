"""AWS clients, one a service and process. Retries are ours where tenacity or the queue acts, so the SDK's are few."""

from functools import cache
from typing import TYPE_CHECKING, Any

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError, NoRegionError

from siftline.kit.errors import TransientError

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client
    from mypy_boto3_sqs import SQSClient

SECRETS_MANAGER = "secretsmanager://"


class SecretUnavailableError(TransientError):
    """Secrets Manager did not give the secret."""

    code = "secret_unavailable"


@cache
def sqs_client(timeout_s: float | None = None) -> "SQSClient":
    """Return the SQS client; region, credentials and endpoint come from the AWS environment, as everywhere.

    With ``timeout_s`` each call is one try, which waits no longer than that to be connected and to be answered.
    """
    if timeout_s is None:
        patience = Config(retries={"total_max_attempts": 2}, connect_timeout=5, read_timeout=30)
    else:
        patience = Config(retries={"total_max_attempts": 1}, connect_timeout=timeout_s, read_timeout=timeout_s)
    return boto3.client("sqs", config=patience)


@cache
def s3_client(timeout_s: float) -> "S3Client":
    """Return the S3 client for calls that are one try each and wait no longer than ``timeout_s`` at any step."""
    patience = Config(retries={"total_max_attempts": 1}, connect_timeout=timeout_s, read_timeout=timeout_s)
    return boto3.client("s3", config=patience)


@cache
def mail_client(timeout_s: float) -> Any:
    """Return the client of SES v2, for which ``timeout_s`` is the longest silence; it never tries a call again.

    What was sent once more might arrive twice: who calls decides.
    """
    patience = Config(retries={"total_max_attempts": 1}, connect_timeout=5, read_timeout=timeout_s)
    return boto3.client("sesv2", config=patience)


@cache
def secret(value: str) -> str:
    """Return ``value`` itself, or the text of the secret that ``secretsmanager://<id or ARN>`` names.

    Raises ``SecretUnavailableError``.
    """
    return read_secret(value.removeprefix(SECRETS_MANAGER)) if value.startswith(SECRETS_MANAGER) else value


def read_secret(name: str) -> str:
    """Return the text that a secret has now, by its id or ARN. Raises ``SecretUnavailableError``."""
    if not name:
        raise SecretUnavailableError("A setting names no secret: secretsmanager:// needs the secret's id or ARN.")
    try:
        client = boto3.client("secretsmanager", config=Config(connect_timeout=5, read_timeout=10))
        text = client.get_secret_value(SecretId=name).get("SecretString")
    except NoRegionError as error:
        raise SecretUnavailableError("A secret named in the settings could not be read: set AWS_REGION.") from error
    except (BotoCoreError, ClientError, ValueError) as error:  # ValueError: of an endpoint that is no URL
        raise SecretUnavailableError("A secret named in the settings could not be read.") from error
    if text is None:
        raise SecretUnavailableError("A secret named in the settings is binary: text is expected.")
    return text
