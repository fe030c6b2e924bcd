"""What feedparser says of a feed: for what our reader finds no document in, and the judge of our reader in tests.

Only the reading is feedparser's: what it found goes the rest of our way. It is told to keep what it would drop or mix
up: all transcripts and skip times, the podcast's owner beside its author.
"""

import io
from collections.abc import Mapping
from typing import Any, ClassVar

import feedparser
from feedparser import api

from siftline.fetch.feed.entries import EntryDraft, FeedDraft, Link, Tag, Text, names_page

_TAGS_MAX = 1_000

_Raw = Mapping[str, Any]


_PODCAST = (
    "https://podcastindex.org/namespace/1.0",
    "https://github.com/Podcastindex-org/podcast-namespace/blob/main/docs/1.0.md",
)
# Extensions of which nothing is kept: their readers fail at bad values, and then the whole feed would.
_UNKEPT = frozenset({"geo", "georss", "gml", "psc"})


class _Kept:
    """Handlers that feedparser's parsers look up by name (``_start_<prefix>_<element>``), beside or above their own."""

    namespaces: ClassVar[dict[str, str]] = {
        uri: "unkept" if prefix in _UNKEPT else prefix for uri, prefix in api.StrictFeedParser.namespaces.items()
    } | dict.fromkeys(_PODCAST, "podcast")
    _matchnamespaces: ClassVar[dict[str, str]] = {uri.lower(): prefix for uri, prefix in namespaces.items()}

    def _start_item(self: Any, attributes: dict[str, str]) -> None:
        self.hasContent = 0  # else the channel's own text would count as the first entry's
        super()._start_item(attributes)  # type: ignore[misc]  # feedparser's parsers have it

    _start_entry = _start_item

    def _end_guid(self: Any) -> None:
        _, _, pieces = self.elementstack[-1] if self.elementstack else ("", 0, [])
        given = "".join(piece for piece in pieces if isinstance(piece, str)).strip()
        super()._end_guid()  # type: ignore[misc]  # as above
        if self.guidislink:
            is_page = str(self.version).startswith("atom") or names_page(given)
            self._get_context()["permalink"] = self._get_context().get("id") if is_page else ""

    _end_id = _end_guid

    def _end_author(self: Any) -> None:
        text = self.pop("author")
        self.inauthor = 0
        context = self._get_context()
        given = context["authors"][-1]
        context.setdefault("named", []).append(given.get("name") or text or given.get("email") or "")

    _end_managingeditor = _end_author

    def _sync_author_detail(self: Any, key: str = "author") -> None:
        """Leave names as they are given: taking them apart costs quadratic time, and mixes persons up."""

    def _add_tag(self: Any, term: str | None, scheme: str | None, label: str | None) -> None:
        if len(self._get_context().setdefault("tags", [])) < _TAGS_MAX:  # each is compared with all before it
            super()._add_tag(term, scheme, label)  # type: ignore[misc]  # as above

    def _start_title(self: Any, attributes: dict[str, str]) -> None:
        if self.inimage or self.insource:
            self.push("unkept", 0)  # a picture has a title, too
        else:
            super()._start_title(attributes)  # type: ignore[misc]  # as above

    def _end_title(self: Any) -> None:
        if self.inimage or self.insource:
            self.pop("unkept")
        else:
            super()._end_title()  # type: ignore[misc]  # as above

    def _start_description(self: Any, attributes: dict[str, str]) -> None:
        if self.inentry and self.inimage:
            self.push("unkept", 0)
        else:
            self.hasContent = self.hasContent or not self.inentry  # a feed has no content that its summary could be
            super()._start_description(attributes)  # type: ignore[misc]  # as above

    def _end_description(self: Any) -> None:
        if self.inentry and self.inimage:
            self.pop("unkept")
        else:
            super()._end_description()  # type: ignore[misc]  # as above

    def _start_media_title(self: Any, attributes: dict[str, str]) -> None:
        if self.inentry:
            super()._start_media_title(attributes)  # type: ignore[misc]  # as above
        else:
            self.push("unkept", 0)  # of a feed's own files nothing is kept

    def _end_media_title(self: Any) -> None:
        if self.inentry:
            super()._end_media_title()  # type: ignore[misc]  # as above
        else:
            self.pop("unkept")

    def _start_media_description(self: Any, attributes: dict[str, str]) -> None:
        if self.inentry:
            self._start_description(attributes)
        else:
            self.push("unkept", 0)

    def _end_media_description(self: Any) -> None:
        if self.inentry:
            self._end_description()
        else:
            self.pop("unkept")

    def _start_source(self: Any, attributes: dict[str, str]) -> None:
        depth = self.title_depth
        super()._start_source(attributes)  # type: ignore[misc]  # as above
        self.title_depth = depth  # the titles within are none of the entry's

    def _start_image(self: Any, attributes: dict[str, str]) -> None:
        depth = self.title_depth
        super()._start_image(attributes)  # type: ignore[misc]  # as above
        self.title_depth = depth

    def _start_summary(self: Any, attributes: dict[str, str]) -> None:
        self.hasContent = self.hasContent or not self.inentry
        super()._start_summary(attributes)  # type: ignore[misc]  # as above

    _start_itunes_summary = _start_summary

    def _end_itunes_name(self: Any) -> None:
        if self.inpublisher:
            self.pop("name")
        else:
            self._end_name()

    def _end_itunes_email(self: Any) -> None:
        if self.inpublisher:
            self.pop("email")
        else:
            self._end_email()

    def _start_podcast_transcript(self: Any, attributes: dict[str, str]) -> None:
        self._get_context().setdefault("transcripts", []).append(attributes)

    def _end_hour(self: Any) -> None:
        self._get_context().setdefault("skip_hours", []).append(self.pop("hour") or "")

    def _end_day(self: Any) -> None:
        self._get_context().setdefault("skip_days", []).append(self.pop("day") or "")


