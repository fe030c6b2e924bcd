"""Lists of subscriptions, as other readers write them and as we do."""

from typing import Any

import pytest

from siftline.api.http.problems import ProblemError
from siftline.api.sources.folders_store import FolderName
from siftline.api.sources.opml import Outline, read, write
from siftline.api.sources.source_models import Source
from siftline.kit.ids import new_id

FEED = "https://site.example/feed"


def source(**given: Any) -> Source:
    told: dict[str, Any] = dict.fromkeys(Source.model_fields)
    return Source.model_construct(
        **told | {"kind": "rss", "url": FEED, "title": "Site", "folders": [], "topics": []} | given
    )


def named(*names: str) -> list[FolderName]:
    return [FolderName(id=new_id(), name=name) for name in names]


def opml(body: str, head: str = '<?xml version="1.0" encoding="UTF-8"?>') -> bytes:
    return f'{head}<opml version="2.0"><head><title>x</title></head><body>{body}</body></opml>'.encode()


def outlines(body: bytes | str, *, encoding: str | None = None, most: int = 100) -> list[Outline]:
    return read(opml(body) if isinstance(body, str) else body, encoding=encoding, most=most).outlines


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

    def test_what_holds_others_is_a_folder_of_all_that_stands_in_it(self) -> None:
        found = outlines(
            f"""<outline text="News"><outline title="World"><outline xmlUrl="{FEED}" text="A"/></outline>
            <outline xmlUrl="{FEED}2"/></outline><outline xmlUrl="{FEED}3" text="C"/><outline><outline text="x"
            xmlUrl="{FEED}4"/></outline>"""
        )
        assert {outline.topics for outline in found} == {()}
        assert [(outline.title, outline.folders) for outline in found] == [
            ("A", ("News", "World")),
            (None, ("News",)),
            ("C", ()),
            ("x", ()),
        ]

    def test_categories_are_topics(self) -> None:
        [found] = outlines(
            f'<outline text="News"><outline xmlUrl="{FEED}" category="/World/Weather, Weather,Sea "/></outline>'
        )
        assert (found.folders, found.topics) == (("News",), ("World", "Weather", "Sea"))

    def test_a_subscription_without_an_address_is_named_and_a_folder_with_empty_attributes_is_one(self) -> None:
        found = outlines(
            f"""<outline text="lost" xmlUrl=""/><outline text="News" xmlUrl=" "><outline text="A" xmlUrl="{FEED}"/>
            <outline text="Deep" url=""><outline xmlUrl="{FEED}2"/><outline xmlUrl=""/></outline></outline>"""
        )
        assert [(one.title, one.url, one.folders) for one in found] == [
            ("lost", "", ()),
            ("A", FEED, ("News",)),
            (None, f"{FEED}2", ("News", "Deep")),
            (None, "", ("News", "Deep")),
        ]

    @pytest.mark.parametrize("more", ["", "\n<outline text='R&D'/>"], ids=["sound", "damaged"])
    def test_what_has_a_name_and_nothing_else_is_an_empty_folder(self, more: str) -> None:
        body = """
        <outline text="Empty"/><outline title="Named" text="Empty too"></outline><outline text=" "/><outline/>
        <outline text="Note" type="text"/><outline text="Task" _complete="yes"/><outline text="Gone" xmlUrl=""/>
        <outline text="Holds"><outline text="Inner"/><outline xmlUrl="https://a.example/feed"/></outline>"""
        found = read(opml(body + more), encoding=None, most=100).empty_folders
        assert found == ["Empty", "Named", *(["R&D"] if more else [])]

    def test_bookmarks_are_told_apart_from_subscriptions(self) -> None:
        found = outlines(
            f"""<outline type="link" text="B" url="{FEED}"/><outline type="LINK" xmlUrl="{FEED}" url="{FEED}"/>
            <outline type="link" htmlUrl="{FEED}"/><outline type="rss" url="{FEED}"/>"""
        )
        assert [one.bookmark for one in found] == [True, False, False, False]

    def test_how_often_is_taken_within_the_limits(self) -> None:
        said = 'siftline:refresh="30" siftline:refreshMin="4" siftline:refreshMax="weekly"'
        body = f'<opml xmlns:siftline="urn:siftline:opml"><body><outline xmlUrl="{FEED}" {said}/></body></opml>'
        [found] = outlines(body.encode())
        assert (found.refresh_minutes, found.refresh_min_minutes, found.refresh_max_minutes) == (30, None, None)

    def test_long_names_are_cut_and_many_categories_give_twenty_topics(self) -> None:
        nested = "".join(f'<outline text="{number} {"x" * 999}">' for number in range(25))
        category = ",".join(f"{number} {'z' * 99}" for number in range(25))
        line = f'<outline text="{"y" * 999}" xmlUrl="{FEED}" category="{category}"/>'
        [found] = outlines(f"{nested}{line}{'</outline>' * 25}")
        assert (len(found.folders), len(found.topics)) == (25, 20)
        assert ({len(name) for name in found.folders}, {len(topic) for topic in found.topics}) == ({200}, {64})
        assert len(found.title or "") == 200

    def test_bare_ampersands_and_names_of_html_do_not_spoil_a_file(self) -> None:
        [found] = outlines(f'<outline text="R&D &nbsp; &amp; &#228; more" xmlUrl="{FEED}?a=1&b=2&copy=3"/>')
        assert (found.title, found.url) == ("R&D & ä more", f"{FEED}?a=1&b=2&copy=3")

    @pytest.mark.parametrize(
        "label", ["windows-31j", "Windows-31J", "x-sjis", "ISO-2022-JP", "euc-jp", "big5", "utf-16"]
    )
    @pytest.mark.parametrize("address", ["https://a.example/?a=1&amp;b=2", "https://a.example/?a=1&b=2"])
    def test_the_labels_that_browsers_know_are_known(self, label: str, address: str) -> None:
        name = {"big5": "中文"}.get(label, "日本語")
        text = f'<?xml version="1.0" encoding="{label}"?><opml><body><outline text="{name}" xmlUrl="{address}"/>'
        encoding = "cp932" if label.lower() in {"windows-31j", "x-sjis"} else label
        body = f"{text}</body></opml>".encode(encoding)
        for given in (None, label):
            [outline] = outlines(body, encoding=given)
            assert (outline.title, outline.url) == (name, "https://a.example/?a=1&b=2")

    @pytest.mark.parametrize("encoding", ["iso-8859-1", "utf-16", "koi8-r", "shift_jis", "gb2312"])
    def test_a_file_is_read_in_the_encoding_that_it_names(self, encoding: str) -> None:
        name = {"iso-8859-1": "Grüße", "shift_jis": "日本語", "gb2312": "中文"}.get(encoding, "Привет")
        text = f'<?xml version="1.0" encoding="{encoding}"?><opml><body><outline text="{name}" xmlUrl="{FEED}"/>'
        body = f"{text}</body></opml>".encode(encoding)
        assert outlines(body)[0].title == name
        # WHEN the gateway has made text of it, what it names is no longer so
        assert outlines(body.decode(encoding).encode(), encoding="utf-8")[0].title == name

    @pytest.mark.parametrize("encoding", ["foo", "rot13", "hex", "idna", "shift_jis"])
    def test_a_file_in_an_encoding_that_is_none_or_that_it_does_not_keep_to_is_refused(self, encoding: str) -> None:
        body = f'<?xml version="1.0" encoding="{encoding}"?><opml><body/></opml>'.encode() + b"\x81"
        assert (refusal(body).status, refusal(body).code) == (400, "invalid_opml")

    def test_a_byte_order_mark_and_a_document_type_are_harmless(self) -> None:
        body = b'\xef\xbb\xbf<!DOCTYPE opml SYSTEM "http://127.0.0.1:1/x.dtd"><opml/>'
        assert outlines(body) == []

    @pytest.mark.parametrize("body", [b"", b"{}", b"<opml>", b"<rss version='2.0'/>", b"\xff\xff\xff"], ids=str)
    def test_what_is_no_opml_says_so(self, body: bytes) -> None:
        assert (refusal(body).status, refusal(body).code) == (400, "invalid_opml")


