"""Pages as the handed cases draw them, and their kin."""

import gzip
import re

import pytest

from siftline.ingest.page.charset import archived_page
from siftline.ingest.page.page import read_page

URL = "https://news.example/politics/7"
SENTENCE = "The harbour council met on Tuesday evening and agreed, after a long debate, to dredge the northern channel."
ARTICLE = [f"{word}: {SENTENCE} Work begins in spring." for word in ("First", "Second", "Third", "Fourth", "Fifth")]
PARAGRAPHS = "".join(f"<p>{text}</p>" for text in ARTICLE)
TEXT = "\n\n".join(ARTICLE)
ENGLISH = (
    "<p>We value your privacy. We and our 812 partners store and/or access information on a device, such as cookies,"
    " and process personal data.</p><p>With your consent we and our partners may use precise geolocation data. You may"
    " accept or reject our processing, including legitimate interest, or manage your preferences at any time.</p>"
) * 4
GERMAN = (
    "<p>Wir und unsere Partner benötigen Ihre Zustimmung, um Cookies und personenbezogene Daten zu verarbeiten, zum"
    " Teil aus berechtigtem Interesse. Sie können akzeptieren oder ablehnen; Näheres zur Einwilligung steht in der"
    " Datenschutzerklärung unserer Partner.</p>"
) * 6
FRENCH = (
    "<p>Avec votre consentement, nous et nos partenaires utilisons des cookies pour traiter des données personnelles."
    " Vous pouvez accepter ou refuser ; certains partenaires invoquent un intérêt légitime. Votre confidentialité nous"
    " importe.</p>"
) * 7
JAPANESE = (
    "<p>当サイトはクッキーを使用します。個人情報とプライバシーについて。パートナーは tracking と consent を求めます。"
    "同意または拒否を選べます。</p>"
) * 14


def text_of(body: str, head: str = "<title>T</title>", url: str = URL) -> str:
    return read_page(f"<html><head>{head}</head><body>{body}</body></html>".encode(), "text/html", url).text


# --- X01


@pytest.mark.parametrize("consent", [ENGLISH, GERMAN, FRENCH, JAPANESE], ids=["en", "de", "fr", "ja"])
@pytest.mark.parametrize(
    "frame",
    [
        "<div class=overlay><div>{consent}<button>OK</button></div></div><aside>{article}</aside>",
        "<aside>{article}</aside><div>{consent}<button>OK</button></div>",
        "<div id=app><div role=dialog>{consent}</div><aside class=content>{article}</aside></div>",
        "<aside><h2>Menu</h2><a href=/>Home</a></aside><section>{consent}</section><aside><div>{article}</div></aside>",
        "<form action=/consent>{consent}<input type=submit value=OK></form><main><aside>{article}</aside></main>",
        "<div class=page><div>{consent}</div><div><aside>{article}</aside></div></div><footer>Imprint</footer>",
    ],
)
def test_an_article_in_an_aside_is_found_and_a_longer_consent_text_is_not(frame: str, consent: str) -> None:
    """Case X01: five paragraphs in an aside, and a consent div with more text than they have."""
    assert text_of(frame.format(consent=consent, article=PARAGRAPHS)) == TEXT


@pytest.mark.parametrize("holder", ["article", "main", "section", "div"])
def test_a_longer_consent_text_beside_any_article_is_left_out(holder: str) -> None:
    """Case X01: the consent text goes wherever the article stands."""
    assert text_of(f"<div>{ENGLISH * 3}</div><{holder}>{PARAGRAPHS}</{holder}>") == TEXT


def test_an_aside_beside_a_longer_article_is_left_out() -> None:
    """Case X01: what is freed is an aside that holds most of the text, not one beside it."""
    aside = "".join(f"<p>Elsewhere: {text[:60]}</p>" for text in ARTICLE[:3])
    assert text_of(f"<aside>{aside}</aside><div>{PARAGRAPHS * 2}</div>").startswith(TEXT)


# --- X03

PROMO = "<p>Subscribe now and get our newsletter for the special price of one euro a week, every week, all year.</p>"


@pytest.mark.parametrize("main", ["<main>{}</main>", "<article>{}</article>", "<main><article>{}</article></main>"])
@pytest.mark.parametrize(
    "lead",
    [
        f"<div>{PROMO}</div>",
        f"<div class=promo>{PROMO}</div><div>{PROMO.replace('Subscribe', 'Join')}</div>",
        f"<div><h2>Our offer</h2>{PROMO}<ul><li>One</li><li>Two</li></ul></div>",
        f"<section class=hero>{PROMO}</section><div class=banner><p>Listen to our podcast on every phone.</p></div>",
        f"<div><div><div>{PROMO}</div></div></div>",
    ],
)
def test_main_and_article_go_before_leading_blocks(lead: str, main: str) -> None:
    """Case X03: a short promotion in leading divs, and a long main."""
    assert text_of(f"{lead}{main.format(PARAGRAPHS)}") == TEXT


def test_the_article_of_several_within_main_is_found() -> None:
    """Case X03: main and article may both be there, and teasers besides."""
    teaser = "<article class=teaser><h3><a href=/x>Another story of the day</a></h3></article>"
    assert text_of(f"<div>{PROMO}</div><main><article><h1>T</h1>{PARAGRAPHS}</article>{teaser * 3}</main>") == TEXT


# --- X04

