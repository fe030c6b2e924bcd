"""The alphabet of a feed: what its header and it itself claim, read as browsers do, and what its bytes bear out."""

import pytest

from siftline.fetch.feed.feed_parser import parse
from siftline.text.charsets import decoded

RUSSIAN, JAPANESE, CHINESE = "Вода поднялась в долине", "洪水で一万人避難", "洪水来临万人撤离"
KOREAN, TAIWANESE = "홍수로 만 명 대피", "洪水來臨萬人撤離"


def document(title: str, label: str | None) -> str:
    declaration = f"<?xml version='1.0' encoding='{label}'?>" if label else ""
    return f"{declaration}<rss version='2.0'><channel><item><title>{title}</title></item></channel></rss>"


def title_of(body: bytes, charset: str | None = None) -> str:
    content_type = f"application/rss+xml; charset={charset}" if charset else "application/rss+xml"
    [entry] = parse(body, url="https://site.example/feed", content_type=content_type).entries
    return entry.title


@pytest.mark.parametrize(
    ("label", "codec", "title"),
    [
        ("Shift_JIS", "cp932", f"{JAPANESE}①髙﨑"),
        ("x-sjis", "cp932", JAPANESE),
        ("Windows-31J", "cp932", f"{JAPANESE}㈱"),
        ("euc-kr", "cp949", f"{KOREAN} 똠방각하"),
        ("ks_c_5601-1987", "cp949", f"{KOREAN} 펲시콜라"),
        ("big5", "big5hkscs", f"{TAIWANESE} 喺度 嘅"),
        ("gb2312", "gb18030", f"{CHINESE} 镕〇"),
        ("x-gbk", "gbk", CHINESE),
        ("windows-874", "cp874", "น้ำท่วม"),
        ("iso-8859-8-i", "iso-8859-8", "שלום"),
        ("x-mac-roman", "mac-roman", "café"),
        ("iso-8859-1", "cp1252", "“café” \u2013 5 €"),
        ("iso-8859-9", "cp1254", "“\u0131ğd\u0131r”"),
        ("cp850", "cp850", "Grüße"),  # browsers do not know it, and feeds have it all the same
        ("iso-2022-jp", "iso2022_jp", JAPANESE),
    ],
)
@pytest.mark.parametrize("said_by", ["feed", "header"])
def test_a_name_is_read_as_browsers_read_it(label: str, codec: str, title: str, said_by: str) -> None:
    body = document(title, label if said_by == "feed" else None).encode(codec)
    assert title_of(body, label if said_by == "header" else None) == title


@pytest.mark.parametrize(
    ("pair", "sign"),
    [(b"\xad\xa1", "①"), (b"\xad\xb5", "\u2160"), (b"\xad\xea", "㈱"), (b"\xfc\xe2", "髙"), (b"\xf9\xf5", "﨑")],
)
def test_euc_jp_has_the_signs_and_kanji_of_nec(pair: bytes, sign: str) -> None:
    body = document(f"{JAPANESE}!", "EUC-JP").encode("euc_jp").replace(b"!</title>", pair + b"</title>")
    assert title_of(body) == JAPANESE + sign


@pytest.mark.parametrize(
    ("label", "codec", "title", "bad"),
    [
        ("Shift_JIS", "cp932", JAPANESE, b"\xff"),
        ("gb2312", "gb18030", CHINESE, b"\xff"),
        ("big5", "big5hkscs", TAIWANESE, b"\xff"),
        ("euc-kr", "cp949", KOREAN, b"\xff"),
        ("euc-jp", "euc_jp", JAPANESE, b"\xff"),
        ("euc-jp", "euc_jp", JAPANESE, b"\xa9\xa1"),  # nobody's row
        ("windows-1251", "cp1251", RUSSIAN, b"\x98"),
        ("iso-2022-jp", "iso2022_jp", JAPANESE, b"\xff"),
    ],
)
def test_a_bad_byte_costs_its_character_and_not_the_alphabet(label: str, codec: str, title: str, bad: bytes) -> None:
    body = document(f"{title}!", label).encode(codec).replace(b"!</title>", bad + b"</title>")
    assert title_of(body).rstrip("\ufffd") == title
    assert title_of(body).count("\ufffd") <= len(bad)


