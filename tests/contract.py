"""The whole API as others meet it: over HTTP on loopback, behind the gateway and the template's own routes."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from functions.api import app as api
from functions.authorize import app as authorize
from functions.search import app as search
from infra.local.gateway import BODY_READ_BYTES, Gateway
from infra.local.wsgi import LoopbackServer
from siftline.worker.template import Template
from tests.functions import cold

ROOT = Path(__file__).resolve().parent.parent
TOOLS = ROOT / ".local" / "contract" / "bin"
"""The programs of ``infra/locks/contract.txt``."""


@contextmanager
def served(variables: dict[str, str]) -> Iterator[str]:
    """Serve the API with these variables; yields its URL."""
    with cold(api.build, authorize.build, search.build, **variables):
        gateway = Gateway(Template.read(ROOT / "template.yaml", {"Stage": "local"}))
        gateway.load()
        with LoopbackServer(gateway, threads=4, body_limit_bytes=BODY_READ_BYTES) as server:
            yield server.url


def run(program: str, *arguments: str, cwd: Path) -> str:
    """Run one of the tools and return what it printed; fails with that where the tool fails."""
    done = subprocess.run(  # a program of ours, with arguments of the tests
        [str(TOOLS / program), *arguments],
        cwd=cwd,
        env={"PATH": f"{TOOLS}:/usr/bin:/bin", "NO_COLOR": "1"},
        capture_output=True,
        text=True,
        check=False,
        timeout=500,
    )
    said = done.stdout + done.stderr
    assert done.returncode == 0, said
    return said
