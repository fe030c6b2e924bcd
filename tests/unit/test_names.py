"""One normal form for all spellings of a name, and an id that follows from it alone."""

import pytest

from siftline.text.names import NAME_MAX_CHARS, normalise, parsed, temporary_id


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("ACME Corp.", "Acme"),
        ("\uff21\uff43\uff4d\uff45\u3000\uff29\uff4e\uff43\uff0e", "acme inc"),
        ("Müller & Söhne GmbH & Co. KG", "MÜLLER & SÖHNE"),
        ("株式会社トヨタ", "トヨタ"),
        ("トヨタ(株)", "㈱トヨタ"),
        ("Novo Nordisk A/S", "Novo-Nordisk"),
        ("Acme Sp. z o.o.", "Acme"),
        ("Grupo Bimbo, S.A.B. de C.V.", "Grupo  Bimbo"),
        ("I.B.M.", "IBM"),
        ("Stra\u00dfe AG", "STRASSE"),
        ("Cafe\u0301 SARL", "Café"),
    ],
)
def test_spellings_of_one_name_have_one_normal_form_and_one_id(one, other):
    assert normalise(one) == normalise(other)
    assert temporary_id(one, "salt") == temporary_id(other, "salt")


@pytest.mark.parametrize(("name", "other"), [("AS Roma", "Roma"), ("Acme Bank", "Acme"), ("AG Insurance", "Insurance")])
def test_what_does_not_end_a_name_is_no_legal_form(name, other):
    assert normalise(name) != normalise(other)


def test_a_name_that_is_nothing_but_a_legal_form_stays():
    assert (normalise("GmbH"), normalise("Co., Ltd.")) == ("gmbh", "co")


def test_a_legal_form_says_of_which_countries_it_is():
    assert parsed("Acme S.p.A.").countries == {"it"}
    assert {"de", "at", "ch"} <= parsed("Acme GmbH").countries
    assert parsed("Acme").countries == set()


def test_an_id_is_thirty_two_letters_and_digits_and_depends_on_the_salt():
    made = temporary_id("Acme", "salt")

    assert made == "6bqjvhbmxrb6ggftqhijcpyy557ubyao"
    assert made != temporary_id("Acme", "other")


@pytest.mark.parametrize("name", ["", "...", "\x00", "a" * 10_000, "\u0301" * 5_000], ids=range(5))
def test_no_text_is_too_odd_for_a_normal_form(name):
    assert len(normalise(name)) <= NAME_MAX_CHARS