LEGACY = {
    "shift_jis": ("cp932", "港湾委員会は北水路の浚渫を決めた。作業は春に始まる。①"),
    "euc-jp": ("euc_jp", "港湾委員会は北水路の浚渫を決めた。作業は春に始まる。"),
    "gbk": ("gbk", "港务委员会决定疏浚北航道\uff0c工程将于春季开始。镕"),
    "gb2312": ("gb18030", "港务委员会决定疏浚北航道\uff0c工程将于春季开始。"),
    "big5": ("big5hkscs", "港務委員會決定疏浚北航道\uff0c工程將於春季開始。"),
    "euc-kr": ("cp949", "항만위원회는 북쪽 수로를 준설하기로 결정했다."),
    "windows-1251": ("cp1251", "Совет порта решил углубить северный канал весной."),
    "koi8-r": ("koi8-r", "Совет порта решил углубить северный канал весной."),
    "iso-8859-2": ("iso8859-2", "Rada portu postanowiła pogłębić północny tor żeglugowy."),
    "iso-8859-1": ("cp1252", "Le conseil du port a décidé \u2013 enfin \u2013 de draguer le chenal à 10 €."),
}


def legacy_page(label: str, meta: str | None) -> tuple[bytes, str]:
    """Return a page in a legacy set of characters and the text that it holds."""
    codec, sentence = LEGACY[label]
    stated = "" if meta is None else f'<meta http-equiv="Content-Type" content="text/html; charset={meta}">'
    return f"<html><head>{stated}<title>T</title></head><body><p>{sentence}</p></body></html>".encode(codec), sentence


@pytest.mark.parametrize("label", LEGACY)
def test_a_legacy_set_that_only_the_page_names_is_read(label: str) -> None:
    """Case X04: a Shift_JIS page whose charset stands only in its meta element, and its kin."""
    body, sentence = legacy_page(label, label)
    assert read_page(body, "text/html", URL).text == sentence


@pytest.mark.parametrize("label", LEGACY)
def test_a_legacy_set_that_only_the_header_names_is_read(label: str) -> None:
    """Case X04: a GBK page whose charset stands only in the header, and its kin."""
    body, sentence = legacy_page(label, None)
    assert read_page(body, f"text/html; charset={label}", URL).text == sentence


@pytest.mark.parametrize("label", ["gbk", "big5", "windows-1251", "shift_jis"])
def test_the_header_goes_before_a_meta_element_that_says_otherwise(label: str) -> None:
    """Case X04: header and meta in conflict."""
    body, sentence = legacy_page(label, "iso-8859-1" if label != "windows-1251" else "utf-8")
    assert read_page(body, f"text/html; charset={label}", URL).text == sentence


def test_a_byte_order_mark_goes_before_a_meta_element() -> None:
    """Case X04: a mark at the start of a page that calls itself something else."""
    body = '<html><head><meta charset="gbk"></head><body><p>Straße 港湾</p></body></html>'
    assert read_page(b"\xef\xbb\xbf" + body.encode(), "text/html", URL).text == "Straße 港湾"
    assert read_page(b"\xff\xfe" + body.encode("utf-16-le"), "text/html", URL).text == "Straße 港湾"


@pytest.mark.parametrize("label", LEGACY)
def test_a_saved_page_says_what_it_is_encoded_in(label: str) -> None:
    """Case X04: the stale meta element is made true when a page is saved, and it is read the same again."""
    body, sentence = legacy_page(label, label)
    saved = gzip.decompress(archived_page(body, f"text/html; charset={label}"))
    assert re.findall(rb"charset=([\w-]+)", saved) == [b"utf-8"]
    assert read_page(saved, "text/html", URL).text == sentence


# --- X05


@pytest.mark.parametrize(
    "address",
    [
        "http://[",
        "https://[::1",
        "http://]",
        "//[",
        "http://[v1.x]/",
        "http://a b/",
        "http://\u2100",
        "https://:99999/",
        "http:",
    ],
    ids=range(9),
)
@pytest.mark.parametrize(
    "markup",
    [
        "<a href='{0}'>link</a>",
        "<img src='{0}' alt='link'>link",
        "<blockquote cite='{0}'>link</blockquote>",
        "<a href='/ok'>link</a><iframe src='{0}'></iframe><video src='{0}'></video>",
    ],
)
def test_a_bad_address_in_the_text_is_passed_over(markup: str, address: str) -> None:
    """Case X05: an anchor whose address is no address, and its kin."""
    text = text_of(f"<article>{PARAGRAPHS}<p>A {markup.format(address)} that leads nowhere stands here.</p></article>")
    assert text.startswith(TEXT)
    assert "nowhere" in text


@pytest.mark.parametrize("address", ["http://[", "https://[::1", "//[", "http://a b/"], ids=range(4))
@pytest.mark.parametrize(
    "head",
    [
        "<link rel=canonical href='{0}'>",
        "<base href='{0}'>",
        "<meta property='og:url' content='{0}'><meta property='og:image' content='{0}'>",
        "<meta property='og:video' content='{0}'><link rel=image_src href='{0}'>",
        '<script type="application/ld+json">{{"@type": "Article", "image": "{0}", "url": "{0}"}}</script>',
    ],
)
def test_a_bad_address_in_the_head_is_none(head: str, address: str) -> None:
    """Case X05: bad addresses in what a page says of itself."""
    markup = f"<html><head>{head.format(address)}</head><body><article>{PARAGRAPHS}</article></body></html>"
    page = read_page(markup.encode(), "text/html", URL)
    assert page.text == TEXT
    assert (page.canonical_url, page.image_url, page.media_url) == (None, None, None)
