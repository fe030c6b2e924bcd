"""Which links of a page are its articles."""

from datetime import UTC, datetime

import pytest

from siftline.fetch.feed.feeds import Feed
from siftline.fetch.kinds.feed_locations import InvalidSelectorError
from siftline.fetch.kinds.web_page import NoLinksFoundError, article_links

URL = "https://site.example/news/"
FRAME = """
<header class="site-header"><a href="/">The whole site at home</a><h1><a href="/news/">All of the news</a></h1></header>
<nav><ul><li><a href="/politics-and-more/">Politics and more of it</a></li>
<li><a href="/sport-and-games/">Sport and games of today</a></li></ul></nav>
"""
FOOT = """
<div class="sidebar"><ul><li><a href="/most-read-story-today">The most read story of today</a></li>
<li><a href="/second-most-read">The second most read story</a></li></ul></div>
<div class="pagination"><a href="/news/page/2">Go to the next page of it</a></div>
<footer><a href="/imprint">Imprint and legal notices here</a><a href="/privacy">Our privacy policy in full</a></footer>
"""


def links(body: str, *, frame: bool = True, url: str = URL, **more: object) -> Feed:
    page = f"<!doctype html><html lang=en><head><title>News</title></head><body>{FRAME if frame else ''}{body}"
    text = f"{page}{FOOT if frame else ''}</body></html>"
    return article_links(text.encode(), url=url, content_type="text/html; charset=utf-8", **more)  # type: ignore[arg-type]  # by name


def paths(feed: Feed) -> list[str]:
    return [(entry.link or "").removeprefix("https://site.example/") for entry in feed.entries]


def story(number: int) -> str:
    address = f"/{number}/story-of-it"
    return f"""<article class="post post-{number} category-c{number % 3}">
      <a href="{address}"><img src="/i/{number}.jpg" alt=""></a>
      <h2 class="entry-title"><a href="{address}">A story that tells something {number}</a></h2>
      <time datetime="2026-11-{number + 10}T08:00:00+01:00">then</time>
      <p>Text of it. <a href="{address}#more">Read more about it</a></p>
      <p class="tags"><a href="/tag/x" rel="tag">Something else</a></p></article>"""


class TestByItself:
    def test_the_articles_of_a_blog_are_found_with_title_date_and_picture(self) -> None:
        feed = links("<main>" + "".join(map(story, range(4))) + "</main>")
        assert paths(feed) == [f"{number}/story-of-it" for number in range(4)]
        first = feed.entries[0]
        assert (first.title, first.guid) == ("A story that tells something 0", None)
        assert first.published_at == datetime(2026, 11, 10, 7, tzinfo=UTC)
        assert first.image_url == "https://site.example/i/0.jpg"
        assert (feed.title, feed.site_url, feed.language) == ("News", URL, "en")

    def test_a_plain_list_is_found(self) -> None:
        items = "".join(f"<li>{n} May: <a href='notes/{n}.html'>Minutes of the meeting {n}</a></li>" for n in range(5))
        assert paths(links(f"<ul>{items}</ul>")) == [f"news/notes/{number}.html" for number in range(5)]

    def test_rows_of_a_table_are_found(self) -> None:
        rows = "".join(
            f"<tr><td>{n}</td><td class='title'><a href='/item/{n}00'>What somebody posted as {n}</a>"
            f"<a href='/user/u{n}'>u{n}</a></td></tr>"
            for n in range(6)
        )
        assert paths(links(f"<table>{rows}</table>")) == [f"item/{number}00" for number in range(6)]

    def test_a_lead_story_that_stands_apart_belongs_to_them(self) -> None:
        lead = "<article class='top'><h1><a href='/the-lead-story-now'>The lead story of this hour</a></h1></article>"
        feed = links(lead + "<section>" + "".join(map(story, range(5))) + "</section>")
        assert paths(feed) == ["the-lead-story-now"] + [f"{number}/story-of-it" for number in range(5)]

    def test_a_card_whose_headline_stands_beside_its_link_is_called_by_the_headline(self) -> None:
        cards = "".join(
            f"<div class='card'><h3>Headline {n} of the day</h3><a class='more' href='/c/{n}-a-b-c'>Read on</a></div>"
            for n in range(3)
        )
        feed = links(f"<div class='grid'>{cards}</div>")
        assert [entry.title for entry in feed.entries] == [f"Headline {n} of the day" for n in range(3)]

    def test_other_sites_and_files_are_no_articles(self) -> None:
        body = "".join(
            f"<p><a href='https://other.example/{n}'>A partner of ours, number {n}</a></p>" for n in range(9)
        )
        body += "".join(f"<p><a href='/pictures/{n}.jpg'>A picture of ours, number {n}</a></p>" for n in range(9))
        with pytest.raises(NoLinksFoundError) as caught:
            links(body)
        assert caught.value.error_code == "no_links_found"

    @pytest.mark.parametrize("body", [b"", b"<html>", b"\0\0", b"just text", b"<p><a href='/a'>x</a>"], ids=str)
    def test_a_page_without_articles_says_so(self, body: bytes) -> None:
        with pytest.raises(NoLinksFoundError):
            article_links(body, url=URL)

    def test_what_the_page_links_twice_comes_once(self) -> None:
        feed = links("".join(map(story, [1, 2, 1])))
        assert paths(feed) == ["1/story-of-it", "2/story-of-it"]

    def test_there_are_no_more_than_the_cap(self) -> None:
        feed = links("".join(map(story, range(9))), max_links=3)
        assert len(feed.entries) == 3
        assert feed.skipped == 6

    def test_a_title_is_text_and_a_broken_date_is_none(self) -> None:
        body = "".join(
            f"<article><h2><a href='/{n}/it'>&lt;b&gt;R&amp;D&lt;/b&gt; at work {n}</a></h2><time datetime='soon'>"
            for n in range(3)
        )
        first = links(body).entries[0]
        assert (first.title, first.published_at) == ("<b>R&D</b> at work 0", None)


