"""Why a function cannot be built, in a line that names settings and never what they hold."""

from typing import Any

import pytest
from pydantic import Field

from siftline.kit.errors import ConfigurationError
from siftline.settings.functions import Settings
from siftline.worker.hosting import reason_of


class Priced(Settings):
    """Settings with bounds."""

    usd_per_million_in: float = Field(ge=0)
    api_key: int = 0


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ({"usd_per_million_in": -7}, "USD_PER_MILLION_IN: At least 0"),
        ({}, "USD_PER_MILLION_IN: Missing"),
        ({"usd_per_million_in": 1, "api_key": "sk-secret"}, "API_KEY: Must be a whole number"),
    ],
    ids=["bound", "missing", "secret"],
)
def test_a_wrong_setting_is_named_without_its_value(values: dict[str, Any], reason: str) -> None:
    with pytest.raises(ValueError, match="validation error") as caught:
        Priced(**values)

    assert reason_of(caught.value) == reason


def test_other_causes_are_one_line() -> None:
    assert reason_of(ConfigurationError("The model is not there.")) == "The model is not there."
    assert reason_of(KeyError("a\nb" + "x" * 500)).startswith("KeyError: 'a")
    assert len(reason_of(ValueError("x" * 500))) == 300
