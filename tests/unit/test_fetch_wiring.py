"""Every kind of source that can be followed can be fetched."""

from types import SimpleNamespace
from typing import Any

from siftline.catalog.source_kinds import SourceKind
from siftline.fetch.fetch_wiring import source_fetchers


def test_each_kind_of_source_has_its_fetcher() -> None:
    unused: Any = None
    settings: Any = SimpleNamespace(reddit_url="https://www.reddit.com", reddit_form="auto")
    fetchers = source_fetchers(unused, unused, unused, unused, unused, unused, settings)
    assert fetchers.keys() == set(SourceKind)
