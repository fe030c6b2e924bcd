"""Strangers' HTML is harmless once it is stored, and stays as it is when it is sanitised again."""

from html import unescape
from html.parser import HTMLParser

import pytest

from siftline.fetch.feed.sanitised import escaped, first_image, sanitised, text_of, text_of_clean

BASE = "https://news.example/a/"
# Well-known vectors: events, schemes in every disguise, active elements, mutation, clobbering, styles.
VECTORS = (
    "<img src=x onerror=alert(1)>", "<img src=x OnError = 'alert(1)'>", "<img/src=x/onerror=alert(1)>",
    "<p onclick=alert(1)>x",
    "<script>alert(1)</script>", "<SCRIPT SRC=//evil.example/x.js></SCRIPT>",
    "<scr<script>ipt>alert(1)</scr</script>ipt>",
    "<script/x>alert(1)</script>", "<<script>alert(1)//<</script>", "<script>alert(1)",
    "\x00<scr\x00ipt>alert(1)</scr\x00ipt>",
    '<a href="javascript:alert(1)">x</a>', '<a href=" javascript:alert(1)">x</a>',
    '<a href="JaVaScRiPt:alert(1)">x</a>',
    '<a href="java\tscript:alert(1)">x</a>', '<a href="java\nscript:alert(1)">x</a>',
    '<a href="java&#9;script:alert(1)">x</a>',
    '<a href="&#106;avascript:alert(1)">x</a>', '<a href="&#x6A;&#x61;vascript&colon;alert(1)">x</a>',
    '<a href="&#1;javascript:alert(1)">x</a>', '<a href="javascript&#58;alert(1)">x</a>',
    '<a href="\x01javascript:alert(1)">x</a>',
    '<a href="vbscript:msgbox(1)">x</a>', '<a href="data:text/html;base64,PHNjcmlwdD5hbGVydCgxKTwvc2NyaXB0Pg==">x</a>',
    '<a href="data&colon;text/html,<script>alert(1)</script>">x</a>', '<a href="blob:https://x/1">x</a>',
    '<a href="file:///etc/passwd">x</a>',
    '<img src="data:image/svg+xml,<svg onload=alert(1)>">', '<img src="javascript:alert(1)">',
    '<img lowsrc="javascript:alert(1)">',
    '<img srcset="javascript:alert(1) 1x, data:x 2x, //[bad 3x" src=a.png>',
    '<img src="a.png" srcset="\'>\"<script>alert(1)</script>">',
    '<source srcset="javascript:alert(1)">', '<video poster="javascript:alert(1)" src="data:x"></video>',
    "<svg onload=alert(1)>", "<svg><script>alert(1)</script></svg>",
    "<svg><a xlink:href=javascript:alert(1)><text>x</text></a></svg>",
    "<svg><animate attributeName=href values=javascript:alert(1) /></svg>",
    "<svg><use href='data:image/svg+xml,x#x'></use></svg>",
    "<svg></p><style><a id='</style><img src=1 onerror=alert(1)>'>",
    "<math><mi//xlink:href='data:x,<script>alert(1)</script>'>",
    "<math><mtext><table><mglyph><style><!--</style><img title='--&gt;&lt;img src=1 onerror=alert(1)&gt;'>",
    "<form><math><mtext></form><form><mglyph><svg><mtext><textarea><path id='</textarea><img onerror=alert(1) src=1>'>",
    "<noscript><p title='</noscript><img src=x onerror=alert(1)>'></noscript>",
    "<template><script>alert(1)</script></template>",
    "<template><template><img src=x onerror=alert(1)></template></template>",
    "<template shadowrootmode=open><slot onslotchange=alert(1)>",
    "<iframe src=javascript:alert(1)></iframe>", "<iframe srcdoc='<script>alert(1)</script>'></iframe>",
    "<iframe><img src=x onerror=alert(1)></iframe>",
    "<object data=javascript:alert(1)></object>", "<embed src=javascript:alert(1)>", "<applet code=x></applet>",
    "<frameset onload=alert(1)>",
    "<base href=javascript:/a/>", "<link rel=stylesheet href=javascript:alert(1)>",
    "<meta http-equiv=refresh content='0;url=javascript:alert(1)'>",
    "<style>@import 'javascript:alert(1)';</style>", "<style><img src='</style><img src=x onerror=alert(1)//'>",
    "<p style='background:url(javascript:alert(1))'>x</p>", "<p style='width:expression(alert(1))'>x</p>",
    "<p style='position:fixed;inset:0'>x</p>",
    "<form action=javascript:alert(1)><button>x</button></form>",
    "<button formaction=javascript:alert(1)>x</button>", "<input autofocus onfocus=alert(1)>",
    "<isindex type=image src=1 onerror=alert(1)>", "<details open ontoggle=alert(1)>", "<marquee onstart=alert(1)>",
    "<body onload=alert(1)>",
    "<xmp><p title='</xmp><script>alert(1)</script>'>", "<textarea><script>alert(1)</script></textarea>",
    "<title><img src=x onerror=alert(1)></title>",
    "<!--><script>alert(1)</script>-->", "<!--[if IE]><script>alert(1)</script><![endif]-->",
    "<![CDATA[<script>alert(1)</script>]]>",
    "<?xml-stylesheet href='javascript:alert(1)'?><p>x", "<p id=document><a name=cookie>",
    "<a ping='//evil.example/' href='/x'>x</a>",
    "<a target=_blank href='/x'>x</a>", '"><script>alert(1)</script>',
    "<a href='https://a.example/\"onmouseover=alert(1)//'>x</a>",
    "<table background='javascript:alert(1)'><td background='data:x'>x</table>",
    "<x-element onclick=alert(1)>x</x-element>", "</p><p/onclick=alert(1)>",
    "<img src=`javascript:alert(1)`>", "<a href=\"ja\u00advascript:alert(1)\">x</a>",
    "<a href='\u3000javascript:alert(1)'>x</a>",
    "<q cite='javascript:alert(1)'>x</q>", "<a href='//evil.example\\@good.example'>x</a>",
    "<a href='?javascript:alert(1)'>x</a>",
)  # fmt: skip
_ACTIVE = {
    "applet", "base", "body", "button", "embed", "form", "frame", "frameset", "head", "html", "iframe", "input",
    "isindex", "link",
    "math", "meta", "noscript", "object", "script", "select", "slot", "source", "style", "svg", "template",
    "textarea", "title",
    "video", "audio", "xmp", "x-element",
}  # fmt: skip
_ADDRESSES = {"href", "src", "cite"}


