import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from siftline.analyze.text.summary import SummaryRule, summarize
from tests.models import WordEmbedder

ARTICLE = """
Dam gives way

The Kestrel dam in the Orlana valley overflowed on Sunday after three days of rain. Share this article

Some fourteen thousand people in the Orlana valley had to leave their homes because of the dam. Fourteen thousand people
in the Orlana valley left their homes because of the dam, officials said. Rescue workers brought four people to safety
from the roof of a garden centre.

A brass band played in a distant town that had nothing to do with it. The governor promised an inquiry into the dam in
the Orlana valley and its reservoir.
"""


def summary_of(text, language="en", **rule):
    embedder = WordEmbedder()
    mean = np.mean([WordEmbedder().embed_passage(word) for word in ("a", "the", "of", "and")], axis=0)
    return summarize(text, embedder.embed_passage(text), mean, embedder, language, SummaryRule(**rule)), embedder


def test_a_summary_is_made_of_the_texts_own_sentences_in_their_order():
    summary, _ = summary_of(ARTICLE)
    flat = " ".join(ARTICLE.split())
    places = [flat.index(sentence + ".") for sentence in summary.text.rstrip(".").split(". ")]

    assert places == sorted(places)
    assert len(places) == 3


def test_it_leaves_out_headings_leftovers_and_what_is_beside_the_point():
    text = summary_of(ARTICLE)[0].text

    assert "Share this article" not in text
    assert "Dam gives way" not in text
    assert "brass band" not in text


def test_it_does_not_say_a_thing_twice():
    assert summary_of(ARTICLE)[0].text.lower().count("fourteen thousand people") == 1


def test_it_keeps_to_its_length():
    summary, _ = summary_of(ARTICLE, chars_max=200)

    assert len(summary.text) <= 200
    assert summary.text.endswith(".")


def test_of_a_long_text_only_some_sentences_are_embedded():
    text = " ".join(f"This is sentence number {n} about the water in the valley of the river." for n in range(300))
    _, embedder = summary_of(text)

    assert len(embedder.texts) == 1 + SummaryRule().candidates_max


def test_sentences_without_spaces_are_joined_without_spaces():
    text = "議会は徹夜の協議の末に来年度の予算を可決した。野党は二つの条文について裁判で争う構えを見せている。" * 1

    assert summary_of(text, "ja")[0].text == text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Only one short sentence.", "Only one short sentence."),
        ("no sentence, just words without an end", "no sentence, just words without an end"),
        (
            "First heading\n\nSecond heading\n\nThird heading\n\nFourth heading",
            "First heading Second heading Third heading",
        ),
    ],
)
def test_a_text_without_fair_sentences_is_summed_up_by_its_beginning(text, expected):
    assert summary_of(text)[0].text == expected


def test_a_text_without_any_end_is_cut_between_words():
    text = summary_of("word " * 1_000)[0].text

    assert len(text) <= SummaryRule().chars_max + 1
    assert text.endswith("word\u2026")


@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None, max_examples=50)
@given(st.text(min_size=1, max_size=300).filter(lambda text: any(char.isalpha() for char in text)))
def test_any_text_with_letters_has_a_summary_that_stands_in_it(text):
    summary = summary_of(text)[0].text

    assert summary
    assert "".join(summary.rstrip("\u2026").split()) in "".join(text.split())
