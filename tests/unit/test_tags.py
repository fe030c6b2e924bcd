import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from siftline.analyze.text.tags import TagRule, choose_tags, find_phrases
from tests.models import WordEmbedder


def test_a_hashtag_counts_as_the_words_it_is_made_of():
    phrases = find_phrases(
        "", "Rain again #ClimateChange. Heat #climatechange! They fear climate change: #ClimateChange", "en"
    )

    assert phrases[0] == "climate change"
    assert not any("#" in phrase for phrase in phrases)


@pytest.mark.parametrize("language", ["en", "de", "fr", None])
def test_names_that_end_in_signs_are_told_apart(language):
    """Case T24."""
    phrases = find_phrases("C++23, C# 12", "C++ and C#, C++ or C#; F#.", language)

    assert set(phrases) == {"c++", "c#"}


@pytest.mark.parametrize(
    ("language", "title", "text"),
    [("ja", "Ｃ＋＋とＣ＃の新しい標準", "Ｃ＋＋とＣ＃。C++やC#は言語"), ("zh", "使用C++编程", "用C++和C#编程，C#很好")],  # noqa: RUF001  # wide signs are meant
)
def test_names_that_end_in_signs_are_told_apart_in_writings_without_spaces(language, title, text):
    assert {"c++", "c#"} < set(find_phrases(title, text, language))


@pytest.mark.parametrize(
    ("language", "one", "other"),
    [("fr", "une Élection", "des élections"), ("es", "una elección", "las Elecciones"), ("pt", "uma taxa", "as taxas")],
)
def test_one_and_many_are_one_tag(language, one, other):
    assert len(find_phrases("", f"{one}. {other}.", language)) == 1


def test_spellings_of_one_phrase_are_counted_together():
    phrases = find_phrases(
        "Interest rates",
        "The interest rate went up. An interest-rate rise is rare. High Interest Rates hurt, and interest rates stay.",
        "en",
    )

    assert phrases[0] == "interest rate"
    assert not {"interest rates", "interest-rate", "rate", "interest"} & set(phrases)


def test_phrases_do_not_cross_punctuation_or_common_words():
    phrases = find_phrases(
        "", "Solar power, wind farms. Solar power and wind farms; solar power. Wind farms grow.", "en"
    )

    assert set(phrases) == {"solar power", "wind farm"}


def test_names_keep_their_last_letter():
    phrases = find_phrases(
        "", "They met in Wales. In Wales it rained, and Wales waited for James. Later James left Wales.", "en"
    )

    assert "wales" in phrases
    assert "james" in phrases


def test_links_stand_inside_a_phrase_only():
    phrases = find_phrases(
        "",
        "Le taux d'intérêt monte. Ce taux d\u2019intérêt de la banque de France. La banque de France",
        "fr",
    )

    assert "taux d'intérêt" in phrases
    assert "banque de france" in phrases


def test_german_tags_are_nouns():
    phrases = find_phrases(
        "Notenbank senkt Leitzins", "Die Notenbank senkt den Leitzins. Sie senkt den Leitzins oft.", "de"
    )

    assert set(phrases) == {"notenbank", "leitzins"}


@pytest.mark.parametrize(
    ("language", "title", "text", "left"),
    [
        ("en", "Fans pay to win", "Fans pay late. They win and hold; fans who pay hold on. The fans won.", {"fan"}),
        ("fr", "Un tableau perdu", "Le tableau, volée, perdu. Elle a perdu le tableau.", {"tableau"}),
        ("es", "Vuelve el tren", "El tren vuelve. Vuelve a tiempo.", {"tren"}),
        ("en", "A nineteen-year-old wins", "A boat. The nineteen-year-old and the boat.", {"boat"}),
        ("fr", "Berlin affiche son soutien", "Berlin affiche une aide. À Berlin.", {"berlin", "soutien"}),
        ("en", "Fog gleebs", "The fog. It gleebs as fog does; they gleeb.", {"fog"}),
    ],
)
def test_verbs_participles_and_adjectives_are_no_tags(language, title, text, left):
    assert set(find_phrases(title, text, language)) == left


def test_german_forms_of_one_noun_are_one_tag():
    text = "Der Pilz wächst. Viele Pilze im Haus, alte Häuser mit Pilzen. Heißer Sand, sagt er. Sand."

    assert {*find_phrases("Pilze", text, "de")} == {"pilz", "haus", "sand"}


def test_names_stay_whole():
    text = "The jury met Anouk de Wit. Ms de Wit smiled. Ursula von der Leyen came, von der Leyen left."

    phrases = find_phrases("Anouk de Wit wins", text, "en")

    assert {"anouk de wit", "ursula von der leyen"} <= set(phrases)
    assert not {"wit", "leyen"} & set(phrases)


def test_a_phrase_does_not_begin_inside_a_compound():
    phrases = find_phrases("Les baleines à bosse du golfe", "Les baleines à bosse. La baleine à bosse.", "fr")

    assert phrases[0] == "baleine à bosse"


def test_numbers_are_no_tags():
    assert (
        find_phrases("Eleven of 2026", "Eleven. Eleven of 2026 and 2026, 3.5 and 3.5, thousand, thousand.", "en") == ()
    )


def test_writings_without_spaces_have_tags():
    phrases = find_phrases("中央銀行が金利を上げる", "中央銀行は金利を上げた。インフレのためだ。金利とインフレ。", "ja")

    assert {"中央銀行", "金利", "インフレ"} <= set(phrases)


def test_what_is_said_once_and_not_in_the_title_is_no_tag():
    assert find_phrases("", "A lonely sentence about kangaroos and telescopes.", "en") == ()


@given(st.text(max_size=300), st.text(max_size=300), st.sampled_from([None, "en", "fr", "de", "es", "pt", "ja"]))
def test_any_text_gives_few_different_phrases_in_lower_case(title, text, language):
    phrases = find_phrases(title, text, language)

    assert len(phrases) <= TagRule().candidates_max
    assert len(set(phrases)) == len(phrases)
    assert all(phrase.strip() and "\n" not in phrase for phrase in phrases)
    assert not [phrase for phrase in phrases if "#" in re.sub(r"\b[a-z]#", "", phrase)]  # but that of C#


def choose(candidates, text, **rule):
    embedder = WordEmbedder()
    mean = np.mean([embedder.embed_passage(word) for word in ("a", "the", "of", "and", "in")], axis=0)
    rest = embedder.embed_passage(text) - mean
    return choose_tags(candidates, rest / np.linalg.norm(rest), mean, embedder, TagRule(**rule))


def test_of_the_candidates_those_are_kept_that_lie_in_the_texts_direction():
    chosen = choose(
        ["goes", "bank", "interest rate", "umbrella"], "the bank sets the interest rate of the bank", sure=0
    )

    assert set(chosen) == {"bank", "interest rate"}


def test_the_nearest_few_are_kept_unless_they_are_unlike_the_text():
    text = "the bank sets the interest rate of the bank"

    assert choose(["interest"], text, likeness_min=0.99) == ("interest",)
    assert choose(["interest"], text, likeness_min=0.99, sure=0) == ()


def test_no_more_tags_than_asked_for():
    text = "bank money rate loan credit debt"

    assert len(choose(text.split(), text, limit=2, likeness_min=0.0)) == 2
    assert choose(text.split(), text, limit=0) == ()
    assert choose([], text) == ()
