"""Asks a worker beside the API what it cannot do; only where an operator named its address (``WORKER_HEALTH_URL``)."""

import http.client
import json
from http import HTTPStatus
from urllib.parse import urlsplit

from siftline.kit.errors import TransientError

_WAIT_S = 2.0
_MAX_BYTES = 200_000


class WorkerAwayError(TransientError):
    """The worker does not answer, or cannot start a function that work waits for."""

    code = "worker_unavailable"


def check_worker(url: str, token: str = "") -> None:
    """Raise ``WorkerAwayError`` where the worker at ``url`` does not answer, or cannot start one of its functions."""
    if found := unbuildable(url, token):
        raise WorkerAwayError(" ".join(f"{name} cannot be started: {reason}." for name, reason in found.items()))


def unbuildable(url: str, token: str = "") -> dict[str, str]:
    """Return the functions that a worker cannot start, with the reasons. Raises ``WorkerAwayError``.

    ``token`` is the worker's ``WORKER_HEALTH_TOKEN``.
    """
    parts = urlsplit(url)
    kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
    connection = kind(parts.hostname or "", parts.port, timeout=_WAIT_S)
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    try:
        connection.request("GET", f"{parts.path.rstrip('/')}/health", headers=headers)
        answer = connection.getresponse()
        if answer.status == HTTPStatus.FORBIDDEN:
            raise WorkerAwayError("The worker rejected the request: its WORKER_HEALTH_TOKEN is different.")
        state = json.loads(answer.read(_MAX_BYTES))
        found = state.get("unbuildable", {})
        return {str(name): str(reason) for name, reason in found.items()}
    except (OSError, http.client.HTTPException, ValueError, AttributeError) as error:
        raise WorkerAwayError("The worker does not answer.") from error
    finally:
        connection.close()
