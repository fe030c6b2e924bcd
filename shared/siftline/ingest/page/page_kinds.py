"""Whether a page is an article, a list of others, a video or an audio: by what it states, else by how it is built."""

import re
from itertools import pairwise
from urllib.parse import urlsplit

from siftline.ingest.page.metadata import Metadata
from siftline.ingest.page.outline import Outline
from siftline.text.words import extent

PLAYED_CHARS = 500
"""A page with a player that says no more than this is about what is played."""
LIST_CHARS = 2_000
"""A list's text is at most its beginning: its description and its headlines."""

_TEASERS_MIN = 10
_TEASERS_STATED = 5
_TEASER_CHARS = 20
_TEASERS_KEPT = 20
_PROSE_CHARS = 80
_TEASER_SHARE = 0.66
# Text in a row that no teaser has, and that a blog's front page has at most, which shows posts whole.
_EXCERPT_CHARS = 400
_POST_CHARS = 4_000
# A headline in an address is an article's.
_HEADLINE_WORDS = 4
_FRAME = ("nav", "footer", "aside", "header")


def kind_of(page: Outline, stated: Metadata, text: str, url: str) -> str:
    """Return ``article``, ``list``, ``video`` or ``audio``; ``text`` is what was found of its article."""
    if stated.kind != "article":
        return stated.kind
    if stated.player and extent(text) < PLAYED_CHARS:
        return stated.player
    return "list" if not stated.is_article and _is_list(page, stated, url) else "article"


def list_text(page: Outline, stated: Metadata) -> str:
    """Return what a list is about: its description, then its first headlines, each on a line."""
    lines: list[str] = []
    for place in _teasers(page):
        line = " ".join(page.text[page.begin[place] : page.end[place]].split())
        if line not in lines:
            lines.append(line)
        if len(lines) == _TEASERS_KEPT:
            break
    return "\n\n".join(part for part in (stated.description, "\n".join(lines)) if part)[:LIST_CHARS]


def _is_list(page: Outline, stated: Metadata, url: str) -> bool:
    """Tell a page of teasers from an article with others beside it: there, much text stands in a row."""
    teasers = _teasers(page)
    likely = stated.is_list or not urlsplit(url).path.strip("/")
    if len(teasers) < (_TEASERS_STATED if likely else _TEASERS_MIN) or (not likely and _ends_in_headline(url)):
        return False
    longest = _POST_CHARS if likely else _EXCERPT_CHARS
    spans = [(0, 0), *((page.begin[place], page.end[place]) for place in teasers), (len(page.text),) * 2]
    return all(_prose_chars(page.text[end:begin]) < longest for (_, end), (begin, _) in pairwise(spans))


def _teasers(page: Outline) -> list[int]:
    """Return the places of the links that read like headlines, outside of what frames a page, in order."""
    framed = sorted((place, page.last[place]) for name in _FRAME for place in page.named.get(name, ()))
    found, frame_end, at = [], 0, 0
    for place in page.named.get("a", ()):
        while at < len(framed) and framed[at][0] <= place:
            frame_end = max(frame_end, framed[at][1])
            at += 1
        chars = page.chars(place)
        # A link within a sentence is none.
        if place >= frame_end and chars >= _TEASER_CHARS and chars >= _TEASER_SHARE * page.chars(page.parents[place]):
            found.append(place)
    return found


def _ends_in_headline(url: str) -> bool:
    words = re.split(r"[-_]", urlsplit(url).path.rstrip("/").rpartition("/")[2])
    return sum(map(bool, words)) >= _HEADLINE_WORDS


def _prose_chars(text: str) -> int:
    return sum(chars for line in text.split("\n") if (chars := extent(line)) >= _PROSE_CHARS)
