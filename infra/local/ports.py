"""Ports on 127.0.0.1 for programs that are started later, and started again.

A port is held from when it is chosen: a socket that is bound and never listens. Nobody who asks for any port gets it,
neither at ``bind`` nor at ``connect``, while a server that sets ``SO_REUSEADDR``, as servers do, still listens on it.
"""

import socket

_held: list[int] = []
"""The descriptors of the sockets, until this process ends."""


def hold_port(port: int) -> int:
    """Hold a port, with 0 a free one, and return it. Raises ``OSError`` where it is taken."""
    holder = socket.socket()
    try:
        holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        holder.bind(("127.0.0.1", port))
        held: int = holder.getsockname()[1]
    except OSError:
        holder.close()
        raise
    _held.append(holder.detach())
    return held


def free_port() -> int:
    """Return a port that nobody else has, and hold it."""
    return hold_port(0)
