"""Feeds that are wrong in ways that are easily understood are understood."""

import json
from datetime import UTC, datetime

import pytest

from siftline.fetch.feed.feed_parser import parse
from siftline.fetch.feed.feeds import Feed, NotAFeedError

URL = "http://site.example/blog/feed.xml"
GOOD, LATER = "Tue, 21 Aug 2018 15:05:00 GMT", "Wed, 22 Aug 2018 15:05:00 GMT"
AT, LATER_AT = datetime(2018, 8, 21, 15, 5, tzinfo=UTC), datetime(2018, 8, 22, 15, 5, tzinfo=UTC)


def read(items: str) -> Feed:
    return parse(f"<rss version='2.0'><channel><title>T</title>{items}</channel></rss>".encode(), url=URL)


@pytest.mark.parametrize("damage", ["", "<b>&"])
def test_an_entry_within_an_entry_is_one_of_its_own(damage: str) -> None:
    inner = "<item><title>B</title><link>/b</link><item><title>C</title></item></item>"
    feed = read(f"<item><title>A</title><link>/a</link>{inner}</item><item><title>D</title></item>{damage}")
    assert [(entry.title, entry.link) for entry in feed.entries] == [
        ("A", "http://site.example/a"),
        ("B", "http://site.example/b"),
        ("C", None),
        ("D", None),
    ]
    assert feed.skipped == 0


def test_what_has_no_parts_within_an_entry_is_no_entry() -> None:
    feed = read("<item><title>A</title><item>a word</item><item/></item>")
    assert ([entry.title for entry in feed.entries], feed.skipped) == (["A"], 0)


def test_entries_within_an_entry_count_towards_the_cap() -> None:
    text = "<rss><channel><item><title>A</title><item><title>B</title></item></item></channel></rss>"
    feed = parse(text.encode(), url=URL, max_entries=1)
    assert ([entry.title for entry in feed.entries], feed.skipped) == (["A"], 1)


@pytest.mark.parametrize(
    ("dates", "at"),
    [
        ((GOOD, ""), AT),
        ((GOOD, "soon"), AT),
        ((GOOD, "Tue, 99 Aug 2018 15:05:00 GMT"), AT),
        (("2018-08-21 15:05 +0000", "soon"), AT),
        (("", GOOD, "soon"), AT),
        (("soon", GOOD), AT),
        ((GOOD, LATER), LATER_AT),
        ((GOOD, "22. August 2018 15:05"), LATER_AT),
    ],
)
@pytest.mark.parametrize(("root", "name"), [("rss", "pubDate"), ("feed", "published"), ("feed", "updated")])
def test_what_is_no_date_replaces_none(dates: tuple[str, ...], at: datetime, root: str, name: str) -> None:
    parts = "".join(f"<{name}>{date}</{name}>" for date in dates)
    [entry] = parse(f"<{root}><item><title>A</title>{parts}</item></{root}>".encode(), url=URL).entries
    assert (entry.published_at, entry.undated_code) == (at, None)


@pytest.mark.parametrize(("given", "is_link"), [("TRUE", True), ("True", True), (" true ", True), ("FALSE", False)])
def test_a_guid_says_in_any_case_that_it_is_an_address(given: str, is_link: bool) -> None:
    [entry] = read(f"<item><title>A</title><guid isPermaLink='{given}'>http://site.example/p</guid></item>").entries
    assert entry.link == ("http://site.example/p" if is_link else None)


ADDRESSES = [
    ("www.a.example/1", "https://www.a.example/1"),
    ("WWW.a.example", "https://www.a.example/"),
    ("www.a.example:8080/1?x=y#z", "https://www.a.example:8080/1?x=y#z"),
    ("site.example/1", "http://site.example/1"),
    ("site.example", "http://site.example/"),
    ("a.example/1", "http://site.example/blog/a.example/1"),
    ("www.html", "http://site.example/blog/www.html"),
    ("www/1", "http://site.example/blog/www/1"),
    ("sub/www.a.example/1", "http://site.example/blog/sub/www.a.example/1"),
]


