"""Where a page's markup sends its visitors (HTML, "refresh" of ``http-equiv``): told, but not followed."""

import re
from urllib.parse import urldefrag, urljoin

from siftline.ingest.page.outline import Outline
from siftline.kit.errors import PermanentError
from siftline.net.urls import validate_url

_REFRESH = re.compile(
    r"""\s*(?P<seconds>\d{1,9})[\d.]*\s*[;,\s]\s*(?:url\s*=\s*)?(?P<quote>["']?)(?P<url>.+?)(?P=quote)\s*""",
    re.IGNORECASE,
)
_SOON_S = 60
_CONTENT_CHARS = 4_096


def sent_to(page: Outline, url: str) -> str | None:
    """Return the other address that a page sends its visitors to within a minute, if it does."""
    for place in page.named.get("meta", ()):
        node = page.nodes[place]
        if node.get("http-equiv", "").strip().lower() != "refresh":
            continue
        match = _REFRESH.fullmatch(node.get("content", "")[:_CONTENT_CHARS])
        if match is None or int(match["seconds"]) > _SOON_S:
            continue
        try:
            target = validate_url(urljoin(url, match["url"]))
        except (PermanentError, ValueError):
            continue
        if urldefrag(target).url != urldefrag(url).url:
            return target
    return None
