"""A request on its way from redirect to redirect."""

from collections.abc import Collection
from dataclasses import dataclass, replace

from siftline.net.http_errors import RedirectRefusedError
from siftline.net.http_headers import RawHeaders

_PERSONAL = frozenset({b"authorization", b"cookie"})
_OF_THE_BODY = frozenset({b"content-length", b"content-type"})


@dataclass(frozen=True, slots=True)
class Outgoing:
    """What is sent, redirect after redirect, and what may come back."""

    method: str
    headers: RawHeaders
    max_bytes: int
    media_types: Collection[str] | None
    body: bytes | None = None


def redirected(request: Outgoing, status: int, *, same_origin: bool) -> Outgoing:
    """Return what is asked of the next address: nothing personal of another origin."""
    if request.body is not None and status not in {307, 308}:
        headers = [(name, value) for name, value in request.headers if name not in _OF_THE_BODY]
        request = replace(request, method="GET", headers=headers, body=None)
    if same_origin:
        return request
    if request.body is not None:
        raise RedirectRefusedError("The address redirects what was sent to another server.")
    return replace(request, headers=[(name, value) for name, value in request.headers if name not in _PERSONAL])
