"""AWS on this machine: MiniStack."""

import signal
import subprocess
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from infra.local.errors import SetUpError
from infra.local.postgres import free_port
from infra.local.processes import end, tethered, wait_until
from infra.local.programs import answers, open_log
from siftline.settings import process_environment

REGION = "us-east-1"
CREDENTIALS = {"AWS_ACCESS_KEY_ID": "local", "AWS_SECRET_ACCESS_KEY": "local", "AWS_DEFAULT_REGION": REGION}
CLIENT_OPTIONS: Any = {
    "region_name": REGION,
    "aws_access_key_id": CREDENTIALS["AWS_ACCESS_KEY_ID"],
    "aws_secret_access_key": CREDENTIALS["AWS_SECRET_ACCESS_KEY"],
}
"""For ``boto3.client``, besides the endpoint."""
_SERVICES = "sqs,ses,sesv2,cloudwatch,logs,secretsmanager,sts"
_HEALTH = "/_ministack/health"
_START_WAIT_S = 60.0
# Queues are kept under this name whatever port is free today, so that a restart finds them again.
_CANONICAL_PORT = "4566"


class MiniStack:
    """One MiniStack server on 127.0.0.1; a context manager. ``port`` 0 takes a free one.

    ``everything`` starts all of its services, Lambda and CloudFormation included, for deploying the template into it;
    else only those that the application itself calls. State is kept in ``home`` between runs if ``persists``.
    """

    def __init__(
        self, python: Path, home: Path, *, port: int = 0, persists: bool = True, everything: bool = False
    ) -> None:
        self._python = python
        self._home = home.absolute()
        self._port = port or free_port()
        self._persists = persists
        self._everything = everything
        self._process: subprocess.Popen[bytes] | None = None
        self.log_file = self._home / "ministack.log"

    def __enter__(self) -> Self:
        """Start the server."""
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop the server."""
        self.stop()

    @property
    def endpoint(self) -> str:
        """The URL of every AWS service in it."""
        return f"http://127.0.0.1:{self._port}"

    @property
    def pid(self) -> int | None:
        """The server's process id while it runs."""
        return self._process.pid if self._process else None

    @property
    def exit_code(self) -> int | None:
        """How the server ended, while nobody has stopped it; ``None`` while it runs or was never started."""
        return self._process.poll() if self._process else None

    def start(self) -> None:
        """Start; returns once it answers. Raises ``SetUpError``."""
        self.launch()
        self.wait_ready()

    def launch(self) -> None:
        """Start without waiting."""
        for folder in ("state", "s3", "tmp"):
            (self._home / folder).mkdir(parents=True, exist_ok=True)
        # One process: with workers of its own, a killed parent would leave them behind on the port.
        options = ["--bind", f"127.0.0.1:{self._port}", "--workers", "0", "--keep-alive", "75"]
        with open_log(self.log_file) as log:
            self._process = subprocess.Popen(
                tethered([str(self._python), "-m", "hypercorn", "ministack.app:app", *options]),
                cwd=self._home,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=self._environment(),
                process_group=0,  # Ctrl-C goes to the supervisor alone, which stops things in order
            )

    def wait_ready(self) -> None:
        """Wait until it answers. Raises ``SetUpError``."""
        wait_until(lambda: self.exit_code is not None or answers(self._port, _HEALTH), _START_WAIT_S)
        if self.exit_code is not None or not answers(self._port, _HEALTH):
            self.stop()
            raise SetUpError(f"MiniStack does not start; its last words are in {self.log_file}.")

    def stop(self) -> None:
        """Stop; with ``persists`` the queues' messages are written to disk."""
        if self._process is not None:
            end(self._process, [(signal.SIGTERM, 10.0)])
            self._process = None

    def _environment(self) -> dict[str, str]:
        own = {
            "BIND_HOST": "127.0.0.1",
            "GATEWAY_PORT": str(self._port) if self._everything else _CANONICAL_PORT,
            "PERSIST_STATE": "1" if self._persists else "0",
            "STATE_DIR": str(self._home / "state"),
            "S3_DATA_DIR": str(self._home / "s3"),
            "TMPDIR": str(self._home / "tmp"),
            "IOT_MTLS_ENABLED": "0",  # would listen on every address
            "SFTP_ENABLED": "0",
            "DOCKER_HOST": "unix:///nonexistent",  # it would look for containers of its own to remove
            "LOG_LEVEL": "WARNING",
            **CREDENTIALS,
            **({} if self._everything else {"SERVICES": _SERVICES}),
        }
        kept = ("PATH", "HOME", "LANG", "LC_ALL")
        return {**{name: value for name, value in process_environment().items() if name in kept}, **own}
