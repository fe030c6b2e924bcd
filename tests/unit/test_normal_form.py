"""One form for what reads the same, at a cost that grows with the text and no faster."""

import unicodedata

import pytest

from siftline.text.normal_form import MARKS_MAX, nfc

MANY = 250_000


def test_parts_are_joined() -> None:
    assert nfc("cafe\u0301 a\u0323\u0301") == "caf\u00e9 \u1ea1\u0301"


def test_as_many_marks_as_any_writing_has_are_kept() -> None:
    word = "a" + "\u0323" * MARKS_MAX + "b"
    assert nfc(word) == unicodedata.normalize("NFC", word)


@pytest.mark.timeout(30)
@pytest.mark.parametrize(
    "marks",
    ["\u0301\u0327" * MANY, "\u0301" * MANY + "\u0327" * MANY, "\u093c\u094d" * MANY, "\u0344" * MANY],
    ids=["in turn", "against their order", "of an Indic writing", "that are two each"],
)
def test_of_a_run_that_no_writing_has_only_the_beginning_is_kept(marks: str) -> None:
    assert nfc(f"a{marks}b") == unicodedata.normalize("NFC", f"a{marks[:MARKS_MAX]}b")


def test_signs_that_are_no_marks_are_all_kept() -> None:
    text = "\U0001f600" * 100 + "\u2026" * 100
    assert nfc(text) == text
