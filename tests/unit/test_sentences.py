# ruff: noqa: RUF001 - stops of Chinese and Japanese are meant
import pytest
from hypothesis import given
from hypothesis import strategies as st

from siftline.analyze.text.sentences import ends_properly, split_sentences


@pytest.mark.parametrize(
    ("language", "text", "expected"),
    [
        ("en", "Dr. Smith of Acme Inc. paid $3.5 million. He left at 5 p.m. on Friday.",
         ["Dr. Smith of Acme Inc. paid $3.5 million.", "He left at 5 p.m. on Friday."]),
        ("en", "“Is it over?” she asked. “Yes!” It was.", ["“Is it over?” she asked.", "“Yes!”", "It was."]),
        ("en", "J. R. Miller won the U.S. Open. Nobody had expected it…",
         ["J. R. Miller won the U.S. Open.", "Nobody had expected it…"]),
        ("en", "He turned 23. The party was small.", ["He turned 23.", "The party was small."]),
        ("de", "Am 3. Oktober bzw. am 4. November beginnt z. B. die Schule. Alle warten.",
         ["Am 3. Oktober bzw. am 4. November beginnt z. B. die Schule.", "Alle warten."]),
        ("de", "Es endete 2026. Danach kam nichts.", ["Es endete 2026.", "Danach kam nichts."]),
        ("fr", "M. Dupont est parti. « Pourquoi ? » demande-t-elle. Rien.",
         ["M. Dupont est parti.", "« Pourquoi ? » demande-t-elle.", "Rien."]),
        ("es", "¿Quién gana? El Sr. López, dicen. ¡Seguro!", ["¿Quién gana?", "El Sr. López, dicen.", "¡Seguro!"]),
        ("ja", "雨が降った。「もう帰る？」と彼は言った。終わり。",
         ["雨が降った。", "「もう帰る？」と彼は言った。", "終わり。"]),
        ("zh", "物价上涨！为什么？没人知道。", ["物价上涨！", "为什么？", "没人知道。"]),
        ("ar", "هل انتهى الأمر؟ نعم. ثم عاد الجميع.", ["هل انتهى الأمر؟", "نعم.", "ثم عاد الجميع."]),
        ("hi", "बारिश हुई। सब घर गए।", ["बारिश हुई।", "सब घर गए।"]),
    ],
)  # fmt: skip
def test_sentences_end_where_a_reader_would_say(language, text, expected):
    assert split_sentences(text, language) == expected


def test_headings_and_list_items_stand_alone_and_wrapped_lines_are_joined():
    text = "A heading\n\nThe first line\ngoes on. Then\nit ends.\n- one point\n- another\n\n長い文が\nここで終わる。"

    assert split_sentences(text) == [
        "A heading",
        "The first line goes on.",
        "Then it ends.",
        "- one point",
        "- another",
        "長い文がここで終わる。",
    ]


def test_a_heading_does_not_end_as_sentences_do():
    assert [ends_properly(text) for text in ("Read more", "It is over.", "“Over!”", "終わり。", "Share:", "v. 2")] == [
        False,
        True,
        True,
        True,
        False,
        False,
    ]


@given(st.text(max_size=400), st.sampled_from([None, "en", "de", "ja"]))
def test_nothing_is_lost_and_nothing_is_added(text, language):
    assert "".join("".join(split_sentences(text, language)).split()) == "".join(text.split())


@pytest.mark.timeout(60)
@pytest.mark.parametrize("piece", [". ", "a. ", ". \u00bb ", "\n- ", "1.", ".", "\u3002\u300d", "\u0301", "mr. ", "x"])
def test_a_text_of_one_thing_without_end_is_parted_without_loss(piece):
    text = piece * (500_000 // len(piece))

    assert "".join("".join(split_sentences(text, "de")).split()) == "".join(text.split())
