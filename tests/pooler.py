"""PgBouncer in transaction mode, before a PostgreSQL server of the tests: each transaction may meet another session."""

import os
import shutil
import signal
import socket
from contextlib import suppress
from pathlib import Path
from urllib.parse import unquote, urlsplit

from infra.local.ports import free_port
from infra.local.programs import Program

PGBOUNCER = shutil.which("pgbouncer", path="/usr/sbin:/usr/local/sbin:/usr/bin:/usr/local/bin")
NEEDS_PGBOUNCER = "there is no PgBouncer here: apt-get install pgbouncer"

_CONFIGURATION = """
[databases]
* = host={host} port={server_port}

[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {port}
unix_socket_dir =
auth_type = scram-sha-256
auth_file = {folder}/users
pool_mode = transaction
default_pool_size = {size}
max_client_conn = 1000
server_idle_timeout = 5
query_wait_timeout = 120
ignore_startup_parameters =
pidfile =
{user}
"""


class PgBouncer(Program):
    """Hands the databases of the server at ``url`` out to many clients, over ``size`` sessions for each database."""

    def __init__(self, url: str, folder: Path, *, size: int = 20) -> None:
        server = urlsplit(url)
        self._port = free_port()
        folder.mkdir(mode=0o755)
        self._users = folder / "users"
        self._users.write_text(f'"{server.username}" "{unquote(server.password or "")}"\n', encoding="utf-8")
        text = _CONFIGURATION.format(
            host=server.hostname,
            server_port=server.port,
            port=self._port,
            folder=folder,
            size=size,
            user="user = nobody" if os.geteuid() == 0 else "",
        )
        (folder / "pgbouncer.ini").write_text(text, encoding="utf-8")
        super().__init__(
            "PgBouncer",
            [PGBOUNCER or "pgbouncer", str(folder / "pgbouncer.ini")],
            folder=folder,
            environment={},
            log=folder / "pgbouncer.log",
            ready=self._answers,
        )

    def admit(self, user: str, password: str) -> None:
        """Let another user of the server in."""
        with self._users.open("a", encoding="utf-8") as file:
            file.write(f'"{user}" "{password}"\n')
        os.kill(self.pid or 0, signal.SIGHUP)

    def pooled(self, url: str) -> str:
        """Return the URL of a database of the server by way of this pooler."""
        parts = urlsplit(url)
        return parts._replace(netloc=f"{parts.netloc.rpartition('@')[0]}@127.0.0.1:{self._port}").geturl()

    def _answers(self) -> bool:
        with suppress(OSError), socket.create_connection(("127.0.0.1", self._port), timeout=1):
            return True
        return False
