"""Whom a name means among those that a provider offers: the same form first, hints next, likeness with a lead last."""

import csv
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from siftline.kit.ids import new_id
from siftline.resolve.matching import AMBIGUOUS, UNKNOWN, MatchRule, OrganisationCandidate, Temporary, judge, likeness
from siftline.resolve.providers import CsvNames, NamesFileError


def wanted(name: str, *languages: str) -> Temporary:
    return Temporary(new_id(), name, None, languages)


def chosen(name: str, *candidates: OrganisationCandidate, languages: tuple[str, ...] = ()) -> str | None:
    verdict = judge(wanted(name, *languages), candidates)
    return verdict.candidate.id if verdict.candidate else verdict.reason


ACME_DE = OrganisationCandidate("1", "ACME GmbH", country="de")
ACME_US = OrganisationCandidate("2", "Acme, Inc.", country="us")
ACME_UK = OrganisationCandidate("3", "Acme Limited", country="gb")


def test_the_same_normal_form_is_the_same_name_under_any_of_its_names():
    assert chosen("Acme", ACME_DE) == "1"
    assert chosen("Big Blue", OrganisationCandidate("9", "IBM", ("Big  BLUE Inc.",))) == "9"


def test_namesakes_are_told_apart_by_legal_form_then_by_language():
    assert chosen("Acme Inc", ACME_DE, ACME_US, ACME_UK) == "2"
    assert chosen("Acme", ACME_DE, ACME_US, languages=("de",)) == "1"
    assert chosen("Acme", ACME_US, ACME_UK, languages=("en",)) == AMBIGUOUS
    assert chosen("Acme", ACME_DE, ACME_US, languages=("ja",)) == AMBIGUOUS
    assert chosen("Acme", ACME_DE, ACME_DE) == "1"


def test_who_is_of_another_country_than_the_legal_form_says_is_somebody_else():
    assert chosen("Acme S.p.A.", ACME_DE, ACME_US) == UNKNOWN


def test_another_spelling_counts_where_nobody_else_is_nearly_as_alike():
    meant = OrganisationCandidate("1", "International Business Machines")
    other = OrganisationCandidate("2", "International Business Machine")

    assert chosen("International Business Machinnes", meant, ACME_US) == "1"
    assert chosen("International Busines Machines", meant, other) == AMBIGUOUS
    assert chosen("National Gallery", meant, ACME_US) == UNKNOWN
    assert chosen("Acme") == UNKNOWN
    verdict = judge(wanted("Internationale Business Machines"), [meant], MatchRule(likeness_min=0.8))
    assert verdict.candidate is meant


@pytest.mark.parametrize(
    ("one", "other", "least", "most"), [("acme", "acme", 1, 1), ("acme", "zygo", 0, 0), ("", "", 0, 1)]
)
def test_likeness_is_between_nothing_and_one(one, other, least, most):
    assert least <= likeness(one, other) <= most


def names(text: str) -> CsvNames:
    return CsvNames(Path("names.csv"), lambda _: text)


@pytest.fixture(params=[131_072, sys.maxsize])
def field_max(request: pytest.FixtureRequest) -> Iterator[None]:
    """csv's own limit, and what scipy makes of it for the whole process."""
    before = csv.field_size_limit(request.param)
    yield
    csv.field_size_limit(before)


def test_a_csv_file_knows_names_and_aliases_in_any_spelling():
    provider = names('name,id,aliases\n"Acme, Inc.",org-1,Acme Robotics|ARI\nFoo,org-2,\n')

    assert [found.id for found in provider.search(wanted("ACME ROBOTICS GmbH"))] == ["org-1"]
    assert provider.search(wanted("Foo Ltd."))[0].kept == ()
    assert provider.search(wanted("Bar")) == ()


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("name,id\nAcme,\n", 2),
        ("name,id\nAcme,org-1\n\nFoo,org-2\n,org-3\n", 5),
        (f"name,id\nAcme,org-1\n{'x' * 200_000},org-2\n", 3),
    ],
    ids=["empty id", "far down", "endless"],
)
@pytest.mark.usefixtures("field_max")
def test_a_csv_file_without_names_or_ids_is_a_fault_of_the_set_up_with_its_line(text, line):
    with pytest.raises(NamesFileError, match=f"line {line}") as error:
        names(text).search(wanted("Acme"))

    assert error.value.provider == "csv"


@pytest.mark.parametrize(
    ("text", "missing"),
    [
        ("name\nAcme\n", "no column id"),
        ("id,aliases\n1,Acme\n", "no column name"),
        ("name;id\nAcme;1\n", "no column name and no column id"),
        ("", "no column name and no column id"),
    ],
)
def test_a_csv_file_without_the_columns_is_told_by_them(text, missing):
    with pytest.raises(NamesFileError, match=f"{missing} in its first line"):
        names(text).search(wanted("Acme"))


def test_a_missing_csv_file_is_a_fault_of_the_set_up(tmp_path):
    with pytest.raises(NamesFileError):
        CsvNames(tmp_path / "nothing.csv").search(wanted("Acme"))