@pytest.mark.parametrize(("given", "link"), ADDRESSES)
def test_an_address_without_its_scheme_is_one(given: str, link: str) -> None:
    file = f"<enclosure url='{given}' type='audio/mpeg'/>"
    items = [
        read(f"<item><title>A</title><link> {given} </link>{file}</item>").entries[0],
        parse(f"<feed><entry><title>A</title><link href='{given}'/></entry></feed>".encode(), url=URL).entries[0],
        json_feed(json.dumps({"title": "A", "url": given})).entries[0],
    ]
    assert {item.link for item in items} == {link}
    assert [enclosure.url for enclosure in items[0].enclosures] == [link]


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ("<![CDATA[<p>x <![CDATA[y]]> z</p>]]>", "x y z"),
        ("<![CDATA[<p>x <![CDATA[y <![CDATA[z]]> a]]> b</p>]]>", "x y z a b"),
        ("<![CDATA[<p>x</p>]]><![CDATA[<p>y</p>]]>", "x y"),
    ],
)
def test_a_section_within_a_section_ends_only_itself(body: str, text: str) -> None:
    feed = read(f"<item><title>A</title><description>{body}</description></item><item><title>B</title></item>")
    assert [(entry.title, entry.description) for entry in feed.entries] == [
        ("A", text),
        ("B", ""),
    ]


def json_feed(items: str, rest: str = "]}") -> Feed:
    text = f'{{"version": "https://jsonfeed.org/version/1.1", "title": "T", "items": [{items}{rest}'
    return parse(text.encode(), url=URL)


ONE, TWO = '{"id": "1", "title": "A, ]", "tags": ["x"]}', '{"id": "2", "title": "B"}'


@pytest.mark.parametrize(
    ("items", "rest", "titles", "skipped"),
    [
        (f"{ONE}, {TWO},", "]}", ["A, ]", "B"], 0),
        (f"{ONE}, {TWO}", "],}", ["A, ]", "B"], 0),
        ('{"id": "1", "title": "A,", "tags": ["x",],}', "]}", ["A,"], 0),
        (f"{ONE}, {TWO}", "", ["A, ]", "B"], 0),
        (f"{ONE}, {TWO}", ",", ["A, ]", "B"], 0),
        (f"{ONE}, {TWO[:-8]}", "", ["A, ]"], 1),
        (f"{ONE}, {TWO[:-1]}", "", ["A, ]"], 1),
        (f"{ONE}, {TWO}", '], "language": "d', ["A, ]", "B"], 0),
        (f"{ONE}, {TWO[:-3]}\\", "", ["A, ]"], 1),
    ],
)
def test_a_json_feed_that_breaks_off_or_has_a_comma_too_many_keeps_its_whole_items(
    items: str, rest: str, titles: list[str], skipped: int
) -> None:
    feed = json_feed(items, rest)
    assert ([entry.title for entry in feed.entries], feed.skipped, feed.title) == (titles, skipped, "T")


@pytest.mark.parametrize(
    "text", ['{"items": [{"id": "1"}', '{"version": "x", "items": 5, "a": b', '{"items": [{', "{,}"]
)
def test_what_is_left_of_other_json_is_no_feed(text: str) -> None:
    with pytest.raises(NotAFeedError):
        parse(text.encode(), url=URL)


def test_escaped_quotes_without_end_take_no_time() -> None:
    with pytest.raises(NotAFeedError):
        json_feed('"' + '\\"' * 300_000 + "\\", "")


def test_a_tag_without_a_visible_character_is_none() -> None:
    tags = ["\u200b", "x\u200b", "\u2060\ufeff"]
    assert json_feed(json.dumps({"title": "A", "tags": tags})).entries[0].tags == ("x",)
