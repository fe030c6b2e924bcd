"""What feedparser says of a feed our reader says, in whatever alphabet it comes and whatever stands in it."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from feedparser.sanitizer import _HTMLSanitizer
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from siftline.fetch.feed.feed_parser import parse
from siftline.fetch.feed.feeds import FeedTooComplexError
from siftline.fetch.feed.sanitised import looks_like_html, sanitised, text_of
from siftline.text.instants import claimed
from tests import feed_samples as samples
from tests.feed_judge import judged

SHARED = Path(__file__).parents[2] / "shared"
URL = "https://site.example/blog/feed.xml"
_DATE_OF = {
    **dict.fromkeys(("pubDate", "published", "issued"), "published"),
    **dict.fromkeys(("created", "dcterms:created"), "created"),
}


def _element(names: tuple[str, ...], values: tuple[str, ...]) -> st.SearchStrategy[str]:
    return st.builds(
        lambda name, value: f"<{name}>{value}</{name.split(maxsplit=1)[0]}>",
        st.sampled_from(names),
        st.sampled_from(values),
    )


PIECES = st.one_of(
    _element(samples.WITH_TEXT, samples.TEXTS),
    _element(samples.WITH_ADDRESS, samples.ADDRESSES),
    _element(samples.DATED, samples.MOMENTS),
    _element(samples.PERSONAL, samples.PEOPLE),
    st.builds(str.format, st.sampled_from(samples.AS_ATTRIBUTE), st.sampled_from(samples.ADDRESSES)),
    st.sampled_from(samples.WHOLE),
)
ENTRY = st.lists(PIECES, max_size=7).map("".join)
BASE = st.sampled_from(["", "", "", " xml:base='https://base.example/x/'", " xml:base='y/'", " xml:lang='de_AT'"])


@st.composite
def feeds(draw: st.DrawFn) -> str:
    """Draw a feed of any kind."""
    root, base = draw(st.sampled_from(["rss", "feed", "rdf"])), draw(BASE)
    entries = [(draw(ENTRY), draw(BASE)) for _ in range(draw(st.integers(0, 3)))]
    # Behind the entries feedparser lets any title take the place of the feed's own.
    after = draw(st.lists(PIECES.filter(lambda piece: "title" not in piece), max_size=2).map("".join))
    before = draw(ENTRY)
    if root == "feed":
        inner = "".join(f"<entry{b}>{text}</entry>" for text, b in entries)
        return f"<feed xmlns='http://www.w3.org/2005/Atom' {samples.NAMESPACES}{base}>{before}{inner}{after}</feed>"
    inner = "".join(f"<item{b}>{text}</item>" for text, b in entries)
    if root == "rss":
        return f"<rss version='2.0' {samples.NAMESPACES}{base}><channel>{before}{inner}{after}</channel></rss>"
    base = base.replace(" xml:lang='de_AT'", "")  # feedparser takes no language from the root of RDF
    head = f"<rdf:RDF xmlns='http://purl.org/rss/1.0/' {samples.NAMESPACES}{base}>"
    return f"{head}<channel rdf:about='x'>{before}</channel>{inner}</rdf:RDF>"


def _loses_a_date(text: str) -> bool:
    """Return whether feedparser lets a date that is none take the place of a good one, which we keep."""
    for entry in re.split("<(?:item|entry)", text):
        dates: dict[str, list[str]] = {}
        for name, value in re.findall(rf"<({'|'.join(samples.DATED)})>([^<]*)</", entry):
            dates.setdefault(_DATE_OF.get(name, "updated"), []).append(value)
        if any(len(values) > 1 and any(claimed(value).at is None for value in values) for values in dates.values()):
            return True
    return False


@given(feeds())
@settings(max_examples=400, deadline=None)
def test_whatever_a_feed_is_made_of_feedparser_says_the_same(text: str) -> None:
    assume(not _loses_a_date(text))
    assert parse(text.encode(), url=URL) == judged(text.encode(), url=URL)


@pytest.mark.parametrize(
    "text",
    [
        "{}<rss><channel><item><title>A</title></item></channel></rss>",
        "<rss><channel><item>{}<title>A</title></item></channel></rss>",
        "<rss><channel><item><title>A{}b</title></item></channel></rss>",
        "<rss><channel><item><title><![CDATA[A{}b]]></title></item></channel></rss>",
        "<rss><channel><item><title>A</title><!-- {} --></item></channel></rss>",
        "<rss><channel><item><title>A</title><?p {}?></item></channel></rss>",
        "<rss><channel><item><title>A</title><category domain='{}'>b</category></item></channel></rss>",
        "<rss><channel><item><title>A</title></item></channel></rss>{}",
    ],
    ids=["start", "between", "text", "cdata", "comment", "instruction", "attribute", "end"],
)
def test_a_control_character_is_dropped_wherever_it_stands(text: str) -> None:
    sound = parse(text.format("").encode(), url=URL)
    assert sound.entries[0].title
    for code in range(1, 32):  # a NUL would look like UTF-16
        if chr(code) not in "\t\n\r\x1b":
            assert parse(text.format(chr(code)).encode(), url=URL) == sound


@pytest.mark.parametrize("encoding", ["utf-8", "iso-8859-1", "windows-1252"])
def test_a_common_alphabet_is_read(encoding: str) -> None:
    text = f"<?xml version='1.0' encoding='{encoding}'?><rss><channel><title>Grüße</title></channel></rss>"
    feed = parse(text.encode(encoding), url=URL, content_type="text/xml")
    assert feed.title == "Grüße"
    assert feed == judged(text.encode(encoding), url=URL, content_type="text/xml")


@pytest.mark.parametrize(
    "text",
    [
        "<rss><channel><item " + " ".join(f"a{n}='x'" for n in range(300)) + "/></channel></rss>",
        "<rss><channel><item " + " ".join(f"xmlns:a{n}='x{n}'" for n in range(300)) + "/></channel></rss>",
        "<rss><channel>" + "<a>" * 300 + "</a>" * 300 + "</channel></rss>",
    ],
    ids=["attributes", "namespaces", "levels"],
)
@pytest.mark.parametrize("damage", ["", "<p>&nope;"])
def test_the_caps_hold_for_sound_feeds_and_damaged_ones(text: str, damage: str) -> None:
    with pytest.raises(FeedTooComplexError):
        parse(f"{text}{damage}".encode(), url=URL)


@pytest.mark.parametrize(
    "markup",
    [
        "<div>" * 50_000 + "text",
        "<div>" * 50_000 + ' href="x" text' + "</span>" * 50_000,
        "<p " + " ".join(f"a{n}=x" for n in range(50_000)) + ">text</p>",
        "<b><i></b>" * 5_000 + "text",
    ],
    ids=["levels", "levels-and-a-link", "attributes", "crossing"],
)
def test_html_that_is_built_to_hurt_becomes_text(markup: str) -> None:
    clean = sanitised(markup, URL)
    assert "text" in clean
    assert "<" not in clean
    assert text_of(markup).endswith("text")


def test_long_html_of_sloppy_make_stays_html() -> None:
    sloppy = "<p>One<br>two<li>three <img src='https://site.example/i.png'>" * 1_000
    assert sanitised(sloppy, URL).count("<img") == 1_000


def test_what_counts_as_html_in_plain_text_is_at_least_what_feedparser_takes_for_it() -> None:
    for name in filter(str.isalnum, _HTMLSanitizer.acceptable_elements):
        assert looks_like_html(f"<{name}>x</{name}>")


@pytest.mark.parametrize(
    ("statement", "unwanted"),
    [
        ("import siftline.fetch.kinds.readers", "feedparser lxml nh3"),
        ("from siftline.fetch.feed.feed_parser import parse; parse(FEED, url='https://site.example/')", "feedparser"),
    ],
)
def test_nothing_is_loaded_before_it_is_needed(statement: str, unwanted: str) -> None:
    code = f"""
import sys
FEED = b"<rss version='2.0'><channel><item><title>A&nbsp;</title><link>https://site.example/a</link></item></channel></rss>"
{statement}
print(*(name for name in {unwanted.split()!r} if name in sys.modules))
"""
    shown = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, env={"PYTHONPATH": str(SHARED)}
    )
    assert (shown.returncode, shown.stdout, shown.stderr) == (0, "\n", "")
