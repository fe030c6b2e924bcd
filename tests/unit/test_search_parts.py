"""What search is made of: queries taken apart, two orders fused, languages levelled, words marked."""

import uuid

import numpy as np
import pytest

from siftline.rank.highlight import EXCERPT_CHARS, highlights, pattern
from siftline.rank.languages import apart_of
from siftline.rank.query import TERMS_MAX, parse, typing_distance
from siftline.rank.search import fused


def typed(query: str) -> tuple[list[str], list[str], list[list[int]]]:
    asked = parse(query)
    return [term.typed for term in asked.terms], [term.typed for term in asked.never], [*map(list, asked.alternatives)]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("oil price", (["oil", "price"], [], [[0, 1]])),
        ('"oil price" gas', (["oil price", "gas"], [], [[0, 1]])),
        ("“oil price”", (["oil price"], [], [[0]])),
        ('oil -gas -"cold wind"', (["oil"], ["gas", "cold wind"], [[0]])),
        ("oil OR gas price", (["oil", "gas", "price"], [], [[0], [1, 2]])),
        ("or oil or or", (["oil"], [], [[0]])),
        ('oil "gas', (["oil", "gas"], [], [[0, 1]])),
        ("F-16 well-known", (["F-16", "well-known"], [], [[0, 1]])),
        ("a:* & !(b) <-> 'c'", (["a", "b", "c"], [], [[0, 1, 2]])),
        ("--", ([], [], [[]])),
        ("-coal", ([], ["coal"], [[]])),
    ],
)
def test_a_query_is_taken_apart(query: str, expected: object) -> None:
    assert typed(query) == expected


def test_signs_mean_nothing_in_a_plain_text() -> None:
    assert [term.typed for term in parse('The "end" or -not', plain=True).terms] == ["The", "end", "or", "not"]


def test_only_so_many_terms_count() -> None:
    assert len(parse(" ".join("abcdefghijklmnopqrstuvwxyz")).terms) == TERMS_MAX


@pytest.mark.parametrize(
    ("query", "parsed"),
    [
        ("oil", '"oil"'),
        ("東京都", '"東京" "京都"'),
        ('"東京都"', '"東京 京都"'),
        ("猫", '"猫"'),
        ("iPhone発売日", '"iPhone" "発売" "売日"'),
    ],
)
def test_words_of_writings_without_spaces_become_pairs(query: str, parsed: str) -> None:
    assert [term.parsed for term in parse(query).terms] == [parsed]


def test_a_mended_query_keeps_everything_else() -> None:
    asked = parse('goverment or "white house" -bank')

    assert str(asked.mended({"goverment": "government"})) == 'government or "white house" -bank'
    assert asked.meaning == "goverment white house"
    assert parse("goverment").meaning == ""


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [("a", "a", 0), ("abcd", "abdc", 1), ("abcd", "acd", 1), ("abcd", "xbcy", 2), ("naïve", "naive", 0), ("", "ab", 2)],
)
def test_how_many_letters_differ(one: str, other: str, expected: int) -> None:
    assert typing_distance(one, other) == typing_distance(other, one) == expected


def test_what_is_first_in_both_orders_has_all_the_score_and_a_low_place_in_both_beats_a_high_one_in_one() -> None:
    a, b, c, d = (uuid.UUID(int=number) for number in range(4))

    assert fused([a, b], [a, c])[a] == 1.0
    assert next(iter(fused([a, b, c], [d, b, c]))) == b
    assert fused([a], []) == {a: 0.5}
    assert fused([], []) == {}


def test_means_of_languages_lie_apart_only_where_two_have_enough_texts() -> None:
    one, other = (np.array(values, dtype="<f4").tobytes() for values in ([1, 0, 0], [0, 1, 0]))

    assert apart_of([("en", one)] * 9 + [("de", other)] * 2).size == 0
    apart = apart_of([("en", one)] * 9 + [("de", other)] * 9)
    assert apart.shape == (2, 3)
    assert np.allclose(apart.sum(axis=0), 0)
    assert apart[1, 0] > 0 > apart[1, 1]


def test_a_vector_of_another_length_or_of_no_numbers_is_left_out_of_the_means() -> None:
    one, other, short, bad = (
        np.array(values, dtype="<f4").tobytes() for values in ([1, 0, 0], [0, 1, 0], [1, 0], [np.nan, 1, 0])
    )
    good = [("en", one)] * 9 + [("de", other)] * 9

    assert np.array_equal(apart_of([*good, ("en", short), ("de", bad), ("de", bytes(5))]), apart_of(good))


