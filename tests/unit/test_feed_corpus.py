"""feedparser's own corpus: what we keep of a feed is what it expects, and both our ways of reading agree."""

import os
from collections import Counter

import pytest

from siftline.fetch.feed.feeds import Feed, NotAFeedError, parse
from siftline.fetch.feed.xml_feed import parse_xml_fast, parse_xml_lenient
from tests.feed_corpus import CORPUS, FLOOR, TOOL, kept, outcomes, reason
from tests.feed_corpus_reasons import OTHERWISE

pytestmark = pytest.mark.skipif(
    not (CORPUS.is_dir() and TOOL.is_file()), reason="feedparser's corpus and its tool are not on this machine"
)
URL = "https://site.example/blog/feed.xml"
FAST_RATIO = 0.95


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


@pytest.fixture(scope="module")
def fast() -> dict[str, Feed | None]:
    files = sorted(CORPUS.rglob("*.xml"))
    return {
        os.fspath(file.relative_to(CORPUS)): parse_xml_fast(file.read_bytes(), url=URL, content_type="")
        for file in files
    }


def test_the_fast_way_says_what_the_forgiving_one_says(fast: dict[str, Feed | None]) -> None:
    for case, feed in fast.items():
        if feed is not None:
            assert feed == parse_xml_lenient((CORPUS / case).read_bytes(), url=URL, content_type=""), case


def test_the_fast_way_is_taken_for_nearly_all_sound_rss_and_atom(fast: dict[str, Feed | None]) -> None:
    cases, taken = Counter(), Counter()
    for case, feed in fast.items():
        folder = case.rpartition("/")[0]
        cases[folder] += 1
        taken[folder] += feed is not None
    for folder in ("wellformed/rss", "wellformed/atom10"):
        assert taken[folder] >= FAST_RATIO * cases[folder]


def test_every_case_is_read_or_told_to_be_no_feed() -> None:
    entries = 0
    for file in sorted([*CORPUS.rglob("*.xml"), *CORPUS.rglob("*.json")]):
        try:
            feed = parse(file.read_bytes(), url=URL)
        except NotAFeedError:
            continue
        entries += len(feed.entries) + feed.skipped
    assert entries > 600
