"""Bytes to characters: header, byte order mark, the page's own word, and what the bytes bear out."""

import codecs

import pytest

from siftline.ingest.page.charset import decode

JAPANESE = "港湾委員会は北水路の浚渫を決めた。"
CHINESE = "港务委员会决定疏浚北航道。"


def page(text: str, head: str = "") -> str:
    return f"<html><head>{head}</head><body><p>{text}</p></body></html>"


@pytest.mark.parametrize(
    "head",
    [
        '<meta charset="shift_jis">',
        "<meta charset=Shift_JIS>",
        '<meta http-equiv="Content-Type" content="text/html; charset=x-sjis">',
        '<META NAME=a CONTENT=b><META HTTP-EQUIV=content-type CONTENT="text/html;charset=Windows-31J">',
    ],
)
def test_a_set_named_only_in_the_page_is_used(head: str) -> None:
    text = page(JAPANESE + "①", head)
    assert decode(text.encode("cp932"), "text/html") == text


def test_a_set_named_only_in_the_header_is_used() -> None:
    assert decode(page(CHINESE).encode("gbk"), "text/html; charset=GBK") == page(CHINESE)


@pytest.mark.parametrize(
    "header", ["text/html; charset=gb2312", 'text/html;charset="GB2312"', "text/html; Charset='gbk'"]
)
def test_a_narrow_label_is_read_as_the_wide_set_that_browsers_read(header: str) -> None:
    text = page("朱镕基的镕 \u3007")  # not in GB 2312
    assert decode(text.encode("gb18030"), header) == text


def test_the_header_goes_before_the_page() -> None:
    text = page(CHINESE, '<meta charset="shift_jis">')
    assert decode(text.encode("gbk"), "text/html; charset=gbk") == text


@pytest.mark.parametrize(
    ("mark", "encoding"),
    [
        (codecs.BOM_UTF8, "utf-8"),
        (codecs.BOM_UTF16_LE, "utf-16-le"),
        (codecs.BOM_UTF16_BE, "utf-16-be"),
        (codecs.BOM_UTF32_LE, "utf-32-le"),
        (codecs.BOM_UTF32_BE, "utf-32-be"),
    ],
)
def test_a_byte_order_mark_is_used_and_goes(mark: bytes, encoding: str) -> None:
    text = page("Straße", '<meta charset="iso-8859-1">')
    assert decode(mark + text.encode(encoding), "text/html") == text


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"])
@pytest.mark.parametrize("header", ["text/html", "text/html; charset=utf-8", "text/html; charset=utf-16"])
@pytest.mark.parametrize("words", ["Straße", "Строители 🕐", JAPANESE])
def test_wide_signs_are_told_without_a_mark(encoding: str, header: str, words: str) -> None:
    text = page(words, '<meta charset="iso-8859-1">')
    assert decode(text.encode(encoding), header) == text
    assert decode(text.encode(encoding) + b"x", header) == text


def test_utf_8_served_as_latin_1_is_still_utf_8() -> None:
    text = page("Die Straße führt über die Brücke")
    assert decode(text.encode(), "text/html; charset=ISO-8859-1") == text


def test_latin_1_is_windows_1252() -> None:
    text = page("“quoted” \u2013 and 10 €")
    assert decode(text.encode("cp1252"), "text/html; charset=iso-8859-1") == text


def test_a_header_that_the_bytes_contradict_yields_to_the_page() -> None:
    text = page(JAPANESE, '<meta charset="euc-jp">')
    assert decode(text.encode("euc_jp"), "text/html; charset=utf-8") == text


def test_euc_jp_has_the_signs_of_nec() -> None:
    body = page(f"{JAPANESE}!", '<meta charset="euc-jp">').encode("euc_jp").replace(b"!</p>", b"\xad\xa1</p>")
    assert decode(body, "text/html") == page(f"{JAPANESE}①", '<meta charset="euc-jp">')


def test_an_xml_declaration_counts() -> None:
    text = f'<?xml version="1.0" encoding="iso-8859-2"?>{page("Łódź")}'
    assert decode(text.encode("iso-8859-2"), "application/xhtml+xml") == text


def test_a_page_that_names_utf_16_in_ascii_is_utf_8() -> None:
    text = page("Straße", '<meta charset="utf-16">')
    assert decode(text.encode(), "text/html") == text


def test_one_broken_byte_spoils_one_character() -> None:
    body = page("Straße " * 40).encode().replace(b"\xc3\x9f", b"\xc3", 1)
    assert decode(body, "text/html; charset=utf-8").count("\ufffd") == 1


def test_without_any_word_utf_8_is_tried_and_else_the_set_is_guessed() -> None:
    russian = page("Совет гавани решил углубить северный канал, чтобы большие суда могли заходить в порт. " * 5)
    assert decode(russian.encode(), "") == russian
    assert decode(russian.encode("cp1251"), "text/html") == russian


@pytest.mark.parametrize("label", ["utf-7", "rot13", "unicode_escape", "idna", "nonsense", "\x00", "x" * 300])
def test_a_label_that_browsers_do_not_know_is_no_label(label: str) -> None:
    assert decode(b"<p>+ADw-script+AD4-</p>", f"text/html; charset={label}") == "<p>+ADw-script+AD4-</p>"


@pytest.mark.parametrize("body", [b"", b"\xff", b"\xff\xfe", bytes(range(256)) * 4, b"\xef\xbb\xbf\xff"])
def test_no_bytes_are_too_broken(body: bytes) -> None:
    assert isinstance(decode(body, "text/html\r\n; charset=utf-8"), str)
