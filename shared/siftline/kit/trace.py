"""Spans of calls to other parts, for X-Ray: subsegments of the segment that Lambda keeps of each traced invocation.

Sent to X-Ray's daemon, which Lambda runs beside the function, as its protocol says (X-Ray Developer Guide, "Sending
segment documents to the daemon" and "Segment documents"): one datagram a span, nothing to wait for, no library. Where
an invocation is not sampled, and outside Lambda, a span costs a look at two variables.

A span tells which part was called, its host and the kind of error: no path, no query, no statement, no text.
"""

import json
import re
import secrets
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from typing import Any

from siftline.settings.functions import lambda_trace

_HEADER = '{"format": "json", "version": 1}\n'
_HOST_CHARS_MAX = 200


@contextmanager
def span(name: str, host: str | None = None, *, remote: bool = True) -> Iterator[None]:
    """Tell X-Ray how long the block took and whether it raised; ``remote`` if another server does the work."""
    trace, daemon = lambda_trace()
    facts = dict(re.findall(r"(\w+)=([^;]*)", trace))
    if facts.get("Sampled") != "1" or not facts.keys() >= {"Root", "Parent"} or not daemon:
        yield
        return
    document: dict[str, Any] = {
        "type": "subsegment",
        "trace_id": facts["Root"],
        "parent_id": facts["Parent"],
        "id": secrets.token_hex(8),
        "name": name,
        "start_time": time.time(),
        **({"namespace": "remote"} if remote else {}),
        **({"annotations": {"host": host[:_HOST_CHARS_MAX]}} if host else {}),
    }
    try:
        yield
    except BaseException as error:
        exception = {"id": secrets.token_hex(8), "type": type(error).__name__}
        document |= {"fault": True, "cause": {"exceptions": [exception]}}
        raise
    finally:
        _send(document | {"end_time": time.time()}, daemon)


def _send(document: dict[str, Any], daemon: str) -> None:
    address, _, port = daemon.rpartition(":")
    with suppress(OSError, ValueError):  # a span that is lost is no fault of the call
        _socket().sendto(f"{_HEADER}{json.dumps(document)}".encode(), (address, int(port)))


@cache
def _socket() -> socket.socket:
    sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sender.settimeout(0)
    return sender
