"""``make run``: the whole system on this machine, until Ctrl-C. ``python -m infra.local.run --port 8787 --samples``."""

import argparse
import math
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING

from infra.local.answer import readable
from infra.local.machine import PARTS, ROOT, Machine, Watch
from infra.local.ports import free_port, hold_port
from infra.local.processes import Make
from infra.local.state import State, run_command
from siftline.kit.errors import ConfigurationError
from siftline.operate.command_line import Parser, number
from siftline.operate.set_up_error import SetUpError, check_settings
from siftline.settings.functions import LocalSettings, process_environment

if TYPE_CHECKING:
    from infra.local.meters import Meters
    from infra.local.samples import SampleServer

_LOOK_EVERY_S = 0.2
_SAMPLES_EVERY_S = 2.0
_ECHO_S = 0.1
MODEL = ROOT / ".local" / "model"


class Stopped(BaseException):
    """A signal asked to stop. Not an ``Exception``: nothing on the way may take it for a failure of its own."""


class Signals:
    """Counts SIGINT and SIGTERM, and turns one of them into ``Stopped`` where that is asked for.

    Never two: a second signal, perhaps a millisecond later, would strike whatever handles the first. What comes so soon
    is its echo: ``make`` passes on what its whole process group was sent, too.
    """

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self.count = 0
        self._now = now
        self._struck_at = -math.inf
        self._raises = False
        signal.signal(signal.SIGINT, self._take)
        signal.signal(signal.SIGTERM, self._take)

    @contextmanager
    def stopping(self, *, after: int = 0) -> Iterator[None]:
        """Raise ``Stopped`` in a block at the next signal, or at once if more than ``after`` came before it."""
        self._raises = True
        try:
            if self.count > after:
                raise Stopped
            yield
        finally:
            self._raises = False

    def _take(self, _: int, __: FrameType | None) -> None:
        if self._now() - self._struck_at < _ECHO_S:
            return
        self._struck_at = self._now()
        self.count += 1
        if self._raises:
            self._raises = False
            raise Stopped


def main(arguments: list[str] | None = None) -> int:
    """Run until a signal; return the exit code."""
    try:
        options = _options(readable(sys.argv[1:] if arguments is None else arguments))
        check_settings()
        state = State(options.folder)
        taken = state.take()
        if not taken:
            with closing(state):
                state.refuse_others()
    except OSError as error:
        print(f"siftline: {options.folder} cannot be used: {error.strerror}.", file=sys.stderr)
        return 1
    except SetUpError as error:
        print(f"siftline: {error}", file=sys.stderr)
        return 1
    if not taken:
        where = f", at {state.address}" if state.address else ""
        print(f"Siftline is already running here{where}. Stop it with Ctrl-C where it was started.", file=sys.stderr)
        return 1
    signals = Signals()
    run = Run(state, run_command(options.folder), signals)
    try:
        with signals.stopping():
            run.start(port=options.port, samples=options.samples)
            run.watch()
    except SetUpError as error:
        print(f"siftline: {error}", file=sys.stderr)
        return 1
    except Stopped:
        return 0
    finally:
        run.shut_down()
    return 0


def _options(arguments: list[str]) -> argparse.Namespace:
    parser = Parser(
        prog="make run",
        usage="make run (options: PORT=8787, SAMPLES=1, FOLDER=.local)",
        description="Run the whole system on this machine until Ctrl-C.",
    )
    parser.add_argument("--port", type=number, default=8787, help="port of the API on 127.0.0.1")
    parser.add_argument("--samples", action="store_true", help="serve sample feeds and follow them")
    parser.add_argument("--folder", type=Path, default=ROOT / ".local", help="data folder")
    return parser.parse_args(arguments)


def _say(line: str) -> None:
    print(line, flush=True)


def _port(wanted: int, command: str) -> int:
    """Return the port if it is free. Raises ``SetUpError`` with what else to type: ``command`` and another port."""
    if not 0 <= wanted < 65_536:
        raise SetUpError(f"{wanted} is not a valid port: use 1 to 65535, or 0 for any free port.")
    try:
        return hold_port(wanted)
    except PermissionError as error:
        raise SetUpError(f"This user may not use port {wanted}. Try: {command} PORT=8787") from error
    except OSError as error:
        advice = f"stop the program that uses it, or try a free one: {command} PORT={free_port()}"
        raise SetUpError(f"Port {wanted} is in use: {advice}") from error


