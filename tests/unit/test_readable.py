"""What is a text, and what only looks like one."""

import base64
import random
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from siftline.text.readable import looks_binary, says_something

ROOT = Path(__file__).resolve().parents[2]
RNG = random.Random(7)
NOISE = RNG.randbytes(200_000)
LINES = ["Hold on, my heart, hold on", "The night is long and the road is gone", "Oh, oh, oh"]
CODE = """
def merge(first: list[int], second: list[int]) -> Iterator[int]:
    while first and second:
        yield (first if first[0] <= second[0] else second).pop(0)
    yield from first or second

class HTTPServer(BaseServer): { address_family = AF_INET; _allowReuse = True }
"""
RESULTS = "\n".join(
    f"{place}. {name} {points} : {points - 7} ({place * 3}-{place})"
    for place, (name, points) in enumerate(
        [("Halden", 71), ("Norrby", 68), ("Tiefensee", 66), ("Calmar", 61), ("Astoria", 58), ("Lund", 44)] * 3, 1
    )
)
CHINESE = "市政府周三公布了新的公共交通计划 预计明年春天开始施工 沿线居民对此表示欢迎 也有人担心噪音。" * 2
THAI = "รัฐบาลประกาศแผนการขนส่งสาธารณะใหม่เมื่อวันพุธ โดยคาดว่าจะเริ่มก่อสร้างในฤดูใบไม้ผลิปีหน้า"
HINDI = "सरकार ने बुधवार को नई सार्वजनिक परिवहन योजना की घोषणा की और निर्माण अगले वर्ष शुरू होगा।"
POEM = "so much depends\nupon\n\na red wheel\nbarrow\n\nglazed with rain\nwater\n\nbeside the white\nchickens\n" * 2


def articles() -> Iterator[str]:
    for path in sorted((ROOT / "events/samples/articles").glob("*.yaml")):
        for article in yaml.safe_load(path.read_text(encoding="utf-8"))["articles"]:
            yield article.get("body") or ""
    yield from (one["text"] for one in tomllib.loads((ROOT / "tests/data/reading.toml").read_text())["articles"])


@pytest.mark.parametrize(
    ("text", "in_a_language"),
    [
        (NOISE.decode("cp1252", "replace"), False),
        (NOISE.decode("latin-1"), False),
        (NOISE.decode("cp1251", "replace"), False),
        (NOISE.decode("utf-8", "replace"), True),
        ("a" * 400_000, True),
        ("buffalo " * 3_000, True),
        ("We use cookies to make this page better for you. " * 400, True),
        (base64.b64encode(NOISE).decode(), False),
    ],
    ids=["cp1252", "latin-1", "cp1251", "utf-8", "one letter", "one word", "one sentence", "base64"],
)
def test_noise_and_one_thing_over_and_over_say_nothing(text: str, in_a_language: bool) -> None:
    assert not says_something(text, in_a_language=in_a_language)


@pytest.mark.parametrize(
    "text",
    [CODE, RESULTS, CHINESE, THAI, HINDI, POEM, "\n".join([*LINES, LINES[0]] * 12)],
    ids=["code", "results", "Chinese", "Thai", "Hindi", "poem", "refrain"],
)
def test_texts_of_any_writing_and_form_say_something_even_if_their_language_is_not_told(text: str) -> None:
    assert says_something(text, in_a_language=False)


def test_every_article_of_the_samples_says_something() -> None:
    found = [text for text in articles() if text]
    assert len(found) > 40
    assert [text[:60] for text in found if not says_something(text, in_a_language=False)] == []


@pytest.mark.parametrize(
    ("body", "binary"),
    [
        (NOISE, True),
        (b"<html><body><p>" + NOISE, True),
        (b"\x89PNG\r\n\x1a\n\x00\x00\x00\x0dIHDR" + NOISE[:400], True),
        ("<p>Ünïcode, 市政府</p>".encode() * 9, False),
        ("<p>Größe</p>".encode("utf-16"), False),
        ("日本語のページ".encode("iso2022_jp") * 9, False),
        ("страница".encode("cp1251") * 9, False),
        (b"<p>One stray \x00 of many signs" + b"x" * 400, False),
        (b"", False),
        (b"{\\rtf1\\ansi Some words in rich text.\\par}" * 9, True),
        (b"\x04%!PS-Adobe-3.0\n(text) show\n" * 9, True),
        (b"PK\x03\x04" + bytes(999), True),
        (b"Rarely is %!PS or {\\rtf what a text begins with." * 9, False),
    ],
    ids=[
        *("noise", "noise in a page", "picture", "utf-8", "utf-16", "iso-2022-jp", "cp1251", "one zero", "nothing"),
        *("rtf", "postscript", "zip", "text about them"),
    ],
)
def test_bytes_that_no_text_has_are_told_from_texts_in_any_character_set(body: bytes, binary: bool) -> None:
    assert looks_binary(body) is binary
