"""The page of limits says what the settings and the code say."""

import importlib
import re
from typing import Any

import pytest
from pydantic_settings import BaseSettings

from siftline.settings import functions
from tests.house.reading import ROOT

_ROW = re.compile(r"^\| [^|]+ \| `([A-Za-z0-9_.:]+)` \| ([0-9.]+) \| [^|]+ \|$", re.MULTILINE)
ROWS = _ROW.findall((ROOT / "docs" / "limits.md").read_text(encoding="utf-8"))


def _defaults() -> dict[str, Any]:
    classes = [
        value for value in vars(functions).values() if isinstance(value, type) and issubclass(value, BaseSettings)
    ]
    return {name.upper(): field.default for each in classes for name, field in each.model_fields.items()}


@pytest.mark.parametrize(("name", "value"), ROWS, ids=[name for name, _ in ROWS])
def test_a_limit_is_what_the_page_says(name: str, value: str) -> None:
    module, _, constant = name.partition(":")
    found = getattr(importlib.import_module(module), constant) if constant else _defaults()[name]
    assert float(found) == float(value)


def test_every_row_of_the_page_is_read() -> None:
    lines = (ROOT / "docs" / "limits.md").read_text(encoding="utf-8").splitlines()
    assert len(ROWS) == sum(line.startswith("| ") and not line.startswith("| What") for line in lines)
