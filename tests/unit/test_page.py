"""What is read off a page: its text without what stands around it, and nothing that makes the reader hang."""

import pytest

from siftline.ingest.page.page import MAX_BYTES, read_entry, read_page
from siftline.ingest.page_model import MAX_TEXT_CHARS, Page
from siftline.kit.errors import PermanentError

URL = "https://news.example/2026/story"
SENTENCE = "The harbour council met on Tuesday evening and agreed, after a long debate, to dredge the northern channel."
ARTICLE = [f"{word}: {SENTENCE} Work begins in spring." for word in ("First", "Second", "Third", "Fourth", "Fifth")]
PARAGRAPHS = "".join(f"<p>{text}</p>" for text in ARTICLE)
TEXT = "\n\n".join(ARTICLE)
CONSENT = (
    "<p>We value your privacy. We and our 812 partners store and/or access information on a device, such as cookies,"
    " and process personal data.</p><p>With your consent we and our partners may use precise geolocation data. You may"
    " accept or reject our processing, including legitimate interest, or manage your preferences at any time.</p>"
) * 4


def read(markup: str | bytes, content_type: str = "text/html; charset=utf-8", url: str = URL) -> Page:
    return read_page(markup if isinstance(markup, bytes) else markup.encode(), content_type, url)


def failure(markup: str | bytes, content_type: str = "text/html; charset=utf-8") -> str:
    with pytest.raises(PermanentError) as caught:
        read(markup, content_type)
    assert caught.value.detail.endswith(".")
    return caught.value.error_code


# --- The text


def test_the_text_is_the_article_alone_in_paragraphs() -> None:
    page = read(
        f"""<html lang="en"><head><title>Dredging agreed | Harbour News</title><script>a("<p>x</p>")</script></head>
        <body><nav><ul><li><a href="/">Home</a><li><a href="/sport">Sport</a></ul></nav>
        <header><a href="/">Harbour News</a></header>
        <main><article><h1>Dredging agreed</h1>{PARAGRAPHS}</article></main>
        <aside><h2>Most read</h2><ul><li><a href="/x">Another story altogether</a></ul></aside>
        <footer>Imprint. All rights reserved.</footer></body></html>"""
    )
    assert page.text == TEXT
    assert page.word_count == len(TEXT.split())


def test_an_article_in_an_aside_is_found_and_the_longer_consent_text_is_not() -> None:
    markup = (
        f"<body><div class='overlay'><div>{CONSENT}<button>Accept all</button></div></div><aside>{PARAGRAPHS}</aside>"
    )
    assert read(markup).text == TEXT


@pytest.mark.parametrize("name", ["cookie-banner", "qc-cmp2-container", "didomi"])
def test_a_consent_block_known_by_name_goes_even_when_it_is_short(name: str) -> None:
    banner = f"<div id='{name}'><p>We use cookies for your convenience and for our partners. Accept?</p></div>"
    assert read(f"<body>{banner}<article><h1>T</h1>{PARAGRAPHS}</article></body>").text == TEXT


def test_an_article_about_consent_stays() -> None:
    markup = f"<body><div class='story'><h1>The cookie law</h1><div class='copy'>{CONSENT}</div></div></body>"
    assert "812 partners" in read(markup).text


def test_main_goes_before_leading_blocks() -> None:
    promo = (
        "<div class=promo><p>Subscribe now and get our newsletter for the special price of one euro a week.</p></div>"
    )
    assert (
        read(f"<body>{promo}<div><p>Another leading block with some words.</p></div><main>{PARAGRAPHS}</main>").text
        == TEXT
    )


def test_a_link_that_is_no_address_does_no_harm() -> None:
    bad = "<p><a href='http://['>A bad link</a> stands in this last paragraph of the text.</p>"
    head = "<head><link rel=canonical href='http://['></head>"
    page = read(f"{head}<body><article>{PARAGRAPHS}{bad}</article>")
    assert page.text == f"{TEXT}\n\nA bad link stands in this last paragraph of the text."
    assert page.canonical_url is None


def test_a_text_cut_in_pieces_by_advertisements_is_whole() -> None:
    pieces = "<aside>Advertisement</aside>".join(
        f"<div class='grid'><div class='article__body'><p>{text}</p><p>{text[::-1]}</p></div></div>" for text in ARTICLE
    )
    text = read(f"<body><article><h1>T</h1>{pieces}</article></body>").text
    assert text == "\n\n".join(part for paragraph in ARTICLE for part in (paragraph, paragraph[::-1]))


def test_readers_comments_are_not_the_text() -> None:
    comments = "".join(
        f"<div class='comment'><div class='comment-body'><p>{SENTENCE}</p></div></div>" for _ in range(4)
    )
    assert (
        read(f"<body><article><h1>T</h1>{PARAGRAPHS}</article><section id=comments>{comments}</section>").text == TEXT
    )