def _model() -> None:
    """Assemble the embedding model unless it is there."""
    if (MODEL / "manifest.json").exists():
        return
    _say("Assembling the embedding model (only once; takes some minutes) …")
    command = [sys.executable, "-m", "layers.model.assemble", "--out", str(MODEL)]
    if subprocess.run(command, cwd=ROOT, check=False).returncode:
        raise SetUpError("The embedding model could not be assembled: see above. Run the command again.")


def _read_named_files() -> None:
    """Read the files that settings name. Raises ``SetUpError``: a wrong one is told now, not with the first article."""
    given = {name.upper(): value for name, value in process_environment().items()}
    for name in ("TOPICS_FILE", "ENTITY_CSV"):
        if given.get(name) and not Path(given[name]).is_file():  # a device or a pipe may never end
            raise SetUpError(f"{name}: There is no file {given[name]}.")
    try:
        if file := given.get("TOPICS_FILE"):
            from siftline.analyze.topics.topic_list import load_labels  # noqa: PLC0415  -- only who names one waits

            load_labels(Path(file))
        if file := given.get("ENTITY_CSV"):
            from siftline.resolve.providers import CsvNames  # noqa: PLC0415  -- as above

            CsvNames(Path(file)).load()
        for name in ("TOPIC_MODEL_URI", "ENTITY_MODEL_URI"):
            if (uri := given.get(name)) and not uri.startswith("s3://"):
                from siftline.models.model_folders import ModelFolder  # noqa: PLC0415  -- as above

                ModelFolder(uri, MODEL)
    except ConfigurationError as error:
        raise SetUpError(error.detail) from error


