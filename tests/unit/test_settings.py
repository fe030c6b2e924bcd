"""What is wrong with a setting is told in words for people, and an empty variable counts as not set."""

import pytest

from siftline.settings import functions
from siftline.settings.functions import Settings, faults

SETTINGS = {
    name: field
    for found in vars(functions).values()
    if isinstance(found, type) and issubclass(found, Settings)
    for name, field in found.model_fields.items()
}
_ANYTHING = {"str", "SecretStr"}
BOUND = [
    name
    for name, field in SETTINGS.items()
    if field.metadata or getattr(field.annotation, "__name__", "") not in _ANYTHING
]
WRONG = ["Maybe not\n", "-1", "9" * 400, "[[]]", '{"fetch": []}']


@pytest.mark.parametrize("name", BOUND)
def test_a_wrong_value_is_told_in_words_for_people(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    told: list[str] = []
    for value in WRONG:
        monkeypatch.setenv(name.upper(), value)
        told += faults()

    assert told
    for line in told:
        assert line.startswith(f"{name.upper()}: ")
        assert not [word for word in ("pattern", "tuple", "Input", "^", "valid", "literal", "parse") if word in line]


@pytest.mark.parametrize("name", SETTINGS)
def test_an_empty_variable_counts_as_not_set(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv(name.upper(), "")

    assert faults() == []


def test_a_log_level_is_known_in_any_case(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POWERTOOLS_LOG_LEVEL", "debug")

    assert faults() == []