def marked(text: str, *lexemes: str) -> list[str]:
    wanted = pattern(lexemes)
    assert wanted is not None
    return [one.text[start:end] for one in highlights(wanted, text, None, None) for start, end in one.marks]


@pytest.mark.parametrize(
    ("text", "lexemes", "expected"),
    [
        ("Lowering, lowered, lowest, flower", ["lower"], ["Lowering", "lowered"]),
        ("happy HAPPIER", ["happi"], ["happy", "HAPPIER"]),
        ("Straße, Strasse", ["strass"], ["Straße", "Strasse"]),
        ("œuvre and oeuvre", ["oeuvr"], ["œuvre", "oeuvre"]),
        ("Élections", ["elect"], ["Élections"]),
        ("oil, oils, oilcloth", ["oil"], ["oil", "oils"]),
        ("the cat and the", ["the", "cat"], ["cat"]),
        ("東京都で地震", ["東京", "京都", "地震"], ["東京都", "地震"]),
        ("C++ (a.b) C C#", ["c"], ["C"]),
        ("C++23, c++; Notepad++ C C#", ["c0plus0", "notepad0plus0"], ["C++", "c++", "Notepad++"]),
        ("言語C#の、ＦＲＯＭ Ｃ＃ 用C＋＋编", ["c0sharp0", "c0plus0"], ["C#", "Ｃ＃", "C＋＋"]),  # noqa: RUF001  # wide letters are meant
        ("使用Python编程", ["python", "用"], ["用Python"]),
        ("C# 12, F#, A#B, C++", ["c0sharp0", "f0sharp0"], ["C#", "F#"]),
        ("العاصفة وبالعاصفة عواصف للعاصفة ولعاصفة", ["عاصف"], ["العاصفة", "وبالعاصفة", "للعاصفة", "ولعاصفة"]),
        ("الع\u064eاص\u0650ف\u064eة\u064f، تضرب", ["عاصف"], ["الع\u064eاص\u0650ف\u064eة\u064f"]),  # noqa: RUF001  # letters of another writing are meant
        ("ב\u05b0\u05bcר\u05b5א\u05b4ש\u05b4\u05c1ית ברא", ["בראשית"], ["ב\u05b0\u05bcר\u05b5א\u05b4ש\u05b4\u05c1ית"]),  # noqa: RUF001  # letters of another writing are meant
        ("E\u0301lections", ["elect"], ["E\u0301lections"]),
        ("दिल्ली में", ["दिल्ल"], ["दिल्ली"]),
        ("Σεισμός ΣΕΙΣΜΌΣ", ["σεισμ"], ["Σεισμός", "ΣΕΙΣΜΌΣ"]),
    ],
)
def test_words_are_marked_as_they_are_written(text: str, lexemes: list[str], expected: list[str]) -> None:
    assert marked(text, *lexemes) == expected


def test_nothing_is_marked_where_nothing_is_looked_for() -> None:
    assert pattern([]) is None
    assert marked("Nothing here", "zeppelin") == []


def test_the_passage_with_the_most_marks_is_shown_with_whole_words() -> None:
    wanted = pattern(["oil", "price"])
    assert wanted is not None
    text = f"Oil at first. {'filler ' * 100}The oil price, an oil price. {'filler ' * 100}"

    [passage] = highlights(wanted, None, None, text)

    assert [passage.text[start:end] for start, end in passage.marks] == ["oil", "price", "oil", "price"]
    assert passage.text.startswith("… filler")
    assert passage.text.endswith("filler …")
    assert len(passage.text) <= EXCERPT_CHARS + 4


def test_a_text_without_any_space_is_cut_all_the_same() -> None:
    wanted = pattern(["地震"])
    assert wanted is not None

    [passage] = highlights(wanted, None, None, "あ" * 5_000 + "地震" + "い" * 5_000)

    assert [passage.text[start:end] for start, end in passage.marks] == ["地震"]
    assert len(passage.text) <= EXCERPT_CHARS + 4


@pytest.mark.parametrize("typed", ["brid\xadge", "brid\u200bge", "\ufeffbridge"])
def test_what_nobody_sees_is_no_part_of_a_word(typed: str) -> None:
    assert [term.typed for term in parse(typed).terms] == ["bridge"]
