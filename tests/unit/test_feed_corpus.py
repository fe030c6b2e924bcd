"""feedparser's own corpus: what we keep of a feed is what it expects, and what it says itself."""

import pytest

from siftline.fetch.feed.feed_parser import parse
from siftline.fetch.feed.feeds import NotAFeedError
from tests.feed_corpus import CORPUS, FLOOR, TOOL, kept, outcomes, reason
from tests.feed_corpus_reasons import OTHERWISE

pytestmark = pytest.mark.skipif(
    not (CORPUS.is_dir() and TOOL.is_file()), reason="feedparser's corpus and its tool are not on this machine"
)
URL = "https://site.example/blog/feed.xml"


def test_every_case_of_the_floor_passes_and_every_other_that_feedparser_passes_has_its_reason() -> None:
    ours, theirs = outcomes("parse"), outcomes("peer")
    floor = FLOOR.read_text().split()
    assert len(floor) > 450
    assert [case for case in floor if not ours[case]] == []
    lost = [case for case, passes in theirs.items() if passes and not ours[case]]
    assert [case for case in lost if reason(case) is None] == []


def test_what_is_kept_of_a_case_is_what_feedparser_says() -> None:
    """Also of the cases whose expectation is of another form than ours."""
    ours, theirs = kept("ours"), kept("theirs")
    assert len(theirs) > 1_000
    other = {case for case, told in theirs.items() if ours[case] != told}
    assert other == {*OTHERWISE}


def test_every_case_is_read_or_told_to_be_no_feed() -> None:
    entries = 0
    for file in sorted([*CORPUS.rglob("*.xml"), *CORPUS.rglob("*.json")]):
        try:
            feed = parse(file.read_bytes(), url=URL)
        except NotAFeedError:
            continue
        entries += len(feed.entries) + feed.skipped
    assert entries > 600
