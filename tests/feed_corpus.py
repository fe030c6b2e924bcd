"""Our feeds under feedparser's names, for feedparser's own corpus (``tools/feed_corpus.py`` beside this project).

``python -m tests.feed_corpus`` runs that tool over our parser and over feedparser itself, and prints both; with
``--freeze`` it also writes down the cases that pass, the floor of ``tests/unit/test_feed_corpus.py``. Only what our
``Feed`` holds is handed on; what it does not hold is absent. ``bozo`` is not ours: it is whether the document is
well-formed XML.
"""

import html
import io
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

import feedparser
from lxml import etree

from siftline.fetch.feed.feed_parser import parse as parse_feed
from siftline.fetch.feed.feeds import Enclosure, Entry, Feed
from siftline.kit.errors import SiftlineError
from tests.feed_corpus_reasons import REASONS

PROJECT = Path(__file__).parents[1]
TOOL = PROJECT.parent / "shared" / "tools" / "feed_corpus.py"
CORPUS = PROJECT.parent / "shared" / "corpora" / "feedparser"
FLOOR = Path(__file__).parent / "data" / "feed_corpus.txt"
_DESCRIPTION = re.compile(r"Description:\s*(.*?)\s*Expect:\s*(.*)\s*-->")

_ALIASES = {
    "channel": ["feed"], "items": ["entries"], "guid": ["id"], "date": ["updated"], "date_parsed": ["updated_parsed"],
    "description": ["summary", "subtitle"], "description_detail": ["summary_detail", "subtitle_detail"],
    "url": ["href"], "modified": ["updated"], "modified_parsed": ["updated_parsed"], "issued": ["published"],
    "issued_parsed": ["published_parsed"], "tagline": ["subtitle"], "tagline_detail": ["subtitle_detail"],
}  # fmt: skip
# Many a case is an entry of nothing but the field that it is about. We skip entries without link, title and words, so
# these get a title.
_EMPTY_ENTRY = re.compile(rb"<((?:item|entry)\b[^<>]*)(?<!/)>")
_VOID = re.compile(r"<((?:br|hr|img)\b[^<>]*)>")


class Named(dict[str, Any]):
    """A mapping whose members are attributes as well, under feedparser's older names too."""

    def __missing__(self, name: str) -> Any:
        for other in _ALIASES.get(name, ()):
            if other in self:
                return self[other]
        raise KeyError(name)

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None

    def has_key(self, name: str) -> bool:
        return name in self


def parse(data: bytes, headers: Mapping[str, str], url: str | None) -> dict[str, Any]:
    """Return what our parser says of a case, as feedparser would name it."""
    address = headers.get("content-location") or url or ""
    parse = partial(parse_feed, url=address, content_type=headers.get("content-type", ""))
    try:
        feed = parse(data)
        if feed.skipped and not feed.entries:
            feed = parse(untitled(data))
    except SiftlineError:
        return {"feed": Named(), "entries": [], "bozo": True}
    return {"feed": _feed(feed), "entries": [_entry(entry) for entry in feed.entries], "bozo": not _is_sound(data)}


def untitled(data: bytes) -> bytes:
    """Return a case with a title in each entry."""
    return _EMPTY_ENTRY.sub(rb"<\1><title>untitled</title>", data)


def _is_sound(data: bytes) -> bool:
    try:
        etree.fromstring(data, etree.XMLParser(load_dtd=False, no_network=True))
    except (etree.XMLSyntaxError, ValueError):
        return False
    return True


def _feed(feed: Feed) -> Named:
    found = Named(
        title=feed.title,
        title_detail=_plain(feed.title),
        link=feed.site_url,
        links=[_page(feed.site_url)] if feed.site_url else [],
        subtitle=feed.description,
        subtitle_detail=_plain(feed.description),
        language=feed.language,
        image=Named(href=feed.image_url),
        ttl=str(feed.ttl_minutes),
        **_author(feed.author),
    )
    if feed.image_url:
        found |= {"icon": feed.image_url, "logo": feed.image_url}
    return found


