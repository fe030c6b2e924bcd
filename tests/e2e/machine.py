"""The whole system of ``make run`` as a process of its own, in a folder of its own, and a client that speaks to it."""

import json
import shlex
import signal
import subprocess
import sys
import time
import urllib.parse
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path
from typing import Any, Self, TypeVar

import boto3

from infra.local.ports import free_port
from infra.local.state import SAMPLES_PORT
from siftline.settings.functions import process_environment

ROOT = Path(__file__).resolve().parents[2]
_T = TypeVar("_T")


def wait_for(what: str, look: Callable[[], _T | None], *, patience_s: float = 800.0) -> _T:
    """Return the first truthy answer of ``look``; fail with ``what`` when patience ends."""
    until = time.monotonic() + patience_s
    last: _T | None = None
    while time.monotonic() < until:
        last = look()
        if last:
            return last
        time.sleep(0.2)
    raise AssertionError(f"not within {patience_s:.0f} s: {what}; last seen: {last!r}")


class RunningMachine:
    """Starts the supervisor in ``folder`` and stops it at the end of the block."""

    def __init__(self, folder: Path, *, samples: bool = False, settings: Mapping[str, str] | None = None) -> None:
        self.folder = folder
        self._samples = samples
        self._settings = dict(settings or {})
        self._process: subprocess.Popen[bytes] | None = None
        self._said_before = 0

    def __enter__(self) -> Self:
        """Start and wait until it says where it answers."""
        self.folder.mkdir(parents=True, exist_ok=True)
        self.folder.chmod(0o755)
        if self._samples and not (self.folder / SAMPLES_PORT).exists():
            # Another run on this machine may take the usual one before this machine starts again.
            (self.folder / SAMPLES_PORT).write_text(str(free_port()), encoding="ascii")
        with (self.folder / "run.log").open("ab") as log:
            self._said_before = log.tell()
            self._process = subprocess.Popen(
                [
                    sys.executable,
                    "-m",
                    "infra.local.run",
                    "--port",
                    "0",
                    "--folder",
                    str(self.folder),
                    *(["--samples"] if self._samples else []),
                ],
                cwd=ROOT,
                stdout=log,
                stderr=log,
                stdin=subprocess.DEVNULL,
                env={**process_environment(), "PYTHONPATH": f"{ROOT / 'shared'}:{ROOT}", **self._settings},
                start_new_session=True,
            )
        wait_for("the machine says it runs", self._ready, patience_s=600)
        return self

    def __exit__(self, *_: object) -> None:
        """Stop it as Ctrl-C does."""
        self.stop()

    def stop(self, *signals: signal.Signals) -> int:
        """Stop it as Ctrl-C does, or with these signals at once; return the exit code."""
        assert self._process is not None
        for number in signals or (signal.SIGINT,):
            self._process.send_signal(number)
        try:
            return self._process.wait(240)
        except subprocess.TimeoutExpired:
            self._process.kill()
            raise

    def kill(self) -> None:
        """End the supervisor without warning, as a crash of the machine would."""
        assert self._process is not None
        self._process.kill()
        self._process.wait()

    def said(self) -> str:
        """Return what it has printed since this start."""
        return (self.folder / "run.log").read_bytes()[self._said_before :].decode(errors="replace")

    @property
    def pid(self) -> int:
        """The supervisor's process id."""
        assert self._process is not None
        return self._process.pid

    @property
    def worker_pid(self) -> int:
        """The worker's process id, as the README tells people to find it."""
        return int((self.folder / "worker.pid").read_text())

    def pid_of(self, part: str) -> int:
        """Return the process id of a part, as the supervisor keeps it for its next start."""
        return int(json.loads((self.folder / "processes.json").read_text())[part][0])

    @property
    def token(self) -> str:
        """The first user's token."""
        return (self.folder / "token").read_text().strip()

    @property
    def environment(self) -> dict[str, str]:
        """What the parts were given."""
        words = shlex.split((self.folder / "environment").read_text())
        return dict(word.split("=", 1) for word in words)

    def client(self, token: str | None = None) -> "Client":
        """Return an API client."""
        return Client((self.folder / "address").read_text(), token or self.token)

    @contextmanager
    def sqs(self) -> Iterator[Any]:
        """Open an SQS client of the machine's endpoint for the length of a block."""
        client = boto3.client(
            "sqs",
            endpoint_url=self.environment["AWS_ENDPOINT_URL"],
            region_name=self.environment["AWS_DEFAULT_REGION"],
            aws_access_key_id=self.environment["AWS_ACCESS_KEY_ID"],
            aws_secret_access_key=self.environment["AWS_SECRET_ACCESS_KEY"],
        )
        try:
            yield client
        finally:
            client.close()

    def _ready(self) -> bool:
        assert self._process is not None
        assert self._process.poll() is None, self.said()
        return "Ctrl-C stops everything." in self.said()


class Client:
    """Speaks JSON to the API."""

    def __init__(self, address: str, token: str) -> None:
        self._host = address.removeprefix("http://")
        self._token = token

    def call(
        self, method: str, path: str, body: Any = None, *, content_type: str = "application/json", **query: Any
    ) -> tuple[int, Any]:
        """Return the status and the JSON of an answer; a body of text goes as it is."""
        connection = HTTPConnection(self._host, timeout=300)
        target = path + ("?" + urllib.parse.urlencode(query) if query else "")
        headers = {"Authorization": f"Bearer {self._token}"}
        if body is not None:
            headers["Content-Type"] = content_type
            body = body if isinstance(body, str) else json.dumps(body)
        try:
            connection.request(method, target, body, headers)
            answer = connection.getresponse()
            text = answer.read()
            return answer.status, json.loads(text) if text else None
        finally:
            connection.close()

    def get(self, path: str, **query: Any) -> Any:
        """Return the JSON of a 200."""
        status, body = self.call("GET", path, **query)
        assert status == 200, (path, status, body)
        return body

    def save(self, url: str) -> Any:
        """Save a page and return the answer."""
        status, body = self.call("POST", "/v1/items", {"url": url})
        assert status in (200, 202), (status, body)
        return body

    def items(self, **query: Any) -> list[Any]:
        """Return all items of a list, page by page."""
        found: list[Any] = []
        cursor = None
        while True:
            page = self.get("/v1/items", limit=200, **query, **({"next": cursor} if cursor else {}))
            found += page["items"]
            cursor = page["next"]
            if not cursor:
                return found

    def settled(self, item_id: str, *, patience_s: float = 800.0) -> Any:
        """Return an item once it is READY or FAILED."""

        def look() -> Any:
            item = self.get(f"/v1/items/{item_id}")
            return item if item["status"] in ("READY", "FAILED") else None

        return wait_for(f"{item_id} is READY or FAILED", look, patience_s=patience_s)
