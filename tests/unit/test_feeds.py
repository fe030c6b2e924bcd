"""What feeds say, in every format and state of repair."""

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest
from lxml import etree

from siftline.fetch.feed.feed_parser import parse
from siftline.fetch.feed.feeds import Enclosure, Entry, Feed, FeedTooComplexError, NotAFeedError
from tests.feed_judge import judged

URL = "https://site.example/blog/feed.xml"


def read(text: str | bytes, **options: object) -> Feed:
    """Read a feed; where it is well-formed XML without entities of its own, feedparser says the same."""
    body = text.encode() if isinstance(text, str) else text
    feed = parse(body, url=URL, **options)  # type: ignore[arg-type]  # by name
    if is_well_formed(body) and b"<!ENTITY" not in body and "max_entries" not in options:
        assert judged(body, url=URL, **options) == feed  # type: ignore[arg-type]  # by name
    return feed


def is_well_formed(body: bytes) -> bool:
    try:
        etree.fromstring(body, etree.XMLParser(load_dtd=False, no_network=True))
    except (etree.XMLSyntaxError, ValueError):
        return False
    return True


def rss(items: str, head: str = "", attributes: str = "") -> str:
    return f"<rss version='2.0' {attributes}><channel><title>T</title>{head}{items}</channel></rss>"


def atom(entry: str, head: str = "") -> str:
    return f"<feed xmlns='http://www.w3.org/2005/Atom'><title>T</title>{head}<entry>{entry}</entry></feed>"


def one(text: str | bytes) -> Entry:
    [entry] = read(text).entries
    return entry


