"""The kinds of sources: what ``sources.kind`` holds. CONTRIBUTING.md says what a new one needs."""

from enum import StrEnum


class SourceKind(StrEnum):
    """Type of a source."""

    RSS = "rss"
    WEB = "web"
    REDDIT = "reddit"
