"""Lists of subscriptions, as other readers write them and as we do."""

from dataclasses import dataclass, field

import pytest

from siftline.api.opml import Outline, read, write
from siftline.api.problems import ProblemError

FEED = "https://site.example/feed"


@dataclass(frozen=True)
class Source:
    kind: str = "rss"
    url: str = FEED
    feed_url: str | None = None
    site_url: str | None = None
    title: str | None = "Site"
    topics: list[str] = field(default_factory=list)
    selector: str | None = None


def opml(body: str, head: str = '<?xml version="1.0" encoding="UTF-8"?>') -> bytes:
    return f'{head}<opml version="2.0"><head><title>x</title></head><body>{body}</body></opml>'.encode()


def outlines(body: bytes | str, *, encoding: str | None = None, most: int = 100) -> list[Outline]:
    return read(opml(body) if isinstance(body, str) else body, encoding=encoding, most=most)


def refusal(body: bytes | str, **more: int) -> ProblemError:
    with pytest.raises(ProblemError) as caught:
        outlines(body, **more)  # type: ignore[arg-type]  # by name
    return caught.value


class TestReading:
    @pytest.mark.parametrize(
        "outline",
        [
            f'<outline type="rss" text="Site" xmlUrl="{FEED}"/>',
            f'<outline text="old name" title=" Site " XMLURL="{FEED}" htmlUrl="https://site.example/"/>',
            f'<outline text="Site" xmlurl=" {FEED} "></outline>',
            f'<OUTLINE TEXT="Site" URL="{FEED}" TYPE="rss"/>',
            f'<outline text="Site" htmlUrl="{FEED}"/>',
        ],
    )
    def test_a_subscription_is_known_in_every_spelling(self, outline: str) -> None:
        assert outlines(outline) == [Outline(FEED, "Site")]

    def test_names_of_folders_are_topics_of_what_stands_in_them(self) -> None:
        found = outlines(
            f"""<outline text="News"><outline title="World"><outline xmlUrl="{FEED}" text="A"/></outline>
            <outline xmlUrl="{FEED}2"/></outline><outline xmlUrl="{FEED}3" text="C"/><outline><outline text="x"
            xmlUrl="{FEED}4"/></outline>"""
        )
        assert [(outline.title, outline.topics) for outline in found] == [
            ("A", ("News", "World")),
            (None, ("News",)),
            ("C", ()),
            ("x", ()),
        ]

    def test_long_names_are_cut_and_deep_folders_give_twenty_topics(self) -> None:
        nested = "".join(f'<outline text="{number} {"x" * 99}">' for number in range(25))
        [found] = outlines(f'{nested}<outline text="{"y" * 999}" xmlUrl="{FEED}"/>{"</outline>" * 25}')
        assert len(found.topics) == 20
        assert {len(topic) for topic in found.topics} == {64}
        assert len(found.title or "") == 200

    def test_bare_ampersands_and_names_of_html_do_not_spoil_a_file(self) -> None:
        [found] = outlines(f'<outline text="R&D &nbsp; &amp; &#228; more" xmlUrl="{FEED}?a=1&b=2&copy=3"/>')
        assert (found.title, found.url) == ("R&D &nbsp; & ä more", f"{FEED}?a=1&b=2&copy=3")

    @pytest.mark.parametrize("encoding", ["iso-8859-1", "windows-1252", "utf-16", "koi8-r"])
    def test_a_file_is_read_in_the_encoding_that_it_names(self, encoding: str) -> None:
        name = "Привет" if encoding in {"utf-16", "koi8-r"} else "Grüße"
        text = f'<?xml version="1.0" encoding="{encoding}"?><opml><body><outline text="{name}" xmlUrl="{FEED}"/>'
        body = f"{text}</body></opml>".encode(encoding)
        assert outlines(body)[0].title == name
        # WHEN the gateway has made text of it, what it names is no longer so
        assert outlines(body.decode(encoding).encode(), encoding="utf-8")[0].title == name

    def test_a_byte_order_mark_and_a_document_type_are_harmless(self) -> None:
        body = b'\xef\xbb\xbf<!DOCTYPE opml SYSTEM "http://127.0.0.1:1/x.dtd"><opml/>'
        assert outlines(body) == []

    @pytest.mark.parametrize("body", [b"", b"{}", b"<opml>", b"<rss version='2.0'/>", b"\xff\xff\xff"], ids=str)
    def test_what_is_no_opml_says_so(self, body: bytes) -> None:
        assert (refusal(body).status, refusal(body).code) == (400, "invalid_opml")


class TestLimits:
    def test_a_hundred_thousand_outlines_are_refused(self) -> None:
        """Case S07: an OPML file with 100,000 outlines."""
        body = opml("".join(f'<outline xmlUrl="http://a.example/{number}"/>' for number in range(100_000)))
        found = refusal(body, most=2_000)
        assert (found.status, found.code) == (422, "too_many_outlines")

    def test_as_many_as_allowed_are_read(self) -> None:
        body = "".join(f'<outline xmlUrl="http://a.example/{number}"/>' for number in range(5))
        assert len(outlines(body, most=5)) == 5

    @pytest.mark.parametrize(
        "body",
        [
            b'<!DOCTYPE opml [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;&a;">]><opml><head><title>&b;</title></head></opml>',
            b'<!DOCTYPE opml [<!ENTITY a SYSTEM "file:///etc/passwd">]><opml>&a;</opml>',
            b'<!DOCTYPE opml [<!ENTITY % a SYSTEM "http://127.0.0.1:1/"> %a;]><opml/>',
            opml("<outline>" * 1_000),
            opml(f"<outline {' '.join(f'a{number}=1' for number in range(1_000))}/>".replace("1", '"1"')),
        ],
        ids=["bomb", "file", "parameter", "depth", "attributes"],
    )
    def test_what_is_built_to_hurt_is_refused(self, body: bytes) -> None:
        assert refusal(body).status in {400, 422}


class TestWriting:
    def test_it_reads_back_as_it_was(self) -> None:
        sources = [
            Source(title='A & "B" <c>\n', topics=["News", "R&D"]),
            Source(url="https://x.example/", feed_url="https://x.example/feed", site_url="https://x.example/"),
            Source(kind="web", url="https://y.example/", selector="main > a[href^='/'], h2 a", topics=["News"]),
            Source(kind="reddit", url="https://www.reddit.com/r/python/top/?t=week", title="r/Python"),
        ]
        text = write(sources, title="Mine")
        assert read(text.encode(), encoding=None, most=100) == [
            Outline("https://x.example/", "Site", (), "rss"),
            Outline("https://www.reddit.com/r/python/top/.rss?t=week", "r/Python", (), "reddit"),
            Outline(FEED, 'A & "B" <c>', ("News",), "rss"),
            Outline("https://y.example/", "Site", ("News",), "web", "main > a[href^='/'], h2 a"),
            Outline(FEED, 'A & "B" <c>', ("R&D",), "rss"),
        ]

    def test_other_readers_find_a_feed_wherever_there_is_one(self) -> None:
        found = Source(url="https://x.example/", feed_url="https://x.example/feed")
        assert 'xmlUrl="https://x.example/feed"' in write([found], title="x")
        page = write([Source(kind="web", url="https://y.example/")], title="x")
        assert 'htmlUrl="https://y.example/"' in page
        assert "xmlUrl" not in page

    def test_what_xml_cannot_say_is_left_out(self) -> None:
        text = write([Source(title="a\x01b\ufffe", topics=["t\x0b"])], title="<&>")
        assert [outline.title for outline in read(text.encode(), encoding=None, most=9)] == ["ab"]
