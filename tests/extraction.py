"""Ingest as the scorer of the annotated pages calls it: ``score_extraction.py tests.extraction:extract``."""

from siftline.ingest.page import read_page


def extract(html: bytes, url: str) -> str:
    """Return a page's text."""
    return read_page(html, "text/html", url).text