def test_a_pair_that_is_no_character_costs_none_behind_it() -> None:
    body = document(f"{JAPANESE}!{JAPANESE}", "euc-jp").encode("euc_jp").replace(b"!", b"\xa9\xa1")
    assert title_of(body) == f"{JAPANESE}\ufffd{JAPANESE}"


def test_a_flood_of_bad_bytes_is_no_euc_jp() -> None:
    assert decoded(b"\xff" * 110_000, "euc_jp") == "\ufffd" * 110_000


@pytest.mark.parametrize(
    ("header", "label", "codec", "title"),
    [
        pytest.param("utf-8", "windows-1251", "cp1251", RUSSIAN, id="the bytes disprove the header"),
        pytest.param("utf-8", "shift_jis", "cp932", JAPANESE, id="the bytes disprove the header (Shift_JIS)"),
        pytest.param("windows-1251", "utf-8", "utf-8", RUSSIAN, id="the bytes are what the feed says"),
        pytest.param("windows-1251", None, "utf-8", RUSSIAN, id="the bytes are UTF-8"),
        pytest.param("gbk", "utf-8", "utf-8", "日本の水", id="the bytes are what the feed says, and GBK by chance"),
        pytest.param("shift_jis", None, "utf-8", JAPANESE, id="the bytes are no Shift_JIS"),
        pytest.param("utf-8", "windows-1251", "utf-8", RUSSIAN, id="the bytes bear out the header"),
        pytest.param("koi8-r", "windows-1251", "koi8-r", RUSSIAN, id="the header goes before the feed"),
        pytest.param("windows-1251", "utf-8", "cp1251", RUSSIAN, id="the header, which the bytes bear out"),
    ],
)
def test_the_bytes_decide_between_header_and_feed(header: str, label: str | None, codec: str, title: str) -> None:
    assert title_of(document(title, label).encode(codec), header) == title


@pytest.mark.parametrize(("header", "label"), [("utf-8", "windows-1251"), ("windows-1251", "utf-8"), (None, "utf-8")])
def test_a_stray_byte_leaves_utf_8_what_it_is(header: str | None, label: str) -> None:
    body = document(f"{RUSSIAN}!", label).encode().replace(b"!</title>", b"\xd0</title>")
    assert title_of(body, header) == f"{RUSSIAN}\ufffd"


def taken_for_windows_1252(text: str) -> str:
    return "".join(bytes([byte]).decode("cp1252", "ignore") or chr(byte) for byte in text.encode())


@pytest.mark.parametrize(
    "title",
    [
        "don\u2019t",
        "café",
        "“x” \u2013 5 €",
        "Straße",
        "naïve…",
        "Ångström",
        "Łódź świętuje",
        RUSSIAN,
        JAPANESE,
        "flood 🌊",
    ],
)
def test_utf_8_that_was_encoded_twice_is_mended(title: str) -> None:
    twice = taken_for_windows_1252(title)
    assert title_of(document(twice, "utf-8").encode()) == title
    assert title_of(document(title.encode().decode("iso-8859-1"), "utf-8").encode()) == title


@pytest.mark.parametrize(
    "title",
    [
        "CAFÉ™",
        "NESCAFÉ®",
        "MENÜ…",
        "“CAFÉ”",
        "L\u2019ÉTÉ\u2019S",
        "SÓ AMANHÃ…",
        "AMANHÃ…",
        "passé…”",
        "São Paulo \u2013 10 €",
        "Ä",
    ],
)
def test_text_that_only_looks_encoded_twice_stays(title: str) -> None:
    assert title_of(document(title, "utf-8").encode()) == title
