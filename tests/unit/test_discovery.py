"""Which feed a site's address means."""

import pytest

from siftline.fetch.kinds.discovery import find
from siftline.fetch.kinds.feed_locations import Discovered, FeedLocation, guesses, is_page, known_feed

URL = "https://site.example/"


def link(href: str, title: str = "", media_type: str = "application/rss+xml") -> str:
    return f'<link rel="alternate" type="{media_type}" title="{title}" href="{href}">'


def found(*head: str, body: str = "", url: str = URL) -> Discovered:
    page = f"<!doctype html><html><head><meta charset=utf-8>{''.join(head)}</head><body>{body}</body></html>"
    return find(page.encode(), url=url, content_type="text/html; charset=utf-8")


def urls(discovered: Discovered) -> list[str]:
    return [candidate.url.removeprefix(URL) for candidate in discovered.candidates]


class TestTheMainFeed:
    @pytest.mark.parametrize(
        ("title", "path"),
        [
            ("Site » Comments Feed", "comments/feed/"),
            ("Site » Flux des commentaires", "fr/c"),
            ("Site » Kommentar-Feed", "k"),
            ("Site » Kommentare", "k"),
            ("Sitio » Feed de los comentarios", "c"),
            ("Сайт » Лента комментариев", "c"),
            ("Situs » Umpan Komentar", "c"),
            ("Site » A post Comments Feed", "2026/11/a-post/feed/"),
            ("", "comments/default"),
        ],
    )
    def test_comes_before_the_comments_feed_listed_first(self, title: str, path: str) -> None:
        """Case F31: a page that lists its comments feed first."""
        discovered = found(link(f"/{path}", title), link("/feed/", "Site » Feed"))
        assert urls(discovered) == ["feed/", path]
        assert discovered.clear

    def test_comes_before_those_of_tags_authors_categories_and_searches(self) -> None:
        discovered = found(
            link("/tag/x/feed/", "Site » x Tag Feed"),
            link("/a.xml", "Site » Posts by Ann Feed"),
            link("/?s=x&feed=rss2", "Search"),
            link("/category/n/feed", "News"),
            link("/feed/", "Site"),
        )
        assert urls(discovered)[0] == "feed/"
        assert discovered.clear

    def test_comes_before_what_stands_below_an_article(self) -> None:
        head = link("/2026/11/a-post-of-it/feed/", "Site » ต่อท้าย"), link("/feed/", "Site » Feed")
        discovered = found(*head, url=f"{URL}2026/11/a-post-of-it/")
        assert urls(discovered)[0] == "feed/"
        assert discovered.clear

    def test_of_a_blog_that_is_called_after_search_is_its_main_feed(self) -> None:
        assert found(link("/feed/", "Search Engine World » Feed")).clear

    def test_of_its_own_host_comes_first(self) -> None:
        discovered = found(link("https://other.example/feed", "Partner"), link("/feed", "Site"))
        assert urls(discovered) == ["feed", "https://other.example/feed"]
        assert discovered.clear

    def test_alone_on_another_host_is_taken(self) -> None:
        discovered = found(link("https://feeds.feedburner.com/site", "Site"))
        assert discovered.clear


class TestUnsure:
    def test_equal_feeds_are_to_be_chosen_from(self) -> None:
        """Case F31: ask when unsure."""
        discovered = found(link("/world.xml", "World"), link("/sport.xml", "Sport"), link("/comments/", "Comments"))
        assert urls(discovered) == ["world.xml", "sport.xml", "comments/"]
        assert not discovered.clear
        assert discovered.candidates[0] == FeedLocation(f"{URL}world.xml", "World", "application/rss+xml")

    def test_a_comments_feed_alone_is_not_taken_unasked(self) -> None:
        discovered = found(link("/comments/feed/", "Comments"))
        assert (urls(discovered), discovered.clear, discovered.announced) == (["comments/feed/"], False, True)

    def test_the_page_of_a_tag_may_mean_the_tag(self) -> None:
        head = link("/feed/", "Site » Feed"), link("/tag/x/feed/", "Site » x Tag Feed")
        assert not found(*head, url=f"{URL}tag/x/").clear
        assert found(*head, url=f"{URL}about").clear

    def test_there_are_at_most_twenty(self) -> None:
        assert len(found(*(link(f"/{place}.xml", f"Part {place}") for place in range(40))).candidates) == 20


