"""AWS on this machine: MiniStack."""

from pathlib import Path
from typing import Any

from infra.local.ports import free_port
from infra.local.programs import Program, answers
from infra.local.state import private_folder, write_private
from siftline.net.loopback import HALF_SENT_S
from siftline.settings.functions import process_environment

REGION = "us-east-1"
CREDENTIALS = {"AWS_ACCESS_KEY_ID": "local", "AWS_SECRET_ACCESS_KEY": "local", "AWS_DEFAULT_REGION": REGION}
CLIENT_OPTIONS: Any = {
    "region_name": REGION,
    "aws_access_key_id": CREDENTIALS["AWS_ACCESS_KEY_ID"],
    "aws_secret_access_key": CREDENTIALS["AWS_SECRET_ACCESS_KEY"],
}
"""For ``boto3.client``, besides the endpoint, where the secret of a MiniStack is the access key of ``CREDENTIALS``."""
SHOWS_KEY = {"Authorization": f"Bearer {CREDENTIALS['AWS_ACCESS_KEY_ID']}"}
"""For what is asked of it without a signature, such as ``/_ministack/ses/messages``."""
_ROOT = Path(__file__).resolve().parents[2]
_SERVICES = "sqs,ses,sesv2,cloudwatch,logs,secretsmanager,sts"
_HEALTH = "/_ministack/health"
_START_WAIT_S = 60.0
# Queues are kept under this name whatever port is free today, so that a restart finds them again.
_CANONICAL_PORT = "4566"


class MiniStack(Program):
    """One MiniStack server on 127.0.0.1; a context manager. ``port`` 0 takes a free one.

    It answers only who signs requests with ``access_key``, and no page of a browser (``infra.local.guard``); whoever
    has sent no such request within ``half_sent_s`` is dropped (``infra.local.strangers``).
    ``everything`` starts all of its services, Lambda and CloudFormation included, for deploying the template into it;
    else only those that the application itself calls; then nothing guards it, for the functions that it runs are given
    credentials of its own. State is kept in ``home`` between runs if ``persists``.
    """

    def __init__(
        self,
        python: Path,
        home: Path,
        *,
        port: int = 0,
        access_key: str = CREDENTIALS["AWS_ACCESS_KEY_ID"],
        persists: bool = True,
        everything: bool = False,
        half_sent_s: float = HALF_SENT_S,
    ) -> None:
        self._home = home.absolute()
        self._access_key = access_key
        self._half_sent_s = half_sent_s
        self._port = port or free_port()
        # One process: with workers of its own, a killed parent would leave them behind on the port.
        options = ["--bind", f"127.0.0.1:{self._port}", "--workers", "0", "--keep-alive", "75"]
        application = "ministack.app:app" if everything else "infra.local.ministack_guarded:app"
        super().__init__(
            "MiniStack server",
            [str(python), "-m", "hypercorn", application, *options],
            folder=self._home,
            environment=self._environment_of(persists=persists, everything=everything),
            log=self._home / "ministack.log",
            ready=lambda: answers(self._port, _HEALTH, access_key),
            start_s=_START_WAIT_S,
        )

    @property
    def endpoint(self) -> str:
        """The URL of every AWS service in it."""
        return f"http://127.0.0.1:{self._port}"

    def launch(self) -> None:
        """Start without waiting."""
        for folder in ("state", "s3", "tmp"):
            private_folder(self._home / folder)
        write_private(self._home / "secret", self._access_key)
        write_private(self._home / "patience", str(self._half_sent_s))
        super().launch()

    def _environment_of(self, *, persists: bool, everything: bool) -> dict[str, str]:
        own = {
            "BIND_HOST": "127.0.0.1",
            "GATEWAY_PORT": str(self._port) if everything else _CANONICAL_PORT,
            "PERSIST_STATE": "1" if persists else "0",
            "STATE_DIR": str(self._home / "state"),
            "S3_DATA_DIR": str(self._home / "s3"),
            "TMPDIR": str(self._home / "tmp"),
            "IOT_MTLS_ENABLED": "0",  # would listen on every address
            "SFTP_ENABLED": "0",
            "DOCKER_HOST": "unix:///nonexistent",  # it would look for containers of its own to remove
            "LOG_LEVEL": "WARNING",
            "PYTHONPATH": f"{_ROOT / 'shared'}:{_ROOT}",
            **CREDENTIALS,
            **({} if everything else {"SERVICES": _SERVICES}),
        }
        kept = ("PATH", "HOME", "LANG", "LC_ALL")
        return {**{name: value for name, value in process_environment().items() if name in kept}, **own}