def test_what_stands_above_the_title_and_the_title_itself_are_not_the_text() -> None:
    promo = "<p>Night mode is now available on every phone.</p>"
    assert read(f"<body><article>{promo}<h1>Dredging agreed</h1>{PARAGRAPHS}</article>").text == TEXT


def test_lists_and_quotes_keep_their_lines() -> None:
    markup = (
        f"<body><article>{PARAGRAPHS}<ul><li>one point<li>another point</ul><blockquote><p>Quoted.</p></blockquote>"
    )
    assert read(markup).text == f"{TEXT}\n\none point\nanother point\n\nQuoted."


def test_a_short_page_is_read_as_it_stands() -> None:
    assert (
        read("<body><nav><a href=/>Home</a></nav><p>Back <b>soon</b>.</p><footer>Imprint</footer></body>").text
        == "Back soon."
    )


def test_characters_that_cannot_be_stored_or_seen_are_gone() -> None:
    head = "<title>A\x00&#xD800;&shy;B&#x200B;</title>"
    page = read(f"{head}<body><article>{PARAGRAPHS}<p>one\x00 &#0; &#x1F; &#xD800;&nbsp; two</p>")
    assert page.title is not None
    assert not set("\x00\x1f\xad\u200b") & set(page.title + page.text)
    (page.title + page.text).encode()
    assert page.text.startswith(ARTICLE[0])
    assert page.text.endswith("two")


def test_a_very_long_text_is_cut_at_a_paragraph() -> None:
    text = read("<body>" + "".join(f"<p>{n}. {SENTENCE * 20}</p>" for n in range(250))).text
    assert MAX_TEXT_CHARS - 21 * len(SENTENCE) <= len(text) <= MAX_TEXT_CHARS
    assert text.endswith("northern channel.")


def test_words_of_scripts_without_spaces_are_counted_by_character() -> None:
    assert read("<body><p>港湾委員会は決めた and left.</p>").word_count == 11


# --- What it is


@pytest.mark.parametrize("kind", ["application/zip", "image/png", "application/json", "video/mp4", "text/css"])
def test_another_content_type_is_not_supported(kind: str) -> None:
    assert failure(b"<html><p>x</p></html>", kind) == "unsupported_content_type"


@pytest.mark.parametrize("kind", ["", "application/octet-stream", "application/xml", "text/xml; charset=utf-8"])
def test_without_a_telling_content_type_the_body_tells(kind: str) -> None:
    markup = f'<?xml version="1.0"?>\n<!-- x --><!DOCTYPE html><html><body>{PARAGRAPHS}</body></html>'
    assert read(markup, kind).text == TEXT
    assert failure("<rss><channel/></rss>", kind) == "unsupported_content_type"
    assert failure(b"\x89PNG\r\n\x1a\n\x00", kind) == "unsupported_content_type"
    assert failure(b" \n", kind) == "empty_content"


OTHER_FORMATS = {
    "rtf": b"{\\rtf1\\ansi Hello, this is rich text.\\par And more of it.}" * 9,
    "postscript": b"%!PS-Adobe-3.0\n(Hello, this is a page.) show\n" * 9,
    "zip": b"PK\x03\x04" + b"word/document.xml" * 99,
    "png": b"\x89PNG\r\n\x1a\n" + b"words of letters alone " * 99,
    "gif": b"GIF89a" + b"words of letters alone " * 99,
    "zeros": b"words" + bytes(999),
}


@pytest.mark.parametrize(
    "kind", ["text/html", "text/html; charset=utf-8", "text/plain", "application/octet-stream", ""]
)
@pytest.mark.parametrize("body", OTHER_FORMATS.values(), ids=OTHER_FORMATS)
def test_a_file_of_another_format_is_not_supported_whatever_it_is_sent_as(body: bytes, kind: str) -> None:
    assert failure(body, kind) == "unsupported_content_type"


def test_a_page_about_other_formats_is_a_page() -> None:
    markup = f"<html><body><p>It begins with %PDF-1.7, %!PS or {{\\rtf.</p>{PARAGRAPHS}</body></html>"
    assert TEXT in read(markup).text
    assert TEXT in read(markup, "application/octet-stream").text


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-le", "utf-32-be"])
def test_a_page_in_wide_signs_is_read(encoding: str) -> None:
    body = f"<html><head><title>T</title></head><body>{PARAGRAPHS}</body></html>".encode(encoding)
    assert read(body).text == read(body, "text/html").text == TEXT


def test_xhtml_is_read() -> None:
    root = '<?xml version="1.0" encoding="utf-8"?><html xmlns="http://www.w3.org/1999/xhtml" xml:lang="de">'
    markup = f"{root}<head><title>T</title></head><body>{PARAGRAPHS}</body></html>"
    page = read(markup, "application/xhtml+xml")
    assert (page.text, page.title, page.lang_hint) == (TEXT, "T", "de")


