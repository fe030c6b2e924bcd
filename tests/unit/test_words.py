import tomllib
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from siftline.analyze.text.plurals import singular
from siftline.text.words import extent, letters, without_spaces, words_of


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The bank's rates, e.g. 3.5 %", ["The", "bank", "rates", "e.g", "3.5"]),
        ("l'eau qu\u2019elle boit aujourd'hui", ["eau", "elle", "boit", "aujourd'hui"]),
        ("Vier-Tage-Woche für AT&T", ["Vier-Tage-Woche", "für", "AT&T"]),
        ("中央銀行がインフレを抑える", ["中央銀行", "インフレ"]),
        ("نعم، البرلمان", ["نعم", "البرلمان"]),
        ("C++23, c++ or C#12; F#, Notepad++", ["C++", "23", "c++", "or", "C#", "12", "F#", "Notepad++"]),
        ("Installation# #tag A#B i+++j", ["Installation", "tag", "A", "B", "i", "j"]),
        ("-- ' . _ ++ #", []),
    ],
)
def test_words_are_found_in_any_writing(text, expected):
    assert [word.text for word in words_of(text)] == expected


@given(st.text(max_size=200))
def test_every_word_stands_where_it_says(text):
    for word in words_of(text):
        assert text[word.start : word.end] == word.text


def test_letters_tell_how_much_a_text_says():
    assert letters("p. 1 \u240c") == 1
    assert letters("Hello, world 2026!") == 10
    assert letters("金利") == 6


def test_writings_without_spaces_are_known():
    assert without_spaces("政府は新しい法律を決めた。OK")
    assert not without_spaces("The Japanese word 金利 means interest rate.")
    assert not without_spaces("")


@pytest.mark.parametrize(
    ("language", "word", "expected"),
    [
        ("en", "cities", "city"), ("en", "rates", "rate"), ("en", "matches", "match"),
        ("en", "women", "woman"),
        ("en", "crisis", "crisis"), ("en", "news", "news"), ("en", "glass", "glass"), ("en", "gas", "gas"),
        ("en", "potatoes", "potato"), ("en", "wolves", "wolf"),
        ("fr", "bateaux", "bateau"), ("fr", "élections", "élection"), ("fr", "temps", "temps"),
        ("fr", "animaux", "animal"),
        ("fr", "procès", "procès"),
        ("es", "elecciones", "elección"), ("es", "luces", "luz"), ("es", "móviles", "móvil"),
        ("es", "crisis", "crisis"),
        ("es", "mujeres", "mujer"), ("es", "casas", "casa"),
        ("pt", "eleições", "eleição"), ("pt", "jornais", "jornal"), ("pt", "homens", "homem"),
        ("pt", "países", "país"),
        ("de", "Häuser", "Häuser"), ("it", "tassi", "tassi"), (None, "cats", "cats"),
    ],
)  # fmt: skip
def test_plurals_become_singular_where_the_ending_tells(language, word, expected):
    assert singular(word, language) == expected


# What is enough in one script is enough in each.
_REPORTS = tomllib.loads((Path(__file__).parents[1] / "data" / "reports.toml").read_text("utf-8"))


@pytest.mark.parametrize("script", _REPORTS)
def test_a_report_says_about_as_much_in_every_script(script: str) -> None:
    latin = letters(_REPORTS["Latin"])
    assert 0.6 * latin <= letters(_REPORTS[script]) <= 1.7 * latin
    assert letters(_REPORTS[script]) >= 100
    # Its headline says as little in any of them.
    assert letters(_REPORTS[script][:12]) < 40


@pytest.mark.parametrize(
    ("text", "said", "long"),
    [
        ("", 0, 0), ("abc, 12!", 3, 8), ("항만", 4, 4), ("金利", 6, 6), ("カナ", 6, 6), ("สวัสดี", 6, 6), ("नमस्ते", 6, 6),
        ("سلام", 6, 6), ("שלום", 6, 6), ("ሰላም", 6, 6),
        ("123 456", 0, 7), ("🎉🎉", 0, 2), ("é", 1, 1), ("e\u0301", 1, 2),
    ],
)  # fmt: skip
def test_letters_are_weighed_by_script_and_signs_say_nothing(text: str, said: int, long: int) -> None:
    assert (letters(text), extent(text)) == (said, long)


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.text(), st.text())
def test_more_text_never_says_less(one: str, other: str) -> None:
    assert letters(one + other) >= max(letters(one), letters(other)) - 1
    assert extent(one) >= len(one)
