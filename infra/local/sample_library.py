"""The sample articles as data: read from ``events/samples``, dated from the moment of reading.

Every article file holds one feed. Times are kept as "hours ago", so that the samples are always fresh; they are counted
from the full hour, so that a feed keeps its validators for an hour over restarts.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Literal

import yaml
from pydantic import BaseModel, ConfigDict

SAMPLES_DIR = Path(__file__).parents[2] / "events" / "samples"

FeedFormat = Literal["rss", "atom", "jsonfeed"]


@dataclass(frozen=True)
class SampleArticle:
    """One article: what its page says, and what a reader of it should find out.

    ``topics`` are the expected topics, ``story`` names the event that articles of several feeds tell in other words.
    ``full`` articles stand whole in their feed; of the others the feed gives the first paragraph only.
    """

    feed: str
    slug: str
    title: str
    language: str
    author: str
    published: datetime
    topics: tuple[str, ...]
    story: str | None
    full: bool
    paragraphs: tuple[str, ...]

    @property
    def path(self) -> str:
        """The page's path on the sample server."""
        return f"/{self.feed}/{self.slug}"

    @property
    def identity(self) -> str:
        """The entry's identity in its feed: the same on every port (a tag URI, RFC 4151)."""
        return f"tag:samples.siftline.example,2026:{self.path}"

    @property
    def summary(self) -> str:
        """The first paragraph."""
        return self.paragraphs[0]

    @property
    def text(self) -> str:
        """All paragraphs, with a blank line between."""
        return "\n\n".join(self.paragraphs)


@dataclass(frozen=True)
class SampleFeed:
    """One feed with its articles, newest first; ``layout`` names the HTML template of its pages."""

    name: str
    title: str
    description: str
    language: str
    format: FeedFormat
    layout: str
    articles: tuple[SampleArticle, ...]

    @property
    def path(self) -> str:
        """The feed's path on the sample server."""
        return f"/{self.name}/feed.json" if self.format == "jsonfeed" else f"/{self.name}/feed.xml"


class _ArticleData(BaseModel):
    """An article as it stands in its file; paragraphs of ``body`` are separated by blank lines."""

    model_config = ConfigDict(extra="forbid", strict=True)

    slug: str
    title: str
    author: str
    hours_ago: int
    topics: list[str]
    body: str
    language: str | None = None
    story: str | None = None
    full: bool = False


class _FeedData(BaseModel):
    """A feed as it stands in its file."""

    model_config = ConfigDict(extra="forbid", strict=True)

    feed: str
    title: str
    description: str
    language: str
    format: FeedFormat
    layout: str
    articles: list[_ArticleData]


def load_feed(path: Path, now: datetime) -> SampleFeed:
    """Read one feed file; raise ``pydantic.ValidationError`` where it is not well-formed."""
    data = _FeedData.model_validate(yaml.safe_load(path.read_text(encoding="utf-8")))
    hour = now.replace(minute=0, second=0, microsecond=0)
    articles = sorted(
        (_article(data, article, hour) for article in data.articles), key=lambda a: a.published, reverse=True
    )
    return SampleFeed(data.feed, data.title, data.description, data.language, data.format, data.layout, tuple(articles))


def load_feeds(now: datetime, directory: Path = SAMPLES_DIR) -> tuple[SampleFeed, ...]:
    """Read all sample feeds, in the order of their file names."""
    return tuple(load_feed(path, now) for path in sorted((directory / "articles").glob("*.yaml")))


def load_weblog(now: datetime) -> SampleFeed:
    """Read the sample site that is served and not followed: its reader may follow it."""
    return load_feed(SAMPLES_DIR / "weblog.yaml", now)


def _article(feed: _FeedData, data: _ArticleData, hour: datetime) -> SampleArticle:
    language = data.language or feed.language
    return SampleArticle(
        feed=feed.feed,
        slug=data.slug,
        title=data.title,
        language=language,
        author=data.author,
        published=hour - timedelta(hours=data.hours_ago),
        topics=tuple(data.topics),
        story=data.story,
        full=data.full,
        paragraphs=tuple(_unwrap(paragraph, language) for paragraph in data.body.strip().split("\n\n")),
    )


def _unwrap(paragraph: str, language: str) -> str:
    """Join the file's lines; Japanese puts no space between them."""
    return ("" if language == "ja" else " ").join(line.strip() for line in paragraph.splitlines())
