"""The rules find names that are written as names, in several languages, and leave nouns alone."""

import pytest

from siftline.analyze.entities.entity_rules import RuleRecognizer
from siftline.analyze.entities.mentions import Kind, named_in

RECOGNIZER = RuleRecognizer()


def found(text, language, kind=Kind.ORGANISATION):
    return [text[one.start : one.end] for one in RECOGNIZER.recognize(text, language) if one.kind is kind]


@pytest.mark.parametrize(
    ("language", "text", "names"),
    [
        ("en", "Acme Robotics, Inc. sued Foo Bar Ltd. over parts.", ["Acme Robotics, Inc.", "Foo Bar Ltd."]),
        ("de", "Müller & Söhne GmbH & Co. KG liefert weiter.", ["Müller & Söhne GmbH & Co. KG"]),
        ("de", "Der Vorstand der Nordlicht AG tritt zurück.", ["Nordlicht AG"]),
        ("fr", "Le groupe Valmont S.A. rachète Dupré SARL.", ["Valmont S.A.", "Dupré SARL"]),
        ("it", "La Torrefina S.p.A. e la Brunello S.r.l. si fondono.", ["Torrefina S.p.A.", "Brunello S.r.l."]),
        ("nl", "Windmolen B.V. en Polder N.V. gaan samen.", ["Windmolen B.V.", "Polder N.V."]),
        ("fi", "Lumikko Oy ja Havu Oyj sulautuvat.", ["Lumikko Oy", "Havu Oyj"]),
        ("sv", "Fjällräv AB köper Dansk Korn A/S nu.", ["Fjällräv AB", "Dansk Korn A/S"]),
        ("ja", "昨日、株式会社日立製作所は発表した。", ["株式会社日立製作所"]),
        ("ja", "トヨタ自動車株式会社が工場を建てる。", ["トヨタ自動車株式会社"]),
        ("zh", "我们访问了星河技术有限公司。", ["星河技术有限公司"]),
    ],
)
def test_a_legal_form_ends_a_name_and_belongs_to_it(language, text, names):
    assert found(text, language) == names


@pytest.mark.parametrize(
    ("language", "text", "names"),
    [
        (
            "fr",
            "Il étudie à l'Université de Grenoble et au Conservatoire de Lyon.",
            ["Université de Grenoble", "Conservatoire de Lyon"],
        ),
        ("fr", "Elle quitte le Ministère des affaires étrangères.", ["Ministère des affaires étrangères"]),
        ("fr", "L'avis du Comité olympique fut rejeté.", ["Comité olympique"]),
        (
            "es",
            "La Universidad de Salamanca y la Federación Española de Remo firman.",
            ["Universidad de Salamanca", "Federación Española de Remo"],
        ),
        (
            "en",
            "He taught at Harrow University before Bluebird Records signed her.",
            ["Harrow University", "Bluebird Records"],
        ),
        ("en", "The Bank of Westland kept its rates.", ["Bank of Westland"]),
        ("de", "Sie lehrt an der Technischen Universität Ilmenau.", ["Technischen Universität Ilmenau"]),
        ("de", "Das Bundesamt für Strahlenschutz warnt.", ["Bundesamt für Strahlenschutz"]),
        (
            "de",
            "Er spielte für den 1. FC Heidenheim und den SV Waldhof Mannheim.",
            ["1. FC Heidenheim", "SV Waldhof Mannheim"],
        ),
        ("es", "El entrenador dejó el CD Tenerife por el Cádiz CF.", ["CD Tenerife", "Cádiz CF"]),
        ("fr", "L'entreprise Valmont embauche, dit le PDG de Brisk.", ["Valmont", "Brisk"]),
        ("de", "Die Firma Nordlicht baut Anlagen.", ["Nordlicht"]),
    ],
)
def test_words_that_open_or_close_a_name_find_its_whole(language, text, names):
    assert found(text, language) == names


