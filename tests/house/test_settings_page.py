"""Every setting says what it means, and ``docs/settings.md`` says it after it."""

import re

import pytest

from infra import settings_page
from siftline.settings import functions

CLASSES = {
    name: found
    for name, found in vars(functions).items()
    if isinstance(found, type) and issubclass(found, functions.Settings) and found is not functions.Settings
}


def test_the_page_of_settings_is_what_make_settings_would_write() -> None:
    assert settings_page.PAGE.read_text(encoding="utf-8") == settings_page.page(), "run `make settings`"


def test_every_setting_says_what_it_means() -> None:
    silent = [
        f"{name}.{field}"
        for name, found in CLASSES.items()
        for field, about in found.model_fields.items()
        if not about.description
    ]
    assert silent == []


def test_every_number_has_a_least_and_a_most() -> None:
    open_ended = [
        f"{name}.{field}"
        for name, found in CLASSES.items()
        for field, about in found.model_fields.items()
        for bounds in [{type(bound).__name__[0] for bound in about.metadata}]
        if re.search(r"\b(int|float)\b", str(about.annotation).partition("[")[0]) and not bounds >= {"G", "L"}
    ]
    assert open_ended == []


def test_every_setting_stands_on_the_page_with_its_meaning() -> None:
    lines = settings_page.page().splitlines()
    cells = [line.removeprefix("| ").removesuffix(" |").split(" | ") for line in lines if line.startswith("| `")]
    rows = {(name, meaning) for names, *_, meaning in cells for name in re.findall(r"`(\w+)`", names)}
    wanted = {
        (field.upper(), about.description)
        for found in CLASSES.values()
        for field, about in found.model_fields.items()
        if field in found.__annotations__
    }
    assert rows == wanted


def test_the_page_does_not_depend_on_the_environment_of_who_writes_it(monkeypatch: pytest.MonkeyPatch) -> None:
    before = settings_page.page()
    monkeypatch.setenv("MODEL_URI", "s3://elsewhere/model")
    monkeypatch.setenv("TOPICS_MAX", "9")

    assert settings_page.page() == before


def test_no_validator_takes_the_place_of_another_mixins() -> None:
    """Pydantic knows validators by their names: of two mixins' of one name the second would never run."""
    hidden = [
        f"{name}: {validator} of {base.__name__}"
        for name, found in CLASSES.items()
        for base in found.__mro__[1:]
        if issubclass(base, functions.Settings)
        for validator in base.__pydantic_decorators__.field_validators
        if validator in vars(base) and getattr(found, validator).__func__ is not getattr(base, validator).__func__
    ]
    assert hidden == []
