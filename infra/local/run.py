"""``make run``: the whole system on this machine, until Ctrl-C. ``python -m infra.local.run --port 8787 --samples``."""

import argparse
import json
import signal
import socket
import subprocess
import sys
import time
from http.client import HTTPConnection
from pathlib import Path
from types import FrameType

from infra.local.errors import SetUpError
from infra.local.machine import ROOT, Machine, Watch
from infra.local.postgres import free_port
from infra.local.samples import DEFAULT_PORT, SampleServer
from infra.local.state import State
from infra.local.user import make_user
from siftline.api.authorize import Authorizer
from siftline.kit.db import SingleConnection
from siftline.settings import LocalSettings

_LOOK_EVERY_S = 0.2
MODEL = ROOT / ".local" / "model"


class _Stopped(BaseException):
    """A signal asked to stop. Not an ``Exception``: nothing on the way may take it for a failure of its own."""


def main(arguments: list[str] | None = None) -> int:
    """Run until a signal; return the exit code."""
    options = _options(arguments)
    state = State(options.folder)
    if not state.take():
        print(f"Siftline already runs here, at {state.address}. Stop it where it was started, with Ctrl-C.")
        return 0
    _on_signal(_stop)
    machine: Machine | None = None
    samples: SampleServer | None = None
    try:
        for name in state.end_leftovers():
            _say(f"Ended the {name} that an earlier run left behind.")
        port = _port(options.port)
        _model()
        if options.samples:
            samples = _samples(state)
        pg_bin = LocalSettings().pg_bin
        machine = Machine(state, port=port, binaries=Path(pg_bin) if pg_bin else None, say=_say)
        state.set_address(machine.url)
        _say("Starting …")
        machine.start()
        _announce(machine, _token(machine, state), samples)
        watch = Watch(machine, _say)
        while True:
            time.sleep(_LOOK_EVERY_S)
            watch.look()
    except SetUpError as error:
        print(f"siftline: {error}", file=sys.stderr)
        return 1
    except _Stopped:
        return 0
    finally:
        _shut_down(machine, samples)


def _options(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make run", description="The whole system on this machine, until Ctrl-C.")
    parser.add_argument("--port", type=int, default=8787, help="where the API answers on 127.0.0.1")
    parser.add_argument("--samples", action="store_true", help="serve the sample feeds and follow them")
    parser.add_argument("--folder", type=Path, default=ROOT / ".local", help="where everything is kept")
    return parser.parse_args(arguments)


def _stop(_: int, __: FrameType | None) -> None:
    raise _Stopped


def _on_signal(action: "signal._HANDLER") -> None:
    signal.signal(signal.SIGINT, action)
    signal.signal(signal.SIGTERM, action)


def _say(line: str) -> None:
    print(line, flush=True)


def _port(wanted: int) -> int:
    """Return the port if it is free. Raises ``SetUpError``."""
    if wanted == 0:
        return free_port()
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", wanted))
        except (OSError, OverflowError) as error:
            advice = f"end what uses it, or choose another: make run PORT={wanted + 1}"
            raise SetUpError(f"Port {wanted} is taken: {advice}") from error
    return wanted


def _model() -> None:
    """Assemble the embedding model unless it is there."""
    if (MODEL / "manifest.json").exists():
        return
    _say("Assembling the embedding model (the first time takes some minutes) …")
    command = [sys.executable, "-m", "layers.model.assemble", "--out", str(MODEL)]
    if subprocess.run(command, cwd=ROOT, check=False).returncode:
        raise SetUpError("The embedding model could not be assembled: see above. Nothing was lost; run it again.")


def _samples(state: State) -> SampleServer:
    """Serve the samples, on the port they had before: their addresses are in the database."""
    kept = state.folder / "samples.port"
    port = int(kept.read_text(encoding="ascii")) if kept.exists() else DEFAULT_PORT
    try:
        server = SampleServer(port)
    except OSError as error:
        if kept.exists():
            raise SetUpError(f"Port {port}, where the samples are followed, is taken: end what uses it.") from error
        server = SampleServer(0)
    kept.write_text(server.base_url.rpartition(":")[2], encoding="ascii")
    return server.start()


def _token(machine: Machine, state: State) -> str:
    """Return the token kept from before, if the database knows it, or make a user with a new one."""
    database = SingleConnection(machine.postgres.url())
    try:
        kept = state.token()
        if kept and Authorizer(database).identify(f"Bearer {kept}"):
            return kept
        token = make_user(database, "reader").token
        state.keep_token(token)
        return token
    finally:
        database.close()


def _announce(machine: Machine, token: str, samples: SampleServer | None) -> None:
    followed = [_follow(machine, token, url) for url in samples.urls()] if samples else []
    kept = machine.state.token_file
    shown = kept.relative_to(Path.cwd()) if kept.is_relative_to(Path.cwd()) else kept
    _say(f"\nSiftline runs at {machine.url} (its documentation: {machine.url}/docs)")
    _say(f"token  {token} (kept in {shown})")
    if followed:
        _say(f"It follows {len(followed)} sample feeds; their articles are READY within a minute. First use:\n")
        call, data = f"{machine.url}/v1/items?status=READY", ""
    else:
        _say("First use: save a page, then see it become READY in GET /v1/items.\n")
        call = f"{machine.url}/v1/items"
        data = " -H 'Content-Type: application/json' -d '{\"url\": \"https://example.com/\"}'"
    _say(f"  curl -H 'Authorization: Bearer {token}'{data} '{call}'\n")
    _say(f"Logs are in {machine.state.logs}. Ctrl-C stops everything.")


def _follow(machine: Machine, token: str, url: str) -> str:
    """Subscribe to a feed, all of its first import included; following it already is no error."""
    connection = HTTPConnection(machine.url.removeprefix("http://"), timeout=30)
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    connection.request("POST", "/v1/sources", json.dumps({"url": url, "first_import": "all"}), headers)
    answer = connection.getresponse()
    text = answer.read().decode()
    connection.close()
    if answer.status not in (200, 202):
        raise SetUpError(f"The sample feed {url} could not be followed: {text}")
    return url


def _shut_down(machine: Machine | None, samples: SampleServer | None) -> None:
    """Stop everything in order. A second signal cuts the draining short, a third is not needed."""
    hurried = False

    def hurry(_: int, __: FrameType | None) -> None:
        raise _Stopped

    _on_signal(hurry)
    if machine is not None and machine.services:
        _say("\nStopping: the worker finishes what it has begun (Ctrl-C again to leave it) …")
        try:
            machine.stop(drain=True)
        except _Stopped:
            hurried = True
        _on_signal(signal.SIG_IGN)
        machine.stop(drain=False)
    if samples is not None:
        samples.stop()
    if machine is not None:
        _say("Stopped at once; what was cut off is taken up again at the next start." if hurried else "Stopped.")


if __name__ == "__main__":
    sys.exit(main())