def _entry(entry: Entry) -> Named:
    found = Named(
        title=entry.title,
        title_detail=_plain(entry.title),
        links=[*([_page(entry.link)] if entry.link else []), *map(_enclosure, entry.enclosures)],
        enclosures=[_enclosure(file) for file in entry.enclosures],
        content=[_body(entry.html)],
        summary=_body(entry.summary_html or entry.html)["value"],
        summary_detail=_body(entry.summary_html or entry.html),
        published_parsed=_moment(entry.published_at),
        updated_parsed=_moment(entry.updated_at),
        created_parsed=_moment(entry.published_at),
        tags=[Named(term=tag, label=tag) for tag in entry.tags],
        **_author(entry.author),
    )
    optional = {"id": entry.guid, "link": entry.link, "comments": entry.comments_url, "category": entry.tags[:1]}
    found |= {name: value for name, value in optional.items() if value}
    if entry.tags:
        found["category"] = entry.tags[0]
    if entry.image_url:
        found |= {"image": Named(href=entry.image_url), "media_thumbnail": [Named(url=entry.image_url)]}
    return found


def _plain(text: str) -> Named:
    return Named(value=text, type="text/plain")


def _body(clean_html: str) -> Named:
    """Plain text was escaped; links were told not to pass on where they lead from."""
    clean_html = _VOID.sub(r"<\1 />", clean_html.replace(' rel="noopener noreferrer"', ""))
    return Named(value=clean_html, type="text/html") if "<" in clean_html else _plain(html.unescape(clean_html))


def _author(names: str | None) -> dict[str, Any]:
    if not names:
        return {}
    people = [Named(name=name) for name in names.split(", ")]
    return {"author": names, "author_detail": Named(name=names), "authors": people}


def _page(url: str) -> Named:
    return Named(rel="alternate", type="text/html", href=url)


def _enclosure(file: Enclosure) -> Named:
    return Named(rel="enclosure", href=file.url, type=file.media_type, length=str(file.length_bytes))


def _moment(moment: datetime | None) -> Any:
    return moment.utctimetuple() if moment else None


def peer(data: bytes, headers: Mapping[str, str], url: str | None) -> Any:
    """Return what feedparser itself says of a case."""
    given = {"content-location": url, **headers} if url else dict(headers)
    return feedparser.parse(io.BytesIO(data), response_headers=given)


def outcomes(function: str) -> dict[str, bool]:
    """Return which cases pass with a function of this module, by running the tool in a process of its own."""
    found, _ = _ran(f"tests.feed_corpus:{function}")
    return {case: outcome == "pass" for case, outcome in found.items()}


def kept(function: str) -> dict[str, Any]:
    """Return what a function of ``tests.feed_corpus_kept`` prints of each case."""
    found, lines = _ran(f"tests.feed_corpus_kept:{function}")
    return {case: json.loads(line) for case, line in zip(found, lines, strict=False)}


def _ran(target: str) -> tuple[dict[str, str], list[str]]:
    with tempfile.TemporaryDirectory() as folder:
        result = Path(folder) / "outcomes.json"
        command = [sys.executable, "-W", "ignore", str(TOOL), target, "--json", str(result)]
        path = os.pathsep.join((str(PROJECT), str(PROJECT / "shared")))
        ended = subprocess.run(
            command, env={"PYTHONPATH": path}, cwd=folder, check=True, capture_output=True, text=True
        )
        return json.loads(result.read_text())["ids"], ended.stdout.splitlines()


def expectation(case: str) -> str:
    """Return what the corpus expects of a case."""
    found = _DESCRIPTION.search((CORPUS / case).read_bytes().decode("utf-8", "ignore").replace("\0", ""))
    return found[2].strip() if found else ""


def reason(case: str) -> str | None:
    """Return why a case is none that we could pass."""
    text = f"{case} | {expectation(case)}"
    return next((why for pattern, why in REASONS if re.search(pattern, text)), None)


def main() -> None:
    """Print how many cases of each folder pass, ours and feedparser's own."""
    ours, theirs = outcomes("parse"), outcomes("peer")
    folders: dict[str, list[int]] = {}
    for case, passes in ours.items():
        parts = case.split("/")
        counts = folders.setdefault("/".join(parts[: 2 if parts[0] == "wellformed" else 1]), [0, 0, 0])
        counts[0] += 1
        counts[1] += passes
        counts[2] += theirs[case]
    rows = [("folder", "cases", "ours", "feedparser"), *((name, *counts) for name, counts in sorted(folders.items()))]
    rows.append(("all", *(sum(counts[place] for counts in folders.values()) for place in range(3))))
    for name, *cells in rows:
        sys.stdout.write(f"{name:28s}" + "".join(f"{cell!s:>12s}" for cell in cells) + "\n")
    if "--freeze" in sys.argv:
        FLOOR.parent.mkdir(exist_ok=True)
        FLOOR.write_text("".join(f"{case}\n" for case, passes in ours.items() if passes))


if __name__ == "__main__":
    main()
