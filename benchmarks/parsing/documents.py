"""The feeds that are parsed: sound ones as blogs write them, and those that are built to hurt."""

import random
from collections.abc import Callable, Mapping
from html import escape

URL = "https://site.example/feed.xml"
_WORDS = [f"word{number}" for number in range(2_000)]
_RSS = (
    '<?xml version="1.0" encoding="UTF-8"?>\n<rss version="2.0" xmlns:content="http://purl.org/rss/1.0/modules/content/"'
    ' xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:atom="http://www.w3.org/2005/Atom"'
    ' xmlns:slash="http://purl.org/rss/1.0/modules/slash/" xmlns:wfw="http://wellformedweb.org/CommentAPI/"><channel>'
    "<title>Site</title><link>https://site.example/</link><description>What it is about</description>"
    '<atom:link href="https://site.example/feed.xml" rel="self" type="application/rss+xml"/><language>en</language>'
)
_ATOM = (
    '<?xml version="1.0" encoding="UTF-8"?>\n<feed xmlns="http://www.w3.org/2005/Atom"><title>Site</title>'
    '<id>tag:site.example,2024:feed</id><link rel="alternate" type="text/html" href="https://site.example/"/>'
    "<updated>2024-01-01T00:00:00Z</updated>"
)


def _prose(dice: random.Random, words: int) -> str:
    return " ".join(dice.choices(_WORDS, k=words))


def _body(dice: random.Random, number: int) -> str:
    """Return an article as HTML: four paragraphs, each with a link, and a picture; about 1,700 characters."""
    paragraphs = "".join(
        f'<p>{_prose(dice, 45)} <a href="https://site.example/{number}/{place}">{_prose(dice, 3)}</a>, '
        f"<em>{_prose(dice, 2)}</em> &#8220;{_prose(dice, 4)}&#8221;.</p>\n"
        for place in range(4)
    )
    return f'{paragraphs}<p><img src="https://cdn.example/{number}.jpg" alt="{_prose(dice, 2)}"></p>'


def rss(entries: int) -> bytes:
    """Return a sound RSS feed, as WordPress writes it."""
    dice = random.Random(1)
    items = "".join(
        f"<item>\n<title>{_prose(dice, 8)} &amp;amp; so on</title>\n<link>https://site.example/2024/{number}/a-title/</link>"
        "<dc:creator><![CDATA[Ann Other]]></dc:creator>"
        f"<pubDate>Mon, 01 Jan 2024 10:{number % 60:02}:00 +0100</pubDate>"
        f'<category><![CDATA[news]]></category><category>world</category>\n<guid isPermaLink="false">'
        f"https://site.example/?p={number}</guid><description><![CDATA[{_prose(dice, 40)} [&#8230;]]]></description>"
        f"<content:encoded><![CDATA[{_body(dice, number)}]]></content:encoded>\n"
        f"<wfw:commentRss>https://site.example/2024/{number}/feed/</wfw:commentRss><slash:comments>3</slash:comments>"
        f"<comments>https://site.example/2024/{number}/a-title/#comments</comments>\n</item>\n"
        for number in range(entries)
    )
    return f"{_RSS}{items}</channel></rss>".encode()


def atom(entries: int) -> bytes:
    """Return a sound Atom feed."""
    dice = random.Random(2)
    inner = "".join(
        f"<entry>\n<id>tag:site.example,2024:{number}</id><title type='html'>{_prose(dice, 8)} &amp;amp; so on</title>"
        f'<link rel="alternate" type="text/html" href="https://site.example/2024/{number}/"/>'
        f'<link rel="replies" type="application/atom+xml" href="https://site.example/2024/{number}/replies"/>'
        f"<author><name>Ann Other</name><uri>https://site.example/ann</uri></author>"
        f"<published>2024-01-01T10:{number % 60:02}:00+01:00</published><updated>2024-01-02T10:00:00Z</updated>"
        f'<category term="news"/><category term="world" scheme="https://site.example/tags"/>\n'
        f'<summary type="html">{_prose(dice, 40)}</summary><content type="html">{escape(_body(dice, number))}</content>'
        f"\n</entry>\n"
        for number in range(entries)
    )
    return f"{_ATOM}{inner}</feed>".encode()


def _entry(inner: str) -> bytes:
    head = "<rss version='2.0' xmlns:content='http://purl.org/rss/1.0/modules/content/'><channel><title>T</title>"
    return f"{head}<item><title>A</title>{inner}</item></channel></rss>".encode()


def _encoded(markup: str) -> bytes:
    return _entry(f"<content:encoded><![CDATA[{markup}]]></content:encoded>")


def _attributes() -> bytes:
    return _entry("").replace(b"<item>", b"<item " + b" ".join(b"a%d='x'" % n for n in range(50_000)) + b">")


def _entities(levels: int, value: Callable[[int], str]) -> bytes:
    declared = "".join(f'<!ENTITY e{level} "{value(level)}">' for level in range(levels))
    return f"<!DOCTYPE rss [{declared}]>".encode() + _entry(f"<description>&e{levels - 1};</description>")


HOSTILE: Mapping[str, Callable[[], bytes]] = {
    "50,000 attributes": _attributes,
    "100,000 levels": lambda: _entry("<a>" * 100_000 + "</a>" * 100_000),
    "100,000 levels, unclosed": lambda: _entry("<a>" * 100_000),
    "entities, 10 levels of 10": lambda: _entities(10, lambda level: f"&e{level - 1};" * 10 if level else "lol"),
    "one entity 50,000 times": lambda: _entities(1, lambda _: "x" * 50_000).replace(b"&e0;", b"&e0;" * 50_000),
    "an external entity": lambda: b'<!DOCTYPE rss [<!ENTITY f SYSTEM "file:///etc/passwd">]>' + _entry("&f;"),
    "a text of 5 MB": lambda: _entry(f"<description>{'word ' * 1_000_000}</description>"),
    "20,000 namespaces": lambda: _entry("".join(f"<a xmlns:n{n}='u:{n}'/>" for n in range(20_000))),
    "20,000 namespaces at once": lambda: _entry("<a " + " ".join(f"xmlns:n{n}='u:{n}'" for n in range(20_000)) + "/>"),
    "HTML, 100,000 levels": lambda: _encoded("<div>" * 100_000),
    "HTML, 100,000 crossing tags": lambda: _encoded("<b><i></b>" * 33_000),
    "HTML, 100,000 attributes": lambda: _encoded("<p " + " ".join(f"a{n}=x" for n in range(100_000)) + ">"),
    "HTML, 500,000 less-thans": lambda: _encoded("<" * 500_000),
    "500,000 references": lambda: _entry(f"<description>{'&amp;#65;' * 500_000}</description>"),
    "a comment that does not end": lambda: _encoded("<!--" * 200_000),
    "a date of 1 MB": lambda: _entry(f"<pubDate>{'1' * 1_000_000}</pubDate>"),
    "a mail address of 1 MB": lambda: _entry(f"<author>{'a' * 500_000}@{'b.' * 250_000}</author>"),
    "50,000 categories": lambda: _entry("".join(f"<category>c{n}</category>" for n in range(50_000))),
    "50,000 links": lambda: _entry("".join(f"<link>https://site.example/{n}</link>" for n in range(50_000))),
    "10 MB of <a b=''/>": lambda: _entry("<a b=''/>" * 1_150_000),
    "100,000 empty items": lambda: _entry("</item><item>" * 100_000),
}