class TestFormats:
    def test_rss(self) -> None:
        feed = read(
            rss(
                """<item><title>A &amp;amp; B</title><link>/a</link><guid isPermaLink="false">g1</guid>
                <pubDate>Mon, 01 Jan 2024 10:00:00 GMT</pubDate><dc:creator>Ann</dc:creator><category>x</category>
                <description>Short.</description><content:encoded><![CDATA[<p>Long <b>text</b></p>]]></content:encoded>
                <enclosure url="/a.mp3" type="audio/mpeg" length="123"/></item>""",
                "<link>https://site.example/blog/</link><language>de</language>",
                "xmlns:dc='http://purl.org/dc/elements/1.1/' xmlns:content='http://purl.org/rss/1.0/modules/content/'",
            )
        )
        assert (feed.title, feed.site_url, feed.language, feed.skipped) == ("T", "https://site.example/blog/", "de", 0)
        assert feed.entries == (
            Entry(
                guid="g1",
                link="https://site.example/a",
                title="A & B",
                author="Ann",
                published_at=datetime(2024, 1, 1, 10, tzinfo=UTC),
                html="<p>Long <b>text</b></p>",
                summary_html="Short.",
                description="Short.",
                enclosures=(Enclosure("https://site.example/a.mp3", "audio/mpeg", 123),),
                tags=("x",),
            ),
        )

    def test_atom(self) -> None:
        """Case F19: an explicit offset is kept, not taken for UTC."""
        entry = one(
            atom(
                """<id>tag:1</id><title type="html">&lt;b&gt;Bold&lt;/b&gt; move</title><link href="a"/>
                <author><name>Ann</name><email>ann@site.example</email></author>
                <published>2024-01-01T00:30:00+02:00</published><updated>2024-01-02T00:00:00Z</updated>
                <content type="xhtml"><div xmlns="http://www.w3.org/1999/xhtml"><img src="i.png"/></div></content>
                """
            )
        )
        assert (entry.guid, entry.link, entry.title, entry.author) == (
            "tag:1",
            "https://site.example/blog/a",
            "Bold move",
            "Ann",
        )
        assert entry.published_at == datetime(2023, 12, 31, 22, 30, tzinfo=UTC)
        assert entry.updated_at == datetime(2024, 1, 2, tzinfo=UTC)
        assert 'src="https://site.example/blog/i.png"' in entry.html
        assert entry.image_url == "https://site.example/blog/i.png"

    def test_rdf(self) -> None:
        entry = one(
            """<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns="http://purl.org/rss/1.0/"
            xmlns:dc="http://purl.org/dc/elements/1.1/"><channel rdf:about="x"><title>T</title></channel>
            <item rdf:about="https://site.example/a"><title>A</title><link>https://site.example/a</link>
            <dc:date>2024-01-01T00:00:00Z</dc:date></item></rdf:RDF>"""
        )
        assert (entry.link, entry.published_at) == ("https://site.example/a", datetime(2024, 1, 1, tzinfo=UTC))

    def test_the_root_of_rdf_says_the_language(self) -> None:
        """feedparser takes it from RSS and Atom only; RSS 1.0 has no other place for it."""
        head = "<rdf:RDF xmlns:rdf='http://www.w3.org/1999/02/22-rdf-syntax-ns#' xmlns='http://purl.org/rss/1.0/'"
        body = f"{head} xml:lang='ja'><channel><title>T</title></channel></rdf:RDF>".encode()
        assert parse(body, url=URL).language == "ja"

    @pytest.mark.parametrize(
        ("content", "html"),
        [
            ("<content type='application/octet-stream'>SGkgPGI+eW91PC9iPg==</content>", "Hi <b>you</b>"),
            ("<content type='text/html' mode='base64'>SGkgPGI+eW91PC9iPg==</content>", "Hi <b>you</b>"),
            ("<content type='image/png'>iVBORw0KGgo=</content>", ""),
            ("<content type='image/png'>None, sorry</content>", "None, sorry"),
            ("<content type='image/svg+xml'>SGk=</content>", "SGk="),
        ],
    )
    def test_what_atom_has_in_base64(self, content: str, html: str) -> None:
        [entry] = parse(atom(f"<title>A</title>{content}").encode(), url=URL).entries
        assert entry.html == html

    @pytest.mark.parametrize(
        "other",
        [
            "<links a='b'/>", "<tags>a,b</tags>", "<textInput><title>t</title><link>/s</link></textInput>",
            "<x:box xmlns:x='urn:x'><title>t</title><link>/s</link></x:box>", "<item_id><title>t</title></item_id>",
            "<source url='/o'><title>t</title><link>/s</link></source>", "<entries/>",
        ],
    )  # fmt: skip
    def test_what_is_no_part_of_an_entry_says_nothing_of_it(self, other: str) -> None:
        """feedparser stumbles over some of these, and takes others for parts of the entry."""
        parts = "<title>A</title><link>/a</link>"
        [entry] = parse(rss(f"<item>{other}{parts}</item>").encode(), url=URL).entries
        assert entry == one(rss(f"<item>{parts}</item>"))

    def test_json_feed(self) -> None:
        feed = read(
            "\ufeff"
            + json.dumps(
                {
                    "version": "https://jsonfeed.org/version/1.1",
                    "title": "T",
                    "home_page_url": "/",
                    "authors": [{"name": "Ann"}],
                    "items": [
                        {
                            "id": 7,
                            "url": "/a",
                            "title": "A <b>",
                            "content_html": "<p onclick='x()'>Hi <a href='b'>b</a></p>",
                            "summary": "In short",
                            "image": "/i.png",
                            "date_published": "2024-01-01T00:30:00+02:00",
                            "tags": ["x", "x", 3, None],
                            "attachments": [
                                {"url": "/a.mp3", "mime_type": "audio/mpeg", "size_in_bytes": 12},
                                {"url": None},
                            ],
                        },
                        {
                            "id": "8",
                            "content_text": "One\n\nTwo < three",
                            "date_published": "2024-01-01",
                            "authors": "?",
                        },
                    ],
                }
            )
        )
        assert (feed.title, feed.site_url, feed.skipped) == ("T", "https://site.example/", 0)
        assert feed.entries == (
            Entry(
                guid="7",
                link="https://site.example/a",
                title="A <b>",
                author="Ann",
                published_at=datetime(2023, 12, 31, 22, 30, tzinfo=UTC),
                html='<p>Hi <a href="https://site.example/b" rel="noopener noreferrer">b</a></p>',
                summary_html="In short",
                description="In short",
                image_url="https://site.example/i.png",
                enclosures=(Enclosure("https://site.example/a.mp3", "audio/mpeg", 12),),
                tags=("x", "3"),
            ),
            Entry(
                guid="8",
                link=None,
                title="One Two < three",
                author="Ann",
                published_at=datetime(2024, 1, 1, tzinfo=UTC),
                html="<p>One</p><p>Two &lt; three</p>",
                description="One Two < three",
            ),
        )

    def test_json_feed_1_0_names_one_author(self) -> None:
        item = {"id": "1", "external_url": "https://other.example/", "author": {"name": "Ann"}}
        entry = one(json.dumps({"version": "https://jsonfeed.org/version/1", "title": "T", "items": [item]}))
        assert (entry.author, entry.link) == ("Ann", "https://other.example/")

    def test_bad_json_items_are_skipped_one_by_one(self) -> None:
        items = [{"id": "1", "title": "kept"}, "not an object", {}, 5, {"id": {"x": 1}, "date_published": "soon"}]
        feed = read(json.dumps({"version": "https://jsonfeed.org/version/1.1", "title": 3, "items": items}))
        assert ([entry.title for entry in feed.entries], feed.skipped, feed.title) == (["kept"], 4, "3")

    @pytest.mark.parametrize(
        "body",
        [
            "", " ", "plain text", "<html><body><p>A page</p></body></html>", "<x/>", "{", "{}", '{"items": []}',
            '{"version": "1", "items": []}', '{"version": "https://jsonfeed.org/version/1", "items": {}}', "[1]",
            "{" * 100_000, '{"version": "https://jsonfeed.org/version/1", "items": [', b"{\xff",
            b"\x89PNG\r\n\x1a\n\x00\x00", b"\xff\xfe", "http://127.0.0.1/", "/etc/passwd",
            "<!doctype html><html><body><ul><item><title>No entry</title></item></ul></body></html>",
            "<html><body><p>Of feeds: <rss>none</rss></body>",
            "<HTML><body><feed><entry>e</entry></feed></body></HTML>",
            "<html xmlns='http://www.w3.org/1999/xhtml'><body><item><title>No entry</title></item></body></html>",
        ],
    )  # fmt: skip
    def test_what_is_no_feed_is_told_so(self, body: str | bytes) -> None:
        with pytest.raises(NotAFeedError):
            read(body)

    def test_entries_outside_of_any_document_are_read_by_feedparser(self) -> None:
        body = "<item><title>One</title><link>https://site.example/1</link></item>"
        for text in (body, f"<!-- a part -->{body}", body.replace("item", "ITEM")):
            assert [(entry.title, entry.link) for entry in read(text).entries] == [("One", "https://site.example/1")]
        with pytest.raises(NotAFeedError):
            read(body + " " * 1_000_000)

    def test_a_feed_without_entries_is_a_feed(self) -> None:
        assert read(rss("")).entries == ()

    def test_entries_beyond_the_cap_are_skipped_and_counted(self) -> None:
        feed = read(rss("".join(f"<item><title>{n}</title></item>" for n in range(5))), max_entries=3)
        assert ([entry.title for entry in feed.entries], feed.skipped) == (["0", "1", "2"], 2)
        items = [{"id": str(n), "title": str(n)} for n in range(5)]
        feed = read(json.dumps({"version": "https://jsonfeed.org/version/1.1", "items": items}), max_entries=3)
        assert ([entry.title for entry in feed.entries], feed.skipped) == (["0", "1", "2"], 2)


