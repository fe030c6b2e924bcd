"""feedparser as the judge of our reader of XML."""

from siftline.fetch.feed.entries import finish
from siftline.fetch.feed.feedparser_feed import read_by_feedparser
from siftline.fetch.feed.feeds import Feed


def judged(body: bytes, *, url: str, content_type: str = "") -> Feed:
    """Return what feedparser says of a feed that is well-formed."""
    return finish(read_by_feedparser(body, url=url, content_type=content_type), url=url)