class _Harm(HTMLParser):
    """Collects whatever could do something, were the HTML shown."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in _ACTIVE:
            self.found.append(tag)
        for name, value in attrs:
            address = unescape(value or "").strip().lower()
            if name in _ADDRESSES and not address.startswith(("http://", "https://", "mailto:")):
                self.found.append(f"{name}={value}")
            elif name not in _ADDRESSES and name.startswith(
                ("on", "style", "srcset", "form", "ping", "id", "name", "data", "background")
            ):
                self.found.append(name)

    def handle_comment(self, data: str) -> None:
        self.found.append(f"comment {data}")

    def handle_pi(self, data: str) -> None:
        self.found.append(f"instruction {data}")


def harm(markup: str) -> list[str]:
    parser = _Harm()
    parser.feed(markup)
    parser.close()
    return parser.found


@pytest.mark.parametrize("vector", VECTORS)
@pytest.mark.parametrize("base", [BASE, None])
def test_nothing_that_does_anything_is_stored(vector: str, base: str | None) -> None:
    """Case S13: sanitised at intake; what was sanitised is the same when it is sanitised again where it is shown."""
    clean = sanitised(f"<p>before</p>{vector}<p>after</p>", base)
    assert harm(clean) == []
    assert sanitised(clean, base) == clean
    assert harm(sanitised(vector, base)) == []


@pytest.mark.parametrize("vector", VECTORS)
def test_titles_and_descriptions_are_text_and_show_as_such(vector: str) -> None:
    """Case S13: a title is text; where it is shown, it is escaped."""
    assert harm(escaped(text_of(vector))) == []
    assert harm(escaped(vector)) == []


def test_what_is_harmless_stays() -> None:
    kept = (
        '<p>A <b>bold</b> <a href="https://news.example/a/b?x=1&amp;y=2" rel="noopener noreferrer">link</a>'
        '<img src="https://news.example/i.png" alt="x"></p><ul><li>one</li></ul><blockquote>said</blockquote>'
    )
    assert sanitised(kept, BASE) == kept


def test_an_image_of_a_sanitised_body_is_one_that_may_be_asked_for() -> None:
    assert first_image(sanitised('<img src="javascript:alert(1)"><img src="//cdn.example/i.png">', BASE)) == (
        "https://cdn.example/i.png"
    )


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("/more?a=1&b=2", "http://news.example/more?a=1&amp;b=2"),
        ("/", "http://news.example/"),
        ("/a//b/", "http://news.example/a//b/"),
        ("/a/../b", "http://news.example/b"),
        ("/%2e%2e/b", "http://news.example/b"),
        ("/a b", "http://news.example/a%20b"),
        ("/a?it's", "http://news.example/a?it%27s"),
        ("/\\b", "http://b/"),
        ("b", "http://news.example/x/b"),
        ("?q", "http://news.example/x/y?q"),
    ],
)
def test_relative_addresses_are_joined_as_browsers_do(address: str, expected: str) -> None:
    """Those that are plain and those that are not, beside each other or alone."""
    base = "http://news.example:80/x/y"
    for other in ("", '<img src="/i.png">', '<img src="i.png">'):
        clean = sanitised(f'<p title="x"><a hreflang="en" href="{address}">more</a>{other}', base)
        assert f'href="{expected}"' in clean
        assert clean.count("http:") == 1 + bool(other)


def test_words_that_look_like_a_link_stay() -> None:
    told = '<p>write &lt;a href="/x"&gt; or href="/y"</p>'
    assert sanitised(f'{told}<a href="/z"></a>', BASE) == (
        f'{told}<a href="https://news.example/z" rel="noopener noreferrer"></a>'
    )


@pytest.mark.parametrize("max_chars", [4, 40, 400])
def test_the_beginning_of_a_text_does_not_depend_on_where_it_is_cut(max_chars: int) -> None:
    clean = sanitised(
        "".join(f"<p>{'word  ' * number}<b>b</b>&amp;<br>\n\u201cq\u201d</p>" for number in range(60)), BASE
    )
    whole = text_of_clean(clean, len(clean))
    assert text_of_clean(clean, max_chars) == whole[:max_chars].rstrip()