class TestDamage:
    def test_an_illegal_control_character_costs_no_entry(self) -> None:
        """Case F13: it is dropped; all entries stay."""
        feed = read(rss("".join(f"<item><title>E{n}\x08!</title></item>" for n in range(3))))
        assert [entry.title for entry in feed.entries] == ["E0!", "E1!", "E2!"]
        feed = read(rss("<item><title>A</title></item><item><title>B\x08</title></item><item><title>C</title></item>"))
        assert [entry.title for entry in feed.entries] == ["A", "B", "C"]

    @pytest.mark.parametrize("reference", ["&#8;", "&#x0;", "&#xD800;", "&#xFFFF;", "&#99999999999;"])
    def test_an_illegal_character_reference_leaves_nothing_behind(self, reference: str) -> None:
        damaged = rss(f"<item><title>E{reference}</title></item>")
        assert one(damaged).title == "E"
        assert one(damaged.replace("<title>E", "<title>&nope;E")).title == "&nope;E"

    def test_an_undefined_entity_costs_no_entry(self) -> None:
        """Case F15: what is not well-formed is repaired."""
        entry = one(rss("<item><title>A&nbsp;B</title><description>C&nbsp;&eacute;&nbsp;D</description></item>"))
        assert (entry.title, entry.description) == ("A B", "C é D")

    @pytest.mark.parametrize(
        "extension",
        [
            "<georss:where><gml:Point><gml:pos/></gml:Point></georss:where>", "<gml:pos>1</gml:pos>", "<psc:chapter/>",
            "<gml:Point srsDimension='x'><gml:pos>1 2</gml:pos></gml:Point>", "<georss:point>45.2</georss:point>",
            "<georss:polygon>1 2 3</georss:polygon>", "<georss:box/>", "<image><width/></image>", "<height></height>",
            "<itunes:duration>x</itunes:duration>", "<media:content/>", "<media:thumbnail url=''/>", "<enclosure/>",
            "<enclosure url='/a' length='-1'/>", "<pubDate>tomorrow</pubDate>", "<pubDate></pubDate>",
            "<pubDate>Mon, 99 Jan 99999 99:99:99 GMT</pubDate>", "<source/>", "<category/>", "<author></author>",
        ],
    )  # fmt: skip
    def test_a_bad_extension_costs_no_entry(self, extension: str) -> None:
        """Case F17: the faults of extensions, known or not, never surface."""
        attributes = (
            "xmlns:georss='http://www.georss.org/georss' xmlns:itunes='http://www.itunes.com/dtds/podcast-1.0.dtd'"
            " xmlns:media='http://search.yahoo.com/mrss/' xmlns:gml='http://www.opengis.net/gml'"
            " xmlns:psc='http://podlove.org/simple-chapters'"
        )
        feed = read(rss(f"<item><title>A</title>{extension}</item><item><title>B</title></item>", "", attributes))
        assert [entry.title for entry in feed.entries] == ["A", "B"]

    @pytest.mark.parametrize(
        ("damage", "title"),
        [
            (b'"E\\ud800!"', "E!"), (b'"E\\udc00!"', "E!"), (b'"E\x08!"', "E!"), (b'"E\n!"', "E !"),
            (b'"E\xff!"', "E\ufffd!"), (b'"E\xed\xa0\x80!"', "E\ufffd\ufffd\ufffd!"), (b"1e999", "E"), (b"NaN", "E"),
            (b"1" * 5_000, "1" * 1_000),
        ],
    )  # fmt: skip
    def test_what_json_forbids_costs_no_entry_of_a_json_feed(self, damage: bytes, title: str) -> None:
        body = (
            b'{"version": "https://jsonfeed.org/version/1.1", "title": "T", "items": [{"id": "1", "title": "A"},'
            b'{"id": "2", "content_text": "E", "title": ' + damage
            + b', "attachments": [{"url": "/a", "size_in_bytes": ' + b"9" * 5_000
            + b'}]}, [], {"id": ' + b"9" * 5_000 + b', "title": "B"}]}'
        )  # fmt: skip
        feed = read(body)
        assert ([entry.title for entry in feed.entries], feed.skipped) == (["A", title, "B"], 1)
        assert feed.entries[1].enclosures == (Enclosure("https://site.example/a"),)

    def test_damage_beside_the_items_and_behind_the_end_costs_no_json_feed(self) -> None:
        body = '{"version": "https://jsonfeed.org/version/1", "title": "T\\ud800", "\x01\\udc00": 1, "items": []}>'
        assert read(body).title == "T"

    @pytest.mark.parametrize(
        "parts",
        [
            "<title>A</title><x:y>1<link>/a</link>",
            "<ti=tle>x</title><title>A</title><link>/a</link>",
            "<title>A<link>/a<guid isPermaLink='false'>",
            "<author>Ann <title>A</title><link>/a</link>",
            "<media:thumbnail url='/t.png'><title>A</title><link>/a</link>",
            "<TITLE>A</title><Link>/a</LINK>",
            "</b><title>A</i></title></u><link>/a</link>",
            "<atom:title>A</atom:title><rss:link>/a</rss:link>",
            '<title>A</title><link>/a</link><description title="<b">x</description>',
        ],
    )
    def test_what_is_left_open_or_never_opened_costs_no_other_part(self, parts: str) -> None:
        entry, other = read(rss(f"<item>{parts}</item><item><title>B</title></item>")).entries
        assert (entry.title, entry.link, other.title) == ("A", "https://site.example/a", "B")

    def test_a_prefix_that_is_not_declared_is_known_by_its_name(self) -> None:
        entry = one(rss("<item><title>A</title><dc:creator>Ann</dc:creator><media:thumbnail url='/t.png'/></item>"))
        assert (entry.author, entry.image_url) == ("Ann", "https://site.example/t.png")

    def test_html_without_end_tags_stays_what_it_is(self) -> None:
        entry = one(
            rss("<item><title>A</title><description><p>One<br>two<p>three <img src='/i.png'></description></item>")
        )
        assert entry.html == '<p>One<br>two</p><p>three <img src="https://site.example/i.png"></p>'

    def test_an_attribute_counts_once_and_without_quotes(self) -> None:
        entry = one(rss("<item><title>A</title><enclosure url=/a.mp3 url='/b.mp3' type=audio/mpeg/></item>"))
        assert [file.url for file in entry.enclosures] == ["https://site.example/a.mp3"]

    def test_what_stands_around_a_feed_is_no_part_of_it(self) -> None:
        feed = read(f"<br />\n<b>Warning</b>: x\n<?xml version='1.0'?>{rss('<item><title>A</title></item>')}<p>x")
        assert (feed.title, [entry.title for entry in feed.entries]) == ("T", ["A"])

    def test_items_without_a_root_are_a_feed(self) -> None:
        assert [entry.title for entry in read("<item><title>A</title></item><item><title>B</title>").entries] == [
            "A",
            "B",
        ]

    def test_a_declared_entity_is_what_it_was_declared_as(self) -> None:
        head = "<!DOCTYPE rss [<!ENTITY who 'Ann &#38; Bob'>\n<!ENTITY b \"<b>\">]>"
        with pytest.raises(FeedTooComplexError):
            read(head + rss("<item><title>&who;</title></item>"))  # an ampersand may begin another reference
        head = head.replace("&#38;", "&#43;")
        assert one(head + rss("<item><title>&who;&b;</title></item>")).title == "Ann + Bob<b>"

    def test_a_feed_that_breaks_off_keeps_what_came(self) -> None:
        text = rss("<item><title>A</title></item><item><title>B</title></item>")
        assert [entry.title for entry in read(text[: text.index("</item></channel>")]).entries] == ["A", "B"]

    def test_an_entry_that_says_nothing_is_skipped_and_counted(self) -> None:
        feed = read(rss("<item><pubDate>Mon, 01 Jan 2024 10:00:00 GMT</pubDate></item><item><title>A</title></item>"))
        assert ([entry.title for entry in feed.entries], feed.skipped) == (["A"], 1)

    @pytest.mark.parametrize(
        ("content_type", "declaration"),
        [
            ("", ""),
            ("", "<?xml version='1.0' encoding='UTF-8'?>"),
            ("application/rss+xml; charset=utf-8", ""),
            ("text/xml", "<?xml version='1.0'?>"),
        ],
    )
    def test_a_byte_that_is_no_utf_8_costs_itself_and_not_the_alphabet(
        self, content_type: str, declaration: str
    ) -> None:
        items = "<item><title>Grüße 日本</title></item><item><title>caf!</title></item>"
        body = (declaration + rss(items)).encode().replace(b"!", b"\xff")
        feed = read(body, content_type=content_type)
        assert [entry.title for entry in feed.entries] == ["Grüße 日本", "caf\ufffd"]
        text = (declaration + atom("<title>Grüße!</title>")).encode().replace(b"!", b"\xc3")
        assert read(text, content_type=content_type).entries[0].title == "Grüße\ufffd"

    @pytest.mark.parametrize("declaration", ["", "<?xml version='1.0' encoding='utf-8'?>"])
    def test_a_feed_that_is_another_alphabet_throughout_is_read_in_that(self, declaration: str) -> None:
        body = (declaration + rss("<item><title>Grüße aus Köln</title></item>")).encode("cp1252")
        assert one(body).title == "Grüße aus Köln"

    @pytest.mark.parametrize("declaration", ["", "<?xml version='1.0' encoding='utf-8'?>"])
    def test_stray_bytes_among_ascii_are_of_windows_1252_and_what_it_lacks_costs_itself(self, declaration: str) -> None:
        titles = "<item><title>it!s</title></item><item><title>100 #? @</title></item>"
        body = (declaration + rss(titles)).encode().translate(bytes.maketrans(b"!#@", b"\x92\xa5\x81"))
        assert [entry.title for entry in read(body).entries] == ["it\u2019s", "100 ¥? \ufffd"]

    @pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "iso-8859-1", "shift_jis", "gb2312"])
    def test_the_declared_encoding_is_read(self, encoding: str) -> None:
        title = {"iso-8859-1": "Grüße", "utf-8": "Grüße 日本", "utf-16": "Grüße 日本"}.get(encoding, "日本")
        text = f"<?xml version='1.0' encoding='{encoding}'?>" + rss(f"<item><title>{title}</title></item>")
        assert one(text.encode(encoding)).title == title

    @pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16-le", "utf-16-be", "utf-32", "utf-32-le", "utf-32-be"])
    def test_the_first_bytes_tell_the_encoding(self, encoding: str) -> None:
        assert one(rss("<item><title>Grüße 日本</title></item>").encode(encoding)).title == "Grüße 日本"

    @pytest.mark.parametrize(
        "label", ["utf-16", "utf-32", "x-unknown", "us-ascii", "punycode", "utf-7", "rot13", "undefined"]
    )
    def test_a_wrong_claim_costs_nothing(self, label: str) -> None:
        text = f"<?xml version='1.0' encoding='{label}'?>" + rss("<item><title>Grüße aus Köln</title></item>")
        assert one(text).title == "Grüße aus Köln"

    def test_nul_bytes_are_dropped(self) -> None:
        feed = read(b"<rss><channel><item><title>A\0b</title></item>\0</channel></rss>\0\0")
        assert [entry.title for entry in feed.entries] == ["Ab"]

    def test_the_encoding_of_the_header_is_read(self) -> None:
        body = rss("<item><title>Привет</title></item>").encode("windows-1251")
        feed = read(body, content_type="application/rss+xml; charset=windows-1251")
        assert feed.entries[0].title == "Привет"


