"""Where an address comes from, as far as it matters: which origin (scheme, host, port) a person typed.

Loopback is reached there alone, and only where the setting allows it. Who works off what a person asked for says which
origin they typed (``siftline.net.http_model.Requester``); the client compares it with each address it is about to ask,
a redirect's too. What a feed, a page, a redirect or a provider's answer names is an origin that nobody typed, unless it
is that very one.
"""

from urllib.parse import urlsplit

from siftline.net.ip_addresses import literal_address, name_refusal, refusal
from siftline.net.urls import origin_of

LOOPBACK = "loopback"


def typed_origin(url: str) -> str | None:
    """Return the origin that a person opens by typing ``url``; ``None`` where it is none of this machine's.

    Only what anyone can see to be loopback counts. A name that leads there is somebody else's to change: whoever typed
    it meant the public server that it was then. Raises as ``siftline.net.urls.validate_url`` does.
    """
    host = (urlsplit(url).hostname or "").rstrip(".")
    try:
        address = literal_address(host)
    except ValueError:
        return None
    reason = name_refusal(host) if address is None else refusal(address)
    return origin_of(url) if reason == LOOPBACK else None