class TestTwins:
    def test_one_feed_in_two_formats_counts_once_and_atom_is_preferred(self) -> None:
        discovered = found(
            link("/rss", "Site - RSS"),
            link("/atom", "Site (Atom)", "application/atom+xml"),
            link("/feed.json", "Site - JSON Feed", "application/feed+json"),
        )
        assert urls(discovered) == ["atom"]
        assert discovered.clear

    def test_without_atom_the_first_listed_is_taken(self) -> None:
        assert urls(found(link("/rss", "RSS"), link("/j", "JSON", "application/feed+json"))) == ["rss"]

    def test_two_feeds_of_one_format_and_name_are_two(self) -> None:
        assert urls(found(link("/a.xml", "RSS"), link("/b.xml", "RSS"))) == ["a.xml", "b.xml"]

    def test_one_address_twice_is_one_feed(self) -> None:
        assert urls(found(link("/feed", "A"), link("https://site.example/feed/#top", "B"))) == ["feed"]


class TestWhatIsAnnounced:
    @pytest.mark.parametrize(
        "head",
        [
            link("feed.xml"),
            link("feed.xml", media_type="Application/RSS+XML; charset=utf-8"),
            link("feed.xml", media_type="application/rdf+xml"),
            link("feed.xml", media_type="text/xml"),
            '<LINK REL="ALTERNATE HOME" TYPE="application/atom+xml" HREF="feed.xml">',
            "<link rel='feed' href='feed.xml'>",
            "<link rel=alternate href='feed.xml'>",
        ],
    )
    def test_is_found_in_every_spelling(self, head: str) -> None:
        assert urls(found(head)) == ["feed.xml"]

    @pytest.mark.parametrize(
        "head",
        [
            '<link rel="alternate" hreflang="de" href="/de/">',
            '<link rel="alternate" type="application/json" href="/wp-json/wp/v2/pages/2" title="JSON">',
            '<link rel="alternate" type="application/json+oembed" href="/oembed?url=feed.xml">',
            '<link rel="alternate stylesheet" type="application/rss+xml" href="/feed.xml">',
            link("javascript:alert(1)"),
            link("feed://site.example/feed"),
            link("http://[broken/feed"),
            link(""),
        ],
    )
    def test_is_nothing_else(self, head: str) -> None:
        assert found(head) == Discovered()

    def test_counts_from_the_base_of_the_page(self) -> None:
        assert urls(found('<base href="/blog/">', link("feed"))) == ["blog/feed"]
        assert urls(found('<base href="http://[broken">', link("feed"), url=f"{URL}a/b")) == ["a/feed"]

    def test_in_the_body_is_found_too(self) -> None:
        assert urls(found(body=link("/feed"))) == ["feed"]


class TestLinks:
    def test_that_look_like_feeds_count_where_nothing_is_announced(self) -> None:
        discovered = found(body='<a href="/about">About</a><a href="/news/rss.xml">RSS</a><a href="/feedback">Say</a>')
        assert (urls(discovered), discovered.clear, discovered.announced) == (["news/rss.xml"], True, False)

    def test_never_count_beside_an_announced_main_feed(self) -> None:
        assert urls(found(link("/feed", "Site"), body='<a href="/other.rss">RSS</a>')) == ["feed"]

    def test_to_other_sites_do_not_count(self) -> None:
        body = '<a href="https://other.example/feed">x</a><a href="/sitemap.xml">y</a><a href="mailto:feed@x">z</a>'
        assert found(body=body) == Discovered()


