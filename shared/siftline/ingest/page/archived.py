"""A page as it is archived: in UTF-8, its own word on its character set made true, compressed.

Runs in a child process (``siftline.ingest.page_child``).
"""

import gzip
import re

from siftline.ingest.page.charset import decode

CONTENT_TYPE = "text/html; charset=utf-8"
CONTENT_ENCODING = "gzip"

_HEAD_CHARS = 65_536
# What a page says of its character set: once it is saved as UTF-8, anything else would garble it.
_META = re.compile(r"""(<meta\s[^<>]*?charset\s*+=\s*+["']?\s*+)([\w:.-]+)""", re.IGNORECASE)
_DECLARATION = re.compile(r"""(^\s*<\?xml\s[^<>]*?encoding\s*+=\s*+["'])([\w:.-]+)""", re.IGNORECASE)


def archived_page(body: bytes, content_type: str) -> bytes:
    """Return a page's bytes for the archive: decoded as it was read, its stale declaration replaced, gzipped.

    The same page always becomes the same bytes.
    """
    text = decode(body, content_type).removeprefix("\ufeff")
    head, rest = text[:_HEAD_CHARS], text[_HEAD_CHARS:]
    for declared in (_META, _DECLARATION):
        head = declared.sub(r"\1utf-8", head)
    return gzip.compress((head + rest).encode("utf-8", "replace"), mtime=0)