class TestBySelector:
    BODY = """<div id=x><h3><a href="/a">One</a></h3><h3><a href="https://other.example/b">Two</a></h3>
    <p class=t>No link</p><p><a href="/c"><b class=t>Three</b></a><a href="javascript:x">Four</a></p></div>"""

    @pytest.mark.parametrize(
        ("selector", "expected"),
        [
            ("h3 a", ["a", "https://other.example/b"]),
            ("h3", ["a", "https://other.example/b"]),
            (".t", ["c"]),
            ("#x > p", ["c"]),
            ("a[href^='/']", ["a", "c"]),
            ("#x p:last-child a, #x h3:first-child a", ["a", "c"]),
        ],
    )
    def test_links_are_chosen_wherever_they_lead(self, selector: str, expected: list[str]) -> None:
        feed = links(self.BODY, frame=False, selector=selector)
        assert paths(feed) == expected
        assert all(entry.title in {"One", "Two", "Three"} for entry in feed.entries)

    @pytest.mark.parametrize(
        "selector", ["h3 >", "a::before", "a:nonsense", "[", "ns|a", "div/a", "", "{}", "a:lang('')"]
    )
    def test_one_that_is_none_says_so(self, selector: str) -> None:
        with pytest.raises(InvalidSelectorError) as caught:
            links(self.BODY, frame=False, selector=selector)
        assert caught.value.error_code == "invalid_selector"

    def test_one_that_chooses_nothing_says_so(self) -> None:
        with pytest.raises(NoLinksFoundError):
            links(self.BODY, frame=False, selector="table a")


@pytest.mark.parametrize(
    ("raw", "content_type"),
    [
        ("Ärger über Öl".encode("latin-1"), "text/html; charset=iso-8859-1"),
        ("Ärger über Öl".encode("cp1252"), "text/html"),
        ("Ärger über Öl".encode(), "text/html"),
        ("Ärger über Öl".encode(), "text/html; charset=no-such"),
        (b"<meta charset=koi8-r>" + "Ой".encode("koi8-r"), "text/html"),
    ],
    ids=["header", "guess", "utf-8", "unknown", "meta"],
)
def test_titles_are_read_in_the_pages_character_set(raw: bytes, content_type: str) -> None:
    body = b"<title>x</title><h2><a href=/a>" + raw + b"</a></h2>"
    [entry] = article_links(body, url=URL, content_type=content_type, selector="h2").entries
    assert entry.title in {"Ärger über Öl", "Ой"}


def test_the_date_of_a_listed_article_is_read_in_words_and_said_where_it_cannot_be() -> None:
    words = {1: "<time>21 August 2018</time>", 2: "<time datetime='0001-01-01'>then</time>", 3: "<time>soon</time>"}
    body = "".join(
        f"<article class=post><h2><a href='/{n}/a-story'>A story that tells something {n}</a></h2>{time}</article>"
        for n, time in words.items()
    )
    found = links(body).entries
    assert [entry.published_at for entry in found] == [datetime(2018, 8, 21, tzinfo=UTC), None, None]
    assert [entry.undated_code for entry in found] == [None, "date_implausible", "date_unreadable"]
