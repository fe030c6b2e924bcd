"""MiniStack behind the guard, as hypercorn loads it in MiniStack's own environment; the working folder has the secret.

The guard stands in the same process, so there is no second port behind it that could be asked without. Hypercorn has no
setting for how many may connect, nor for how long they may be strangers: so its connections are ours here.
"""

from pathlib import Path

from hypercorn.asyncio import run  # type: ignore[import-not-found]  # in MiniStack's environment only
from hypercorn.asyncio.tcp_server import TCPServer  # type: ignore[import-not-found]  # in MiniStack's environment only
from ministack.app import app as ministack  # type: ignore[import-not-found]  # in MiniStack's environment only

from infra.local.guard import asgi_guarded
from infra.local.strangers import Strangers

SECRET, PATIENCE = Path("secret"), Path("patience")

_strangers = Strangers(patience_s=float(PATIENCE.read_text(encoding="ascii")))


class _Connection(TCPServer):  # type: ignore[misc]  # not known here
    """A connection that is dropped as a stranger."""

    async def run(self) -> None:
        """Serve it."""
        with _strangers.connection(self.writer.transport.abort):
            await super().run()

    async def _read_data(self) -> None:
        """Read to the end; nothing waits for a request any more then."""
        await super()._read_data()
        await self.idle_task.stop()


run.TCPServer = _Connection
app = asgi_guarded(_strangers.introducing(ministack), secret=SECRET.read_text(encoding="ascii"))