LINE = f'<outline text="Café" xmlUrl="{FEED}"/>'
DECLARED = '<?xml version="1.0"?>'


def plain(body: str = LINE, head: str = DECLARED) -> str:
    return f'{head}<opml version="2.0"><body>{body}</body></opml>'


class TestDamaged:
    """Case T26: lists are read as tolerantly as feeds are."""

    @pytest.mark.parametrize(
        "body",
        [
            "\ufeff\n" + plain(),
            "\ufeff\ufeff" + plain(),
            "\n\n  " + plain(),
            "<!-- exported -->\n" + plain(),
            "Warning: headers already sent\n" + plain(),
            "\0\x01" + plain(),
            plain() + "\n<!-- 12 ms --> and more",
            plain() + plain(""),
            plain(head='<?xml version="1.0" encoding="nonsense"?>'),
            plain(head='<?xml version="1.0" encoding="utf-16"?>'),
            plain(head=""),
            plain(LINE.replace("Café", "Caf&eacute;")),
            plain(LINE.replace("Café", "&nbsp;Café&nbsp;")),
            plain(LINE.replace("Café", "Ca\x08f\x1fé")),
            plain(LINE.replace("Café", "Caf&#xE9;&#0;")),
            plain(f"<outline text=Café xmlUrl={FEED} />"),
            plain(f"<outline text='Café' text='again' xmlUrl='{FEED}'/>"),
            plain(f'<outline disabled text="Café" xmlUrl="{FEED}"></outline>'),
            plain(f'<outline text="Café" xmlUrl="{FEED}">'),
            plain(f'<outline text="Café"xmlUrl="{FEED}"/>'),
            plain().replace("opml", "OPML").replace("body", "Body").replace("</OPML", "</opml"),
            plain(f'<OUTLINE TEXT="Café" XMLURL="{FEED}"></outline>'),
            plain().removesuffix("</body></opml>"),
            plain().replace("</body>", ""),
            plain(f"<p>Mine:<br>{LINE}"),
        ],
    )
    def test_a_list_is_read_whatever_stands_in_its_way(self, body: str) -> None:
        assert outlines(body.encode()) == [Outline(FEED, "Café")]

    @pytest.mark.parametrize(
        ("encoding", "head"),
        [
            ("utf-16", DECLARED),
            ("utf-16-le", DECLARED),
            ("utf-16-be", '<?xml version="1.0" encoding="UTF-16"?>'),
            ("utf-8-sig", '<?xml version="1.0" encoding="ISO-8859-1"?>'),
            ("cp1252", '<?xml version="1.0" encoding="windows-1252"?>'),
            ("cp1252", '\n<?xml version="1.0" encoding="Windows-1252"?>'),
            ("cp1252", DECLARED),
            ("cp1252", '<?xml version="1.0" encoding="UTF-8"?>'),
            ("cp1252", ""),
            ("iso-8859-15", "\n<?xml version='1.0' encoding='ISO-8859-15' standalone='yes'?>"),
        ],
    )
    def test_a_list_is_read_in_whatever_it_is_written(self, encoding: str, head: str) -> None:
        assert outlines(plain(head=head).encode(encoding)) == [Outline(FEED, "Café")]

    def test_one_broken_byte_spoils_no_other_name(self) -> None:
        body = plain(f'{LINE}<outline text="Grüße" xmlUrl="{FEED}2"/>').encode() + b"\xff"
        assert [one.title for one in outlines(body)] == ["Café", "Grüße"]

    def test_folders_stay_folders_where_the_rest_is_damaged(self) -> None:
        body = f"""\n<?xml version="1.0"?><opml><body><outline text="R&D"><outline title="Sea & coast">{LINE}</outline>
        <outline text="Less < more" xmlUrl="{FEED}2"/></outline>
        <outline text="Loose" xmlUrl="{FEED}3"/></body></opml>"""
        found = outlines(body.encode())
        assert [(one.title, one.folders) for one in found] == [
            ("Café", ("R&D", "Sea & coast")),
            ("Less < more", ("R&D",)),
            ("Loose", ()),
        ]

    def test_subscriptions_without_ends_are_beside_each_other(self) -> None:
        lines = "".join(f'<outline text="{number}" xmlUrl="{FEED}{number}">' for number in range(99))
        found = outlines(plain(f'<outline text="News">{lines}'))
        assert [(one.title, one.folders) for one in found] == [(str(number), ("News",)) for number in range(99)]

    @pytest.mark.parametrize(
        "body",
        [
            "<opml>" + " " * 2_000_000,
            "<opml><outline " + " " * 2_000_000 + '"',
            "<opml>" + "<!--" * 400_000,
            "<opml>" + "<![CDATA[" * 200_000,
            "<opml>" + "<?" * 500_000,
            "<opml><outline " + "a=' " * 400_000,
            '<opml><outline a="' + "<outline " * 200_000,
            "<opml><outline a=" + "'\"" * 400_000,
            "<opml>" + "<" * 1_000_000,
            '<opml><outline a="' + "&" * 1_000_000 + '"/>',
        ],
        ids=["space", "gap", "comments", "sections", "instructions", "quotes", "nested", "pairs", "less", "ampersands"],
    )
    def test_damage_that_is_made_to_hurt_ends_soon(self, body: str) -> None:
        # Each would take minutes were a place looked at more than once.
        assert refusal(body.encode()).status in {400, 422}

    def test_entities_are_refused_in_damaged_files_too(self) -> None:
        body = b'\n<?xml version="1.0"?><!DOCTYPE opml [<!ENTITY a "aaaa">]><opml><outline xmlUrl="&a;"/></opml>'
        assert (refusal(body).status, refusal(body).code) == (422, "opml_too_complex")


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
            source(title='A & "B" <c>\n', folders=named("News", "R&D, all/most"), topics=["Sea", "R&D, all/most"]),
            source(url="https://x.example/", feed_url="https://x.example/feed", site_url="https://x.example/"),
            source(kind="web", url="https://y.example/", selector="main > a[href^='/'], h2 a", folders=named("News")),
            source(
                kind="reddit", url="https://www.reddit.com/r/python/top/?t=week", title="r/Python", topics=["Z", "R&D"]
            ),
            source(url="https://z.example/feed", folders=named("Z"), own_refresh_minutes=30),
            source(
                url="https://w.example/feed",
                folders=named("Z"),
                own_refresh_min_minutes=60,
                own_refresh_max_minutes=120,
            ),
        ]
        text = write(sources, title="Mine")
        assert read(text.encode(), encoding=None, most=100).outlines == [
            Outline("https://x.example/", "Site", (), (), "rss"),
            Outline("https://www.reddit.com/r/python/top/.rss?t=week", "r/Python", (), ("Z", "R&D"), "reddit"),
            Outline(FEED, 'A & "B" <c>', ("News",), ("Sea", "R&D, all/most"), "rss"),
            Outline("https://y.example/", "Site", ("News",), (), "web", "main > a[href^='/'], h2 a"),
            Outline(FEED, 'A & "B" <c>', ("R&D, all/most",), ("Sea", "R&D, all/most"), "rss"),
            Outline("https://z.example/feed", "Site", ("Z",), (), "rss", refresh_minutes=30),
            Outline(
                "https://w.example/feed", "Site", ("Z",), (), "rss", refresh_min_minutes=60, refresh_max_minutes=120
            ),
        ]

    def test_other_readers_find_a_feed_wherever_there_is_one(self) -> None:
        found = source(url="https://x.example/", feed_url="https://x.example/feed")
        assert 'xmlUrl="https://x.example/feed"' in write([found], title="x")
        page = write([source(kind="web", url="https://y.example/")], title="x")
        assert 'htmlUrl="https://y.example/"' in page
        assert "xmlUrl" not in page

    def test_other_readers_find_topics_as_categories(self) -> None:
        text = write([source(topics=["News", "R&D"]), source(topics=["Either/or"])], title="x")
        assert 'category="News,R&amp;D"' in text
        assert text.count("siftline:topics=") == 1

    def test_what_xml_cannot_say_is_left_out(self) -> None:
        text = write([source(title="a\x01b\ufffe", folders=named("f\x0b"), topics=["t\x0b"])], title="<&>")
        assert [outline.title for outline in read(text.encode(), encoding=None, most=9).outlines] == ["ab"]
