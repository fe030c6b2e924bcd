"""What a page says of itself, and which of its sayings count."""

from datetime import UTC, datetime

import pytest

from siftline.ingest.page.metadata import Metadata, MetadataReader
from siftline.ingest.page.page_tree import parse

URL = "https://news.example/politics/story"


def read(head: str = "", body: str = "<p>x</p>", *, html: str = "<html>", url: str = URL) -> Metadata:
    return MetadataReader(parse(f"{html}<head>{head}</head><body>{body}</body></html>").outline, url).read()


def linked(data: str) -> str:
    return f'<script type="application/ld+json">{data}</script>'


def test_a_page_that_says_nothing_has_nothing() -> None:
    assert read() == Metadata(titles=())


def test_open_graph_is_read() -> None:
    found = read(
        """<meta property="og:title" content="Dredging &amp; more"><meta property="og:site_name" content="Harbour News">
        <meta property="og:description" content=" Two  lines
        of it "><meta property="og:image" content="/lead.jpg"><meta property="og:type" content="video.other">
        <meta property="og:locale" content="pt_BR"><meta property="og:url" content="https://news.example/story">
        <meta property="article:published_time" content="2026-11-20T08:00:00+01:00">"""
    )
    assert (found.title, found.site_name, found.description) == ("Dredging & more", "Harbour News", "Two lines of it")
    assert (found.image_url, found.kind) == ("https://news.example/lead.jpg", "video")
    assert (found.html_lang, found.lang_hint) == ("pt_BR", "pt")
    assert found.canonical_url == "https://news.example/story"
    assert found.published_at == datetime(2026, 11, 20, 7, tzinfo=UTC)


@pytest.mark.parametrize(
    "data",
    [
        """{"@type": "NewsArticle", "headline": "H", "datePublished": "2026-11-20", "author": {"name": "A"},
            "publisher": {"name": "P"}, "image": {"url": "/i.jpg"}, "inLanguage": "fr-CA"}""",
        """{"@graph": [{"@type": "WebSite", "name": "W"}, {"@type": ["https://schema.org/BlogPosting"], "headline": "H",
            "datePublished": "2026-11-20", "author": [{"name": "A"}], "publisher": "P", "image": ["/i.jpg"],
            "inLanguage": "fr-CA"}]}""",
        """<!-- [{"@type": "WebPage", "mainEntity": {"@type": "Report", "headline": "H", "datePublished": "2026-11-20",
            "author": ["A", "A"], "publisher": [{"name": "P"}], "image": ["/i.jpg"], "inLanguage": "fr"}}] -->""",
    ],
)
def test_linked_data_is_read_in_all_its_shapes(data: str) -> None:
    found = read(linked("{broken") + linked('{"@type": "BreadcrumbList", "name": "B"}') + linked(data))
    assert (found.title, found.author, found.site_name, found.lang_hint) == ("H", "A", "P", "fr")
    assert found.image_url == "https://news.example/i.jpg"
    assert found.published_at == datetime(2026, 11, 20, tzinfo=UTC)


@pytest.mark.parametrize(
    "data",
    [
        "",
        "null",
        "[]",
        "[[[1]]]",
        '{"@type": 7}',
        '{"@type": "Article", "headline": 7, "author": [[1]], "image": [], "datePublished": {}}',
        "[" * 100_000,
        '{"mainEntity":' * 50 + "1" + "}" * 50,
        f'{{"@type": "Article", "headline": "{"x" * 1_000_000}"}}',
    ],
)
def test_linked_data_that_makes_no_sense_is_passed_over(data: str) -> None:
    assert read(f"<title>T</title>{linked(data)}").title == "T"


def test_a_video_page_is_one() -> None:
    found = read(linked('{"@type": "VideoObject", "name": "V", "uploadDate": "2026-11-20T10:00:00Z"}'))
    assert (found.kind, found.published_at) == ("video", datetime(2026, 11, 20, 10, tzinfo=UTC))


def test_linked_data_may_refer_to_its_own_nodes_and_write_entities() -> None:
    data = """{"@graph": [{"@type": "Article", "headline": "Dredging &amp; more &#8211; a report",
        "author": {"@id": "#w"}, "publisher": {"@id": "#p"}, "description": "What it&#39;s about",
        "image": [{"@type": "ImageObject", "contentUrl": "/i.jpg"}], "dateCreated": "2026-11-20"},
        {"@type": "Person", "@id": "#w", "name": ["A. Writer", "B. Writer"]},
        {"@type": "Organization", "@id": "#p", "name": "Harbour News"}]}"""
    found = read(linked(data))
    assert (found.title, found.author) == ("Dredging & more \u2013 a report", "A. Writer, B. Writer")
    assert (found.site_name, found.description) == ("Harbour News", "What it's about")
    assert (found.image_url, found.is_article) == ("https://news.example/i.jpg", True)
    assert found.published_at == datetime(2026, 11, 20, tzinfo=UTC)


def test_nodes_that_refer_to_each_other_in_a_circle_say_nothing() -> None:
    data = '{"@graph": [{"@type": "Article", "author": {"@id": "#a"}}, {"@id": "#a", "name": {"@id": "#a"}}]}'
    assert read(linked(data)).author is None


