"""The whole system on one machine: its parts, how they find each other, and in which order they start and stop."""

import secrets
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from infra.local.aws import CREDENTIALS, MiniStack
from infra.local.ministack_environment import ministack_python
from infra.local.ports import free_port
from infra.local.postgres import EmbeddedPostgres
from infra.local.programs import Program, Service, answers, beginning
from infra.local.state import State
from siftline.operate.command_line import counted
from siftline.operate.set_up_error import SetUpError
from siftline.settings.functions import WorkerSettings, process_environment
from siftline.worker.template import Reference, Template

ROOT = Path(__file__).resolve().parents[2]
_PROXIES = ("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")
# More than the worker itself needs after its drain: it closes connections and flushes.
_WORKER_LEEWAY_S = 5.0

PARTS = {
    "api": "the API",
    "aws": "MiniStack",
    "postgres": "PostgreSQL",
    "vectors": "the vector engine",
    "worker": "the worker",
}
"""The parts as a person knows them."""

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Ports:
    """Where the parts listen, all on 127.0.0.1."""

    api: int
    aws: int
    vectors: int
    worker: int


class Machine:
    """Starts and stops the parts. ``state`` is where everything is kept; ``say`` tells a person about long steps."""

    def __init__(self, state: State, *, port: int, binaries: Path | None, say: Say) -> None:
        self.state = state
        self._say = say
        self.template = Template.read(ROOT / "template.yaml", {"Stage": "local"})
        self._ports = Ports(api=port, aws=free_port(), vectors=free_port(), worker=free_port())
        self.postgres = EmbeddedPostgres(state.folder / "postgres", free_port(), binaries=binaries)
        self.database = "siftline"
        self.secret = secrets.token_hex(16)
        """Of this run: what MiniStack, the vectors and the worker ask for before they answer."""
        self.services: dict[str, Service] = {}
        self._environment: dict[str, str] = {}

    @property
    def url(self) -> str:
        """Where the API answers."""
        return f"http://127.0.0.1:{self._ports.api}"

    @property
    def aws_url(self) -> str:
        """Where MiniStack answers."""
        return f"http://127.0.0.1:{self._ports.aws}"

    def launch(self) -> None:
        """Start what the worker stands on, and the API: all side by side, for each takes a second to come up."""
        self.postgres.prepare()
        variables = self.variables()
        self.state.keep_environment(variables)
        self._environment = {**_clean(process_environment()), **variables}
        python = ministack_python(ROOT / ".local" / "ministack", self._say)
        self._launch("aws", MiniStack(python, self.state.folder / "aws", port=self._ports.aws, access_key=self.secret))
        self._launch("api", self._api())
        self._launch("vectors", self._vectors())
        if not (self.state.folder / "postgres" / "data").exists():
            self._say("Creating a PostgreSQL database …")
        self._launch("postgres", self.postgres)

    def wait_ready(self) -> None:
        """Wait until all that was launched can be used. Raises ``SetUpError``."""
        for service in self.services.values():
            service.wait_ready()

    @property
    def worker_url(self) -> str:
        """Where the worker tells of its health."""
        return f"http://127.0.0.1:{self._ports.worker}"

    def launch_worker(self) -> None:
        """Start the worker, once tables and queues are there."""
        self._launch("worker", self._worker())

    def restart(self, name: str) -> None:
        """Start a part that ended; raises ``SetUpError`` when it does not come back."""
        service = self.services[name]
        service.stop()
        self._launch(name, service)
        service.wait_ready()

    def keep_logs_short(self) -> None:
        """Put aside what grew long of the parts' logs."""
        for service in self.services.values():
            service.keep_log_short()

    def stop(self, *, drain: bool) -> None:
        """Stop what was started: first what brings new work, then what does it, then what it stands on."""
        for name in ("api", "worker", "vectors", "aws", "postgres"):
            service = self.services.get(name)
            if service is None:
                continue
            if isinstance(service, Program) and not drain:
                service.patience_s = 1.0
            service.stop()
            self.state.remember(name, None)
            del self.services[name]

    def variables(self) -> dict[str, str]:
        """Return the environment by which the functions find everything."""
        return {
            **CREDENTIALS,
            "AWS_ACCESS_KEY_ID": self.secret,
            **self._queue_urls(),
            "AWS_ENDPOINT_URL": self.aws_url,
            "AWS_EC2_METADATA_DISABLED": "true",
            # Nothing of the person's own AWS set-up is read, so nothing here can reach a real account.
            "AWS_CONFIG_FILE": "/dev/null",
            "AWS_SHARED_CREDENTIALS_FILE": "/dev/null",
            "SIFTLINE_STAGE": "local",
            "DATABASE_URL": self.postgres.url(self.database),
            "DATABASE_POOL_SIZE": "20",
            "QDRANT_URL": f"http://127.0.0.1:{self._ports.vectors}",
            "QDRANT_API_KEY": self.secret,
            "MODEL_URI": str(ROOT / ".local" / "model"),
            "FIRST_IMPORT": "all",
            "PUBLIC_URL": process_environment().get("PUBLIC_URL") or self.url,
            "HTTP_ALLOW_LOOPBACK": "true",
            "WORKER_HEALTH_URL": self.worker_url,  # asked by `make run` itself and by GET /health?deep=1
            "WORKER_HEALTH_TOKEN": self.secret,
            "WORKER_POLL_S": "2",  # cheap here, and the worker stops the sooner
            "NO_PROXY": "127.0.0.1,localhost",
            "PYTHONPATH": f"{ROOT / 'shared'}:{ROOT}",
            "PYTHONUNBUFFERED": "1",
        }

    def _queue_urls(self) -> dict[str, str]:
        """Return the URL of every queue in the variables in which the template's functions get it."""
        names = {Reference(queue.logical_id): queue.name for queue in self.template.queues()}
        account = "000000000000"
        return {
            variable: f"{self.aws_url}/{account}/{names[reference]}"
            for function in self.template.functions.values()
            for variable, reference in function.references.items()
            if reference in names
        }

    def _launch(self, name: str, service: Service) -> None:
        service.launch()
        self.services[name] = service
        self.state.remember(name, service.pid)
        if name == "worker":  # at once: the worker itself writes it only when it has come up
            self.state.worker_pid_file.write_text(f"{service.pid}\n", encoding="ascii")

    def _vectors(self) -> Program:
        port = self._ports.vectors
        arguments = ["--folder", str(self.state.folder / "vectors"), "--port", str(port)]
        return self._program(
            "vectors", "infra.local.vectors", arguments, lambda: answers(port, "/healthz", self.secret)
        )

    def _api(self) -> Program:
        port = self._ports.api
        return self._program("api", "infra.local.gateway", ["--port", str(port)], lambda: answers(port, "/health"))

    def _worker(self) -> Program:
        port = self._ports.worker
        arguments = ["--pid-file", str(self.state.worker_pid_file), "--health-port", str(port)]
        program = self._program("worker", "siftline.worker", arguments, lambda: answers(port, "/health", self.secret))
        program.patience_s = WorkerSettings().worker_drain_s + _WORKER_LEEWAY_S
        return program

    def _program(
        self, name: str, module: str, arguments: list[str], ready: Callable[[], bool] = lambda: True
    ) -> Program:
        return Program(
            PARTS[name],
            [sys.executable, "-m", module, *arguments],
            folder=ROOT,
            environment=self._environment,
            log=self.state.logs / f"{name}.log",
            ready=ready,
        )


