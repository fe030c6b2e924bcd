import pytest
from hypothesis import given
from hypothesis import strategies as st

from siftline.cluster.cluster_labels import Document, name_stories, phrases
from siftline.text.stop_words import STOP_WORDS


def keys(text: str) -> list[str]:
    return [key for key, _ in phrases(text)]


BANK = [
    Document("Bank of Ghana raises interest rates", "The central bank raised its interest rates again on Monday."),
    Document("Interest rates: what the central bank says", "Interest rates may rise further, the governor said."),
    Document("Central bank surprises markets", "A surprise step on interest rates by the central bank."),
]
FOOTBALL = [
    Document("Late goal wins the derby", "A late goal decided the derby in Lagos before 60,000 fans."),
    Document("Derby ends without a goal", "No goal in the derby of Accra."),
    Document("Striker out of the derby", "The striker misses the derby; he scored the last goal."),
]


def test_a_story_is_called_by_what_its_contents_share_and_others_do_not():
    bank, football = name_stories([BANK, FOOTBALL])

    assert set(bank.keywords[:2]) == {"central bank", "interest rates"}
    assert bank.label.startswith(" · ".join(bank.keywords[:2]))
    assert football.keywords[0].casefold() == "derby"
    assert not set(bank.keywords) & set(football.keywords)


def test_phrases_of_a_label_do_not_share_words():
    for name in name_stories([BANK, FOOTBALL]):
        words = [word.casefold() for phrase in name.keywords for word in phrase.split()]
        assert len(words) == len(set(words))


def test_what_one_content_repeats_does_not_name_the_story():
    loud = [*BANK, Document("", "ostrich " * 200)]

    assert "ostrich" not in name_stories([loud, FOOTBALL])[0].keywords


def test_a_single_story_is_told_from_what_is_unclustered():
    everywhere = [Document(document.title, f"{document.text} Subscribe to our newsletter.") for document in BANK]
    rest = [Document(f"Number {at}", "Subscribe to our newsletter.") for at in range(20)]

    assert name_stories([everywhere], rest)[0].keywords[0] in {"central bank", "interest rates"}
    assert "newsletter" not in name_stories([everywhere], rest)[0].label


def test_contents_that_share_no_phrase_lend_the_title_of_the_most_central_one():
    strangers = [Document("Alpha rises", "alpha"), Document("Beta falls", "beta")]

    assert name_stories([strangers])[0].label == "Alpha rises"
    assert name_stories([strangers])[0].keywords == ()


def test_contents_without_words_are_untitled():
    assert [name.label for name in name_stories([[Document("", "12 34")], [Document("…", "")]])] == ["Untitled"] * 2
    assert name_stories([]) == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("L'économie de l\u2019Afrique", ["économie", "afrique"]),
        ("Ghana's president isn't there; we're", ["ghana", "president", "ghana president"]),
        ("zero-Covid policy", ["zero-covid", "policy", "zero-covid policy"]),
        ("rates, inflation", ["rates", "inflation"]),
        ("rates of inflation", ["rates", "inflation"]),
        ("rates rates", ["rates", "rates"]),
        ("2022 42nd x", []),
        ("Straße STRASSE", ["strasse", "strasse"]),
        ("日本銀行", ["日本", "本銀", "銀行"]),
    ],
)
def test_phrases_are_words_and_neighbouring_pairs_in_many_languages(text, expected):
    assert keys(text) == expected


@given(st.text(max_size=300))
def test_any_text_gives_phrases_without_stop_words_and_in_one_normal_form(text):
    for key, form in phrases(text):
        assert key == form.casefold()
        assert key not in STOP_WORDS


def test_the_spelling_used_most_is_shown():
    documents = [Document("NATO meets", ""), Document("NATO talks", ""), Document("nato rumours", "")]

    assert name_stories([documents])[0].keywords == ("NATO",)


LEVY = [
    Document("Levy on sweet drinks: nine of ten pay", "The levy hit nine brands on Monday. Parents pay it.", "en"),
    Document("Neun von zehn zahlen: Abgabe auf Limonade", "Vier Marken zahlen am Montag. Nine heißt die Marke.", "de"),
    Document("Neuf marques paient en mars", "Neuf marques, vier mètres de rayons, plat du jour : Coravel.", "fr"),
    Document("Nueve marcas: menú y cabeza", "Nueve marcas pagan el lunes, dice Coravel.", "es"),
    Document("Coravel paga: nove marchi in primavera", "Nove marchi, nove metri, lunedì Coravel ha perso.", "it"),
]


@pytest.mark.parametrize(
    "plain",
    ["nine", "vier", "neuf", "nueve", "mètres", "lunes", "monday", "pay", "primavera", "heures", "zahlen", "cabeza"],
)
def test_numbers_units_days_and_plain_words_name_nothing_in_any_language(plain):
    words = {
        word.casefold() for name in name_stories([LEVY, BANK]) for phrase in name.keywords for word in phrase.split()
    }

    assert plain not in words


def test_contents_in_several_languages_are_called_by_the_names_they_share():
    assert name_stories([LEVY, BANK])[0].label == "Coravel"


def test_what_few_contents_share_by_chance_names_nothing_but_the_topic_and_the_most_central_title_do():
    titles = ("Glacier under the microscope of students", "Otter counts", "Whales sing", "Orchids bloom", "Bees dance")
    members = [Document(title, f"{title}.", "en", "science") for title in titles]
    members[1:3] = [Document(one.title, f"{one.text} A fig.", "en", "science") for one in members[1:3]]
    members += [Document(f"Moss number {at}", "", "en", "environment") for at in ("alpha", "beta")]

    name = name_stories([members, BANK])[0]

    assert name.label == "Science · Glacier under the microscope of students"
    long = [Document("Very long titles of few words that nobody shares " * 3, "", "en"), Document("Beta", "", "en")]
    assert name_stories([long])[0].label.endswith(" of few words\u2026")


def test_german_verbs_and_adjectives_name_nothing():
    members = [
        Document("Notenbank senkt Leitzins", "Die Notenbank senkt kräftig.", "de"),
        Document("Wieder senkt die Notenbank", "Der Leitzins fällt kräftig.", "de"),
    ]

    assert {*name_stories([members])[0].keywords} == {"Notenbank", "Leitzins"}