HTML = "<link rel='alternate' type='text/html' href='/a'/>"
NOSTR = "<link rel='alternate' type='application/nostr+json' href='/n'/>"


class TestLinks:
    @pytest.mark.parametrize(
        "links",
        [
            f"<link rel='replies' href='/r'/>{HTML}{NOSTR}",
            f"{NOSTR}{HTML}",
            "<link rel='self' href='/s'/><link href='/a'/><link rel='enclosure' href='/e.mp3'/>",
            "<link rel='alternate' href='/a'/><link rel='alternate' hreflang='fr' href='/fr'/>",
            "<link rel='alternate' type='application/pdf' href='/a'/>",
        ],
    )
    def test_the_alternate_link_is_the_entrys_page_html_before_others(self, links: str) -> None:
        """Case F29: not the first link, nor the last."""
        assert one(atom(f"<id>1</id><title>A</title>{links}")).link == "https://site.example/a"

    def test_links_of_other_relations_are_no_page(self) -> None:
        assert one(atom("<id>urn:1</id><title>A</title><link rel='replies' href='/r'/>")).link is None

    def test_a_permalink_guid_is_the_link_where_there_is_none(self) -> None:
        assert (
            one(rss("<item><title>A</title><guid>https://site.example/p</guid></item>")).link
            == "https://site.example/p"
        )

    @pytest.mark.parametrize(
        ("guid", "link"),
        [
            ("/a/pg3", "https://site.example/a/pg3"),
            (" HTTPS://site.example/p ", "https://site.example/p"),
            ("//cdn.example/p", "https://cdn.example/p"),
            ("12345", None),
            ("post-5", None),
            ("8f14e45f-ceea-467f-ab29-0d1a3b6c1f7e", None),
            ("tag:site.example,2024:1", None),
            ("urn:isbn:1", None),
            ("site.example/?p=5", None),
            ("?p=5", None),
            ("#5", None),
            ("A title as a name", None),
            ("mailto:x@y.example", None),
            ("ftp://site.example/p", None),
        ],
    )
    def test_a_guid_that_is_a_name_is_no_link(self, guid: str, link: str | None) -> None:
        """RSS takes a GUID for an address unless it says otherwise, and many a name does not."""
        found = one(rss(f"<item><title>A</title><guid>{guid}</guid></item>"))
        assert found.link == link
        assert found.guid
        assert one(rss(f"<item><title>A</title><link>/own</link><guid>{guid}</guid></item>")).link == (
            "https://site.example/own"
        )
        assert one(rss(f"<item><title>A</title><guid isPermaLink='false'>{guid}</guid></item>")).link is None

    def test_the_address_behind_a_counting_redirect_is_preferred(self) -> None:
        item = (
            "<item xmlns:f='http://rssnamespace.org/feedburner/ext/1.0'><title>A</title><link>http://feeds.example/~r/1</link>"
            "<f:origLink>https://site.example/a</f:origLink></item>"
        )
        assert one(rss(item)).link == "https://site.example/a"

    @pytest.mark.parametrize(
        "link", ["javascript:alert(1)", "mailto:x@y.example", "http://", "http://[", "data:text/html,x"]
    )
    def test_what_is_no_web_address_is_no_link(self, link: str) -> None:
        assert one(rss(f"<item><title>A</title><link>{link}</link></item>")).link is None

    def test_relative_links_count_from_xml_base_and_else_from_the_entrys_page(self) -> None:
        based = one(
            atom(
                "<title>A</title><link href='/p/'/>"
                "<content type='html' xml:base='https://cdn.example/'>&lt;a href='x'></content>"
            )
        )
        assert 'href="https://cdn.example/x"' in based.html
        plain = one(rss("<item><title>A</title><link>/p/</link><description>&lt;a href='x'></description></item>"))
        assert 'href="https://site.example/p/x"' in plain.html


