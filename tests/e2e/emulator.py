"""Runs a packed handler under AWS's own runtime client and Lambda's runtime interface emulator."""

import signal
import socket
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx

from infra.local.ports import free_port
from infra.local.processes import end, tethered, wait_until
from tests.packing import ARCHITECTURE, ROOT

PYTHON = ROOT / ".local" / "lambda" / "bin" / "python"
_NAME = {"x86_64": "aws-lambda-rie-x86_64", "arm64": "aws-lambda-rie-arm64"}[ARCHITECTURE]


class Emulator:
    """One warm environment of one function; it takes one event at a time, as Lambda does."""

    def __init__(self, port: int) -> None:
        self._url = f"http://127.0.0.1:{port}/2015-03-31/functions/function/invocations"

    def invoke(self, event: Mapping[str, Any], *, timeout_s: float = 600.0) -> Any:
        """Return what the handler answers, or the error document of the runtime."""
        response = httpx.post(self._url, json=event, timeout=timeout_s)
        response.raise_for_status()
        return response.json()


@contextmanager
def emulated(name: str, paths: Sequence[Path], environment: Mapping[str, str], log: Path) -> Iterator[Emulator]:
    """Start the emulator for one packed function; ``paths`` are its code and its layers."""
    (binary,) = (ROOT / ".local" / "tools").glob(f"lib/python*/site-packages/samcli/local/rapid/{_NAME}")
    port = free_port()
    addresses = ["--runtime-interface-emulator-address", f"127.0.0.1:{port}"]
    addresses += ["--runtime-api-address", f"127.0.0.1:{free_port()}"]
    command = [str(binary), *addresses, str(PYTHON), "-m", "awslambdaric", f"functions.{name}.app.handler"]
    variables = {
        "PATH": "/usr/bin:/bin",
        "PYTHONPATH": ":".join(map(str, paths)),
        "LAMBDA_TASK_ROOT": str(paths[0]),
        "AWS_LAMBDA_FUNCTION_NAME": name,
        "AWS_LAMBDA_FUNCTION_TIMEOUT": "150",
        "AWS_LAMBDA_FUNCTION_MEMORY_SIZE": "3008",
        **environment,
    }
    with log.open("wb") as output:
        process = subprocess.Popen(
            tethered(command),
            cwd=paths[0],
            env=variables,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
        )
        try:
            wait_until(lambda: process.poll() is not None or _listens(port), 300)
            assert process.poll() is None, log.read_text(errors="replace")
            yield Emulator(port)
        finally:
            end(process, [(signal.SIGTERM, 5.0)])


def _listens(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), 1.0).close()
    except OSError:
        return False
    return True
