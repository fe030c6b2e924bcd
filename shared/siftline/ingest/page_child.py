"""Reads pages and feed entries where they can do no harm: in a child process, within a time and a memory.

This process never imports what reads HTML; the child does (``ingest.page.page``, ``ingest.media.captions``).
"""

from typing import Self

from siftline.ingest.page_model import EntryText, Page
from siftline.kit.confined import Confined
from siftline.kit.errors import PermanentError

ENTRY_S = 2.0
"""The longest that reading a feed entry may take; what a feed brings is sanitised and short."""
_PAGE = "siftline.ingest.page.page:read_page"
_ENTRY = "siftline.ingest.page.page:read_entry"
_CAPTIONS = "siftline.ingest.media.captions:read_captions"
_ARCHIVED = "siftline.ingest.page.charset:archived_page"


class PageReader:
    """Reads pages and feed entries. Thread-safe."""

    def __init__(self, *, page_read_s: float, memory_bytes: int) -> None:
        self._page_read_s = page_read_s
        self._confined = Confined(_PAGE, _ENTRY, _CAPTIONS, _ARCHIVED, memory_bytes=memory_bytes, what="page")

    def page(self, body: bytes, content_type: str, url: str) -> Page:
        """Return what a page holds; as ``siftline.ingest.page.page.read_page``.

        Raises also ``TooSlowError`` (``page_too_slow``), ``TooMuchMemoryError`` (``page_too_much_memory``) and the
        ``TransientError`` leaves of ``siftline.kit.confined``.
        """
        return self._confined.call(Page, _PAGE, body, content_type, url, within_s=self._page_read_s)

    def entry(self, entry_html: str | None) -> EntryText:
        """Return what a feed brought of an article; what cannot be read counts as no text."""
        if not entry_html:
            return EntryText("", 0)
        try:
            return self._confined.call(EntryText, _ENTRY, entry_html, within_s=ENTRY_S)
        except PermanentError:
            return EntryText("", 0)

    def captions(self, body: bytes, content_type: str) -> EntryText:
        """Return the words of a caption file (``ingest.media.captions``); raises also as ``page``."""
        return self._confined.call(EntryText, _CAPTIONS, body, content_type, within_s=self._page_read_s)

    def archived(self, body: bytes, content_type: str) -> bytes:
        """Return a page as it is archived (``ingest.page.charset``); raises also as ``page``."""
        return self._confined.call(bytes, _ARCHIVED, body, content_type, within_s=self._page_read_s)

    def close(self) -> None:
        """End the children."""
        self._confined.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
