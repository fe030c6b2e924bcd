"""Ingest, and trafilatura alone, as the scorer of the annotated pages calls them.

``score_extraction.py tests.extraction:extract``.
"""

import trafilatura

from siftline.ingest.page.page import read_page


def extract(html: bytes, url: str) -> str:
    """Return a page's text."""
    return read_page(html, "text/html", url).text


def precise(html: bytes, url: str) -> str:
    """Return what trafilatura finds in its precision mode."""
    return trafilatura.extract(html, url=url, favor_precision=True, include_comments=False) or ""


def default(html: bytes, url: str) -> str:
    """Return what trafilatura finds in its default mode."""
    return trafilatura.extract(html, url=url, include_comments=False) or ""