def test_plain_text_is_an_article() -> None:
    page = read("Title line\r\n\r\nSome  text\x00 here.\r\n\r\n\r\n\r\nMore <b>text</b>.", "text/plain")
    assert (page.title, page.kind) == ("Title line", "article")
    assert page.text == "Title line\n\nSome text here.\n\nMore <b>text</b>."
    assert failure(" \n ", "text/plain") == "empty_content"


@pytest.mark.parametrize(
    "markup",
    [
        "",
        "<!-- nothing -->",
        "<html></html>",
        "<html><head><title>Only a title</title></head><body></body></html>",
        "<body><div id=root></div><script>boot()</script><noscript>Enable JavaScript</noscript></body>",
        "<body><header>Harbour News</header><nav><a href=/>Home</a></nav><footer>Imprint</footer></body>",
        "<body><img src=a.jpg alt=x><form><input value=x><button>Send</button></form></body>",
    ],
)
def test_a_page_without_text_is_empty(markup: str) -> None:
    assert failure(markup) == "empty_content"


# --- What is too much


@pytest.mark.parametrize(
    "markup",
    [
        b"<div>" * 100_000,
        b"<div>" * 2_000_000,
        b"<html><body>" + b"<b>" * 3_000 + b"text",
        b"<p>x" * 300_000,
        b"<div " + b" ".join(b"a%d=1" % place for place in range(50_000)) + b">x</div>",
        b"<!--><div x='-->'" + b" ".join(b"a%d='>'" % place for place in range(50_000)) + b">x</div>",
        b"<script>'<a b=\"'</script><p " + b" ".join(b"a%d" % place for place in range(50_000)) + b">x</p>",
    ],
)
def test_markup_beyond_all_pages_is_refused(markup: bytes) -> None:
    assert failure(markup) == "page_too_complex"


def test_a_body_beyond_all_pages_is_refused() -> None:
    assert failure(b"x" * (MAX_BYTES + 1)) == "page_too_large"


@pytest.mark.parametrize(
    "markup", [b"<!--" * 500_000, b"<script>" + b"<a " * 100_000, b"<" * 100_000, b"<a b='" * 100_000]
)
def test_markup_that_never_closes_is_read_to_its_end(markup: bytes) -> None:
    try:
        read(markup)
    except PermanentError as error:
        assert error.error_code in {"empty_content", "page_too_complex"}  # noqa: PT017 - any end will do


def test_a_deep_page_is_read_without_its_depth() -> None:
    assert read("<div>" * 1_500 + PARAGRAPHS + "</div>" * 1_500).text == TEXT


def test_a_page_of_very_many_elements_is_read_plainly() -> None:
    links = "<a href=/x>link</a> " * 21_000
    assert read(f"<body><nav>{links}</nav><main>{PARAGRAPHS}</main></body>").text == TEXT


@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    "markup",
    [
        b"<b rel=author>" * 1_900 + b"x" * 4_000_000,
        b"<h1><div>" * 950 + b"x" * 4_000_000,
        b"<article>" * 1_900 + b"x" * 4_000_000,
        b"<main>" + b"<nav></nav>words " * 150_000,
        b"<p>a" + b"\xcc\x81\xcc\xa7" * 500_000 + b" end",
        (b"<div></div>" + b"Words of a text. " * 15) * 19_000,
        (b"<div>" + b"We use cookies, with your consent and our partners' privacy; accept. " * 3) * 1_900,
    ],
    ids=["authors", "headings", "articles", "menus", "marks", "tails", "dialogs"],
)
def test_what_is_nested_or_repeated_beyond_all_pages_is_read_once(markup: bytes) -> None:
    assert read(b"<html><body>" + markup).text


# --- Feed entries


def test_an_entrys_own_html_is_its_text() -> None:
    entry = read_entry("<p>One.</p><script>x</script>Two <i>and</i> three.<img src=x><ul><li>a<li>b</ul>")
    assert (entry.text, entry.word_count) == ("One.\n\nTwo and three.\n\na\nb", 6)


@pytest.mark.parametrize(
    ("entry_html", "text"), [(None, ""), ("", ""), (" ", ""), ("Plain & simple", "Plain & simple"), ("<i>" * 5_000, "")]
)
def test_an_entry_without_text_or_markup(entry_html: str | None, text: str) -> None:
    assert read_entry(entry_html).text == text


@pytest.mark.parametrize(
    "body",
    [
        b"<!---->" * 40 + b"x",
        b"<meta " * 200 + b"charset=" + b" " * 2_500,
        b"<!-- " * 800,
    ],
)
@pytest.mark.timeout(20)
def test_markup_made_to_be_read_in_endless_ways_is_read_in_one(body: bytes) -> None:
    with pytest.raises(PermanentError):
        read_page(body, "application/xml", "https://a.example/")
