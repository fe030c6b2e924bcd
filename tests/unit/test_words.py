import pytest
from hypothesis import given
from hypothesis import strategies as st

from siftline.analyze.plurals import singular
from siftline.kit.words import letters, without_spaces, words_of


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The bank's rates, e.g. 3.5 %", ["The", "bank", "rates", "e.g", "3.5"]),
        ("l'eau qu\u2019elle boit aujourd'hui", ["eau", "elle", "boit", "aujourd'hui"]),
        ("Vier-Tage-Woche für AT&T", ["Vier-Tage-Woche", "für", "AT&T"]),
        ("中央銀行がインフレを抑える", ["中央銀行", "インフレ"]),
        ("نعم، البرلمان", ["نعم", "البرلمان"]),
        ("-- ' . _", []),
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