def test_an_acronym_in_brackets_is_of_the_words_that_spell_it_out():
    text = "On Monday the Global Owl Watch (GOW) met; later GOW voted."

    assert found(text, "en") == ["Global Owl Watch", "GOW", "GOW"]


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("de", "Der Hund spielt im Garten, während die Kinder Kuchen essen und der Regen auf das Dach fällt."),
        ("de", "Die Gesellschaft diskutiert, das Institut schweigt, und die Bank am Fluss ist nass."),
        ("fr", "Le centre commercial est fermé. Banque et école restent ouvertes. Société et culture changent."),
        ("es", "El banco del parque estaba mojado y la unión hace la fuerza."),
        ("en", "The company said that its bank would not lend. University is expensive. On TV and DVD."),
        ("en", ""),
    ],
)
def test_nouns_are_no_names(language, text):
    assert found(text, language) == []


@pytest.mark.parametrize(
    ("language", "text", "names"),
    [
        ("de", "Elf Verletzte nach Brand. Elf Kinder fehlen.", []),
        ("de", "Im Frühjahr will das Unternehmen Erdbeeren versuchen.", []),
        ("de", "So geht es Amt für Amt weiter. Das Institut des Landes prüft.", []),
        ("de", "Das gehört dem Münchner Unternehmens Radiolytics GmbH.", ["Radiolytics GmbH"]),
        ("de", "Das Berliner Start-up Helix Biolabs sammelt Geld.", ["Helix Biolabs"]),
        ("de", "Das Universitätsklinikum Heidelberg und die AOK", ["Universitätsklinikum Heidelberg", "AOK"]),
        ("en", "The Federal Reserve met; Anker Innovations fell.", ["Federal Reserve", "Anker Innovations"]),
        ("fr", "Au Muséum national d'histoire naturelle.", ["Muséum national d'histoire naturelle"]),
        ("fr", "Au Musée national de la marine.", ["Musée national de la marine"]),
    ],
)
def test_what_a_noun_or_a_number_looks_like_is_no_name_and_institutions_are(language, text, names):
    assert found(text, language) == names


def test_people_of_many_languages_are_found_and_saints_roads_are_no_people():
    text = "The road to Saint Averil: Anouk de Wit, Nino Kalandadze and Johanna Reiter walked it."

    assert found(text, "en", Kind.PERSON) == ["Anouk de Wit", "Nino Kalandadze", "Johanna Reiter"]


def test_a_place_is_one_whatever_languages_call_it():
    names = named_in("Peru, Perú und Pérou; Callao.", RECOGNIZER, "de", limit=9)

    assert [(one.name, one.normalised, one.mentions) for one in names] == [("Peru", "peru", 3), ("Callao", "callao", 1)]


def test_people_are_told_by_given_names_and_titles_and_places_by_name():
    text = "Angela Weber met Mr. Harlow in Paris, near the University of Vienna."

    assert found(text, "en", Kind.PERSON) == ["Angela Weber", "Harlow"]
    assert found(text, "en", Kind.PLACE) == ["Paris"]
    assert found(text, "en") == ["University of Vienna"]


def test_spellings_of_one_name_are_one_with_their_number():
    text = (
        "Acme Robotics, Inc. grows. Analysts like ACME ROBOTICS INC. and Acme Robotics Ltd. alike. Foo Ltd. does not."
    )

    names = named_in(text, RECOGNIZER, "en", limit=10)

    assert [(one.name, one.mentions) for one in names] == [("Acme Robotics, Inc.", 3), ("Foo Ltd.", 1)]
    assert named_in(text, RECOGNIZER, "en", limit=1) == names[:1]


def test_mentions_stand_in_order_and_apart_whatever_the_text():
    text = (
        "Bank of the Bank of AG GmbH (AG) Université Université de de Inc. Inc. " * 40 + "A\u0301\ud800 株式会社" * 20
    )

    mentions = RECOGNIZER.recognize(text, None)

    ends = [one.end for one in mentions]
    assert all(start >= end for start, end in zip([one.start for one in mentions[1:]], ends, strict=False))