class TestYoutube:
    CHANNEL = "UCabcdefghijklmnopqrstuv"
    FEED = f"https://www.youtube.com/feeds/videos.xml?channel_id={CHANNEL}"

    def test_a_channels_feed_follows_from_the_id_in_its_page(self) -> None:
        canonical = (
            f'<link rel="canonical" href="https://www.youtube.com/channel/{self.CHANNEL}"><title>Ann - YouTube</title>'
        )
        discovered = found(canonical, url="https://www.youtube.com/@ann")
        assert discovered.candidates == (FeedLocation(self.FEED, "Ann", "application/atom+xml"),)
        assert discovered.clear
        script = f'<script>var data = {{"externalId":"{self.CHANNEL}"}}</script>'
        assert found(script, url="https://m.youtube.com/@ann").candidates[0].url == self.FEED

    def test_channels_and_playlists_need_no_page(self) -> None:
        assert known_feed(f"https://www.youtube.com/channel/{self.CHANNEL}/videos") == self.FEED
        assert known_feed("https://youtube.com/playlist?list=PL0123456789") == (
            "https://www.youtube.com/feeds/videos.xml?playlist_id=PL0123456789"
        )
        for other in (self.FEED, "https://www.youtube.com/@ann", f"https://other.example/channel/{self.CHANNEL}"):
            assert known_feed(other) is None


def test_a_title_is_plain_text_in_one_line() -> None:
    [candidate] = found(link("/feed", "A &lt;b&gt;\n  B&#8211;é")).candidates
    assert candidate.title == "A <b> B\u2013é"


def test_a_title_before_the_page_names_its_character_set_is_read_in_it() -> None:
    page = '<html><head><link rel=feed title="Журнал" href=/feed><meta charset="{}">'
    for charset in ("utf-8", "koi8-r", "windows-1251"):
        [candidate] = find(page.format(charset).encode(charset), url=URL).candidates
        assert candidate.title == "Журнал"


@pytest.mark.parametrize("body", [b"", b"\0", b"<", b"\xff\xfe", b"{}"], ids=str)
def test_what_is_no_page_names_no_feed(body: bytes) -> None:
    assert find(body, url=URL) == Discovered()


def test_likely_places_are_the_pages_folder_and_the_sites_root() -> None:
    assert guesses(URL, 3) == [f"{URL}feed", f"{URL}rss.xml", f"{URL}atom.xml"]
    assert guesses(f"{URL}blog/", 7)[:6] == [
        f"{URL}blog/{name}" for name in ("feed", "feed.xml", "rss.xml", "atom.xml", "index.xml")
    ] + [f"{URL}feed"]
    assert guesses(f"{URL}blog", 1) == [f"{URL}blog/feed"]
    assert guesses(f"{URL}index.html?x=1", 1) == [f"{URL}feed"]
    assert f"{URL}feed" not in guesses(f"{URL}feed", 20)


@pytest.mark.parametrize(
    ("body", "media_type", "expected"),
    [
        ("<!DOCTYPE html>", "", True),
        ("\n<!-- a --> <!-- b --><HTML lang=en>", "application/rss+xml", True),
        ("<?xml version='1.0'?><!DOCTYPE html PUBLIC '-//W3C//DTD XHTML 1.0 Strict//EN'>", "", True),
        ("<div>no head</div>", "text/html", True),
        ("<div>no head</div>", "application/xml", False),
        ("<rss version='2.0'>", "text/html", False),
        ("<!-- html --><feed xmlns='http://www.w3.org/2005/Atom'>", "text/html", False),
        ("<rdf:RDF>", "text/html", False),
        ("{}", "application/json", False),
        ("<!---->" * 1_000, "", False),
    ],
)
def test_a_page_is_known_by_its_beginning(body: str, media_type: str, expected: bool) -> None:
    assert is_page(body.encode(), media_type) is expected