# The parsers have no other way in: parse() makes them by these names.
api.StrictFeedParser = type("StrictFeedParser", (_Kept, api.StrictFeedParser), {})
api.LooseFeedParser = type("LooseFeedParser", (_Kept, api.LooseFeedParser), {})


def read_by_feedparser(body: bytes, *, url: str, content_type: str = "") -> FeedDraft:
    """Return what feedparser says of a feed; without entries where it finds none."""
    charset = "" if b" encoding=" in body[:100] else "; charset=utf-8"
    headers = {"content-location": url, "content-type": content_type or f"application/xml{charset}"}
    # Wrapped, because feedparser would take a bare string that looks like an address for something to download.
    found = feedparser.parse(
        io.BytesIO(body), response_headers=headers, sanitize_html=False, resolve_relative_uris=False
    )
    feed = found.feed
    return FeedDraft(
        is_atom=str(found.get("version")).startswith("atom"),
        title=_text(feed, "title"),
        description=_text(feed, "subtitle") or _text(feed, "summary"),
        links=_links(feed),
        authors=list(feed.get("named") or ()),
        image=_feed_image(feed),
        language=str(feed.get("language") or ""),
        ttl=_string(feed, "ttl"),
        skip_hours=list(feed.get("skip_hours") or ()),
        skip_days=list(feed.get("skip_days") or ()),
        entries=[_entry(raw) for raw in found.entries],
    )


def _entry(raw: _Raw) -> EntryDraft:
    return EntryDraft(
        guid=_string(raw, "id"),
        permalink=_string(raw, "permalink"),
        original_link=_string(raw, "feedburner_origlink"),
        links=_links(raw),
        title=_text(raw, "title"),
        summary=_text(raw, "summary"),
        contents=[_construct(part) for part in raw.get("content") or () if isinstance(part, Mapping)],
        authors=list(raw.get("named") or ()),
        published_at=_date(raw, "published"),
        updated_at=_date(raw, "updated"),
        created_at=_date(raw, "created"),
        media=list(raw.get("media_content") or ()),
        thumbnails=[part.get("url") or "" for part in raw.get("media_thumbnail") or ()],
        image=_address(raw.get("image")),
        tags=[Tag(tag.get("term"), tag.get("label")) for tag in raw.get("tags") or ()],
        transcripts=list(raw.get("transcripts") or ()),
        duration=_string(raw, "itunes_duration"),
        comments=_string(raw, "comments"),
    )


def _string(raw: _Raw, name: str) -> str:
    value = raw.get(name)
    return value if isinstance(value, str) else ""


def _text(raw: _Raw, name: str) -> Text | None:
    detail = raw.get(f"{name}_detail")
    return _construct(detail) if isinstance(detail, Mapping) else None


def _construct(detail: _Raw) -> Text:
    return Text(detail.get("value") or "", detail.get("type") or "", detail.get("base") or "")


def _links(raw: _Raw) -> list[Link]:
    return [
        Link(link.get("href") or "", link.get("rel", "alternate"), link.get("type") or "", link)
        for link in raw.get("links") or ()
    ]


def _address(image: object) -> str:
    return _string(image, "href") if isinstance(image, Mapping) else image if isinstance(image, str) else ""


def _feed_image(feed: _Raw) -> str:
    return _address(feed.get("image")) or _string(feed, "logo") or _string(feed, "icon")


def _date(raw: _Raw, name: str) -> str:
    # Past feedparser's own stand-ins for missing dates; its reading of them is not wanted: it invents some.
    text = dict.get(raw, name)  # type: ignore[call-overload]  # a dict of feedparser's
    return text if isinstance(text, str) else ""