def test_microdata_is_read() -> None:
    body = """<div itemscope itemtype="https://schema.org/NewsArticle"><h2 itemprop="headline name">Dredging</h2>
        <span itemprop=author itemscope>By <b itemprop=name>A. Writer</b> of the staff</span>
        <meta itemprop=datePublished content="2026-11-20T08:00:00Z"></div>"""
    found = read("<title>T</title>", body)
    assert (found.title, found.author, found.is_article) == ("Dredging", "A. Writer", True)
    assert found.published_at == datetime(2026, 11, 20, 8, tzinfo=UTC)


@pytest.mark.parametrize("separator", [" | ", " - ", " \u2013 ", " :: ".replace("::", ":"), " » "])
def test_the_sites_name_is_cut_off_its_titles(separator: str) -> None:
    site = '<meta property="og:site_name" content="Harbour News">'
    assert read(f"{site}<title>Dredging agreed{separator}Harbour News</title>").title == "Dredging agreed"
    assert read(f"{site}<title>harbour news{separator}Dredging agreed</title>").title == "Dredging agreed"
    assert read(f"{site}<title>Harbour News</title>").title == "Harbour News"


def test_a_single_heading_goes_before_the_window_title_and_all_spellings_are_known() -> None:
    found = read("<title>Dredging - a report</title>", "<h1>Dredging agreed</h1>")
    assert found.title == "Dredging agreed"
    assert found.titles == ("Dredging agreed", "Dredging - a report")


@pytest.mark.parametrize(
    ("head", "body", "author"),
    [
        ('<meta name=author content="By A. Writer">', "", "A. Writer"),
        ('<meta property="article:author" content="https://social.example/a">', "", None),
        ('<meta name="twitter:creator" content="@writer">', '<a rel="author" href="/a">A. Writer</a>', "A. Writer"),
        ("", '<span itemprop="author">A. Writer</span>', "A. Writer"),
    ],
)
def test_an_author_is_a_name_and_not_an_address(head: str, body: str, author: str | None) -> None:
    assert read(head, body or "<p>x</p>").author == author


@pytest.mark.parametrize(
    ("head", "url", "canonical"),
    [
        ('<link rel="canonical" href="/story?id=7">', URL, "https://news.example/story?id=7"),
        ('<link rel="shortlink canonical" href="../a#top">', URL, "https://news.example/a#top"),
        ('<base href="https://cdn.example/x/"><link rel=canonical href="y">', URL, "https://cdn.example/x/y"),
        ('<link rel="canonical" href="/">', URL, None),
        ('<link rel="canonical" href="/">', "https://news.example/?page=2", "https://news.example/"),
        ('<link rel="canonical" href="http://["><meta property="og:url" content="/b">', URL, "https://news.example/b"),
        ('<link rel="canonical" href="javascript:x">', URL, None),
        ('<link rel="canonical" href="">', URL, None),
        ("<link rel=canonical>", URL, None),
    ],
)
def test_a_canonical_address_is_resolved_and_must_be_one(head: str, url: str, canonical: str | None) -> None:
    assert read(head, url=url).canonical_url == canonical


@pytest.mark.parametrize(
    ("html", "head", "hint"),
    [
        ('<html lang="de-CH">', "", "de"),
        ('<html xml:lang="JA">', "", "ja"),
        ("<html>", '<meta http-equiv="content-language" content="it">', "it"),
        ('<html lang="x">', "", None),
        ('<html lang="english please">', "", None),
    ],
)
def test_the_language_is_a_hint_in_one_form(html: str, head: str, hint: str | None) -> None:
    assert read(head, html=html).lang_hint == hint


@pytest.mark.parametrize(
    ("head", "body", "day"),
    [
        ('<meta name="date" content="2026-11-20">', "", 20),
        ('<meta itemprop="datePublished" content="2026-11-21">', "", 21),
        ("", '<span itemprop="datePublished" content="2026-11-22">yesterday</span>', 22),
        ("", '<time pubdate datetime="2026-11-23">x</time>', 23),
        ("", '<article><time datetime="2026-11-24T00:00:00Z">x</time></article>', 24),
        ('<meta name="date" content="nonsense">', '<time pubdate datetime="2026-11-25">x</time>', 25),
    ],
)
def test_a_published_time_is_taken_where_it_is_stated(head: str, body: str, day: int) -> None:
    assert read(head, body or "<p>x</p>").published_at == datetime(2026, 11, day, tzinfo=UTC)


def test_a_day_in_the_address_is_taken_last() -> None:
    assert read(url="https://news.example/2026/11/20/story").published_at == datetime(2026, 11, 20, tzinfo=UTC)


def test_a_date_is_read_in_the_language_of_the_page() -> None:
    found = read('<meta name="language" content="nl"><meta name="date" content="ma, 08 okt 2018 10:09">')
    assert (found.published_at, found.undated_code) == (datetime(2018, 10, 8, 10, 9, tzinfo=UTC), None)


def test_a_date_that_cannot_be_gives_way_to_another_and_is_told_where_there_is_none() -> None:
    zero = '<meta property="article:published_time" content="0001-01-01T00:00:00Z">'
    assert read(f'{zero}<meta name="date" content="2026-11-20">').published_at == datetime(2026, 11, 20, tzinfo=UTC)
    assert read(zero, url="https://news.example/2026/11/20/story").undated_code is None
    found = read(zero)
    assert (found.published_at, found.undated_code) == (None, "date_implausible")
    assert found.undated_claim == "0001-01-01T00:00:00Z"