class Watch:
    """Starts parts that ended again, with growing patience for one that keeps ending."""

    _SETTLED_S = 120.0
    _TRIES = 6

    def __init__(
        self,
        machine: Machine,
        say: Say,
        on_restart: Callable[[str], None],
        on_end: Callable[[str], None],
        *,
        waits_s: Sequence[float] = (0.0, 1.0, 2.0, 4.0, 8.0, 16.0, 30.0),
    ) -> None:
        self._machine = machine
        self._on_restart = on_restart
        self._on_end = on_end
        self._waits_s = waits_s
        self._say = say
        self._deaths: dict[str, list[float]] = {}
        self._down: set[str] = set()

    def look(self) -> None:
        """Look at every part once. Raises ``SetUpError`` when one cannot be started again."""
        for name, service in self._machine.services.items():
            code = service.exit_code
            if code is None and name not in self._down:
                continue
            now = time.monotonic()
            recent = [moment for moment in self._deaths.get(name, []) if now - moment < self._SETTLED_S]
            self._deaths[name] = [*recent, now]
            wait_s = self._waits_s[min(len(recent), len(self._waits_s) - 1)]
            how = _how_ended(code)
            later = f" in {counted(round(wait_s), 'second')}" if wait_s else ""
            self._say(f"{beginning(PARTS[name])} {how}; restarting it{later}.")
            time.sleep(wait_s)
            self._on_end(name)
            self._restart(name, last=len(recent) >= self._TRIES)

    def _restart(self, name: str, *, last: bool) -> None:
        """Start a part again; one that dies while it starts has ended once more."""
        try:
            self._machine.restart(name)
        except SetUpError as error:
            if last:
                raise
            self._say(str(error))
            self._down.add(name)
            return
        self._down.discard(name)
        self._on_restart(name)


def _how_ended(code: int | None) -> str:
    if code is None:
        return "did not start"
    return f"was killed by signal {-code}" if code < 0 else f"exited with code {code}"


def _clean(environment: Mapping[str, str]) -> dict[str, str]:
    """Leave out what could send a part of ours anywhere but to this machine's own services."""
    ours = set(_PROXIES) | {"DATABASE_URL", "QDRANT_API_KEY", "PYTHONHOME", "PYTHONSTARTUP"}
    return {
        name: value for name, value in environment.items() if name not in ours and not name.startswith(("AWS_", "PG"))
    }