class Run:
    """One run, from the first program started to the last one stopped."""

    def __init__(self, state: State, command: str, signals: Signals) -> None:
        """``command``: what was typed to start it, but for ports and samples."""
        self._state = state
        self._command = command
        self._signals = signals
        self._machine: Machine | None = None
        self._samples: SampleServer | None = None
        self._meters: Meters | None = None
        self._followed: list[str] = []
        self._token = ""
        self._is_new = False

    def start(self, *, port: int, samples: bool) -> None:
        """Start everything and tell how to use it. Raises ``SetUpError``."""
        for name in self._state.end_leftovers():
            _say(f"Stopped {PARTS.get(name, name)}, left over from an earlier run.")
        port = _port(port, self._command + (" SAMPLES=1" if samples else ""))
        _read_named_files()
        _model()
        pg_bin = LocalSettings().pg_bin
        machine = Machine(self._state, port=port, binaries=Path(pg_bin) if pg_bin else None, say=_say)
        self._machine = machine
        self._state.set_address(machine.url)
        _say("Starting …")
        machine.launch()
        # What follows takes a second to import: time in which the programs just launched come up.
        from infra.local import furnish  # noqa: PLC0415  -- as the comment above says

        with furnish.told():
            self._furnish(machine, samples=samples)
        samples_url = self._samples.base_url if self._samples else None
        announce(machine, self._token, self._command, samples_url, followed=len(self._followed), is_new=self._is_new)

    def _furnish(self, machine: Machine, *, samples: bool) -> None:
        """Bring in what the parts need inside, and start the worker."""
        from infra.local import furnish  # noqa: PLC0415  -- loaded by ``start``

        furnish.database(machine)
        furnish.LostLeases(machine).gone()
        self._serve_samples(machine, asked=samples)
        machine.services["aws"].wait_ready()
        furnish.queues(machine)
        furnish.LostMessages(machine).gone()
        self._token = furnish.token(machine, self._state)
        machine.wait_ready()
        machine.launch_worker()
        self._followed = self._samples.urls() if self._samples and samples else []
        for url in self._followed:
            furnish.follow(machine, self._token, url)
        self._meters = furnish.meters(machine, _say)
        self._is_new = not self._followed and furnish.nobody_holds_anything(machine)
        furnish.load_model(machine, self._token)

    def _serve_samples(self, machine: Machine, *, asked: bool) -> None:
        """Serve the sample feeds where that was asked for, or where somebody follows them from an earlier run."""
        from infra.local import furnish  # noqa: PLC0415  -- loaded by ``start``
        from infra.local.samples import DEFAULT_PORT  # noqa: PLC0415  -- as above

        if not asked and not furnish.follows_samples(machine, self._state):
            return
        try:
            self._samples = furnish.samples(machine, self._state)
            if not self._samples.base_url.endswith(f":{DEFAULT_PORT}"):
                _say(f"The samples are at {self._samples.base_url}/: where README says {DEFAULT_PORT}, read that port.")
        except SetUpError as error:
            if asked:
                raise
            _say(f"The sample feeds that are followed here are not served: {error}")

    def watch(self) -> None:
        """Start again whatever ends, until a signal. Raises ``SetUpError`` when something does not come back."""
        from infra.local import furnish  # noqa: PLC0415  -- loaded by ``start``
        from infra.local.worker_faults import OpenBreakers, WorkerFaults  # noqa: PLC0415  -- as is what it needs

        machine = self._machine
        if machine is None:
            return

        def on_restart(name: str) -> None:
            if name == "aws":
                furnish.queues(machine)
                messages.gone()

        def on_end(name: str) -> None:
            if name == "worker":
                leases.gone()

        leases, messages = furnish.LostLeases(machine), furnish.LostMessages(machine)
        watch = Watch(machine, _say, on_restart, on_end)
        make = Make.starter()
        news, look_at_s = self._news(machine), 0.0
        faults = WorkerFaults(machine.worker_url, machine.secret, machine.state.logs / "worker.log")
        with closing(furnish.connect(machine)) as database, closing(furnish.missing_queues(machine)) as queues:
            breakers = OpenBreakers(database)
            # Counted too: what a signal raises inside a finalizer of some library is lost.
            while not self._signals.count and (make is None or not make.interrupted()):
                time.sleep(_LOOK_EVERY_S)
                watch.look()
                if time.monotonic() >= look_at_s:
                    look_at_s = time.monotonic() + _SAMPLES_EVERY_S
                    machine.keep_logs_short()
                    leases.free()
                    messages.free()
                    for line in (*faults.news(), *breakers.news(), *queues.news(), next(news, None)):
                        if line:
                            _say(line)

    def _news(self, machine: Machine) -> Iterator[str]:
        """Yield at each look what is to be told: that the samples are read, then of what the first briefing tells."""
        from infra.local import furnish  # noqa: PLC0415  -- loaded by ``start``

        if not self._followed:
            return
        database = furnish.connect(machine)
        while (ready := furnish.samples_ready(database, self._followed)) is None:
            yield ""
        database.close()
        yield f"All {ready} sample articles are READY."
        try:
            briefing = furnish.first_briefing(machine, self._token)
        except SetUpError as error:
            yield str(error)
            return
        if briefing is None:
            return
        while (made := furnish.edition_of(machine, self._token, briefing)) is None:
            yield ""
        address, page = made
        asked = f"curl -H 'Authorization: Bearer {self._token}' -H 'Accept: text/plain' {address}"
        yield f"The first briefing is ready. Read it in a browser or here:\n\n  {page}\n  {asked}\n"

    def shut_down(self) -> None:
        """Stop everything in order. A second signal cuts the draining short."""
        machine, hurried = self._machine, False
        if self._meters is not None:
            self._meters.stop()
        if machine is not None and machine.services:
            works = "worker" in machine.services
            _say(f"\nStopping{': the worker finishes running jobs (Ctrl-C again to stop now)' if works else ''} …")
            try:
                with self._signals.stopping(after=1):
                    machine.stop(drain=True)
            except Stopped:
                hurried = True
            machine.stop(drain=False)
            _say("Stopped; interrupted jobs resume at the next start." if hurried and works else "Stopped.")
        if self._samples is not None:
            self._samples.stop()
        self._state.forget_address()


def announce(
    machine: Machine, token: str, command: str, samples_url: str | None, *, followed: int, is_new: bool
) -> None:
    """Tell where everything is, and what to do first where nobody has anything yet; ``command`` started it."""
    asked = f"curl -H 'Authorization: Bearer {token}'"
    _say(f"\nSiftline is running at {machine.url} (documentation: {machine.url}/docs)")
    _say(f"token  {token} (saved in {_shown(machine.state.token_file)})")
    if samples_url:
        _say(f"sample feeds and pages  {samples_url}/")
    if followed:
        _say(f"It follows {followed} sample feeds; a message appears here when their articles are READY. Then try:\n")
        _say(f"  {asked} '{machine.url}/v1/items?status=READY&limit=5'\n")
    elif is_new:
        data = '{"url": "https://www.rfc-editor.org/rfc/rfc9457.html"}'
        _say("To start, save a web page and watch it become READY in GET /v1/items.")
        _say(f"(Without internet access: {command} SAMPLES=1 serves sample feeds and pages.)\n")
        _say(f"  {asked} -H 'Content-Type: application/json' -d '{data}' {machine.url}/v1/items\n")
    _say(f"Logs are in {_shown(machine.state.logs)}. Ctrl-C stops everything.")


def _shown(path: Path) -> Path:
    return path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path


if __name__ == "__main__":
    sys.exit(main())