class TestSafety:
    @pytest.mark.parametrize(
        "markup",
        [
            "<script>alert(1)</script>", "<img src=x onerror=alert(1)>", "<a href='javascript:alert(1)'>x</a>",
            "<iframe src='https://evil.example'></iframe>", "<svg><script>alert(1)</script></svg>",
            "<style>*{background:url(javascript:alert(1))}</style>", "<img srcset='javascript:alert(1) 1x'>",
            "<form action='https://evil.example'><input></form>", "<a href='data:text/html,<script>x</script>'>x</a>",
        ],
    )  # fmt: skip
    def test_bodies_hold_nothing_that_runs(self, markup: str) -> None:
        rest = f"<content:encoded><![CDATA[{markup}]]></content:encoded>"
        entry = one(
            rss(
                f"<item><link>/</link><description><![CDATA[{markup}]]></description>{rest}</item>",
                attributes="xmlns:content='http://purl.org/rss/1.0/modules/content/'",
            )
        )
        item = {"id": "1", "url": "/a", "content_html": markup}
        other = one(json.dumps({"version": "https://jsonfeed.org/version/1", "items": [item]}))
        bad = ("<script", "alert", "javascript:", "data:", "onerror=", "<iframe", "<form", "<svg", "<style", "srcset=")
        for text in (entry.html, entry.summary_html, entry.description, entry.title, other.html):
            assert not any(part in text.lower() for part in bad)

    def test_a_plain_title_keeps_what_looks_like_a_tag(self) -> None:
        assert one(atom("<title type='text'>Use &lt;b&gt; &amp;amp; 5 &lt; 6</title>")).title == "Use <b> &amp; 5 < 6"

    def test_plain_content_is_escaped(self) -> None:
        entry = one(atom("<title>A</title><content type='text'>1 &lt; 2\n\n&lt;script></content>"))
        assert entry.html == "<p>1 &lt; 2</p><p>&lt;script&gt;</p>"

    def test_an_untitled_entry_is_titled_by_its_beginning(self) -> None:
        assert (
            one(rss("<item><description>&lt;p>Hello&lt;/p>&lt;p>world&lt;/p></description></item>")).title
            == "Hello world"
        )

    def test_an_external_entity_is_not_read(self, tmp_path: Path) -> None:
        """Case S11: neither a file nor an address, by a general entity, a parameter one, a DTD or XInclude."""
        secret = tmp_path / "secret.txt"
        secret.write_text("SECRET")
        dtd = tmp_path / "own.dtd"
        dtd.write_text("<!ENTITY f 'SECRET'>")
        item = "<item><title>A&f;</title></item>"
        include = f"<x:include xmlns:x='http://www.w3.org/2001/XInclude' href='{secret}' parse='text'/>"
        for text in (
            f"<!DOCTYPE rss [<!ENTITY f SYSTEM 'file://{secret}'>]>" + rss(item),
            f"<!DOCTYPE rss [<!ENTITY % p SYSTEM 'file://{dtd}'> %p;]>" + rss(item),
            f"<!DOCTYPE rss SYSTEM 'file://{dtd}'>" + rss(item),
            rss(f"<item><title>A</title><description>{include}</description></item>"),
        ):
            feed = read(text)
            assert len(feed.entries) == 1
            assert "SECRET" not in repr(feed)

    @pytest.mark.parametrize(
        "body",
        [
            "<!DOCTYPE rss [<!ENTITY a 'lol'>"
            + "".join(f"<!ENTITY {'a' * (n + 2)} '{f'&{chr(97) * (n + 1)};' * 10}'>" for n in range(10))
            + "]>" + rss("<item><title>&aaaaaaaaaaa;</title></item>"),
            rss("<item " + " ".join(f"a{n}='x'" for n in range(50_000)) + "><title>A</title></item>"),
            rss("<a>" * 100_000 + "</a>" * 100_000),
            "<!DOCTYPE rss [" + "".join(f"<!ENTITY e{n} 'x'>" for n in range(1000)) + "]>" + rss(""),
            rss("<a b=''/>" * 500_000),
            "<!DOCTYPE rss [<!ENTITY e '" + "x" * 50_000 + "'>]>" + rss("&e;" * 1_000),
            rss("".join(f"<a xmlns:n{n}='u:{n}'/>" for n in range(1_000))),
        ],
        ids=lambda body: f"{len(body)} characters of {body[:40]}",
    )  # fmt: skip
    def test_what_is_built_to_hurt_is_refused(self, body: str) -> None:
        """Case S11: entities within entities, floods of elements, attributes and levels."""
        with pytest.raises(FeedTooComplexError):
            read(body)
        with pytest.raises(FeedTooComplexError):
            read(f"{body}<p>&nope;")
