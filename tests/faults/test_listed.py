"""Every fault of the list that can strike what there is, and every handed case, is named by the test that shows it."""

import ast
import re

import pytest

from tests.house.reading import ROOT, python_files, tree

FAULTS = range(1, 39)
_NUMBERS = {
    "A": range(1, 14, 2),
    "C": range(1, 12, 2),
    "D": (1, 3, 5, 7, 8, 9, 11, 13, 15),
    "F": range(1, 38, 2),
    "Q": (1, 3, 5, 7, 9, 11, 13, 14, 15, 17, 18, 19, 21, 23),
    "S": (1, 2, 3, 4, 5, 7, 9, 11, 13),
    "X": (1, 3, 4, 5, 7, 9),
}
CASES = [f"{group}{number:02}" for group, numbers in _NUMBERS.items() for number in numbers]
_FAULTS = re.compile(r"\b[Ff]aults? (\d+(?:(?:,| and|, and) \d+)*)")
_CASES = re.compile(r"\b[ACDFQSX]\d\d\b")


def _docstrings() -> list[str]:
    return [
        ast.get_docstring(node) or ""
        for path in python_files(ROOT / "tests")
        if path.name.startswith("test_") and path.name != "test_listed.py"
        for node in ast.walk(tree(path))
        if isinstance(node, ast.FunctionDef | ast.Module)
    ]


@pytest.fixture(scope="module")
def named() -> set[str]:
    text = "\n".join(_docstrings())
    faults = {f"fault {number}" for listed in _FAULTS.findall(text) for number in re.findall(r"\d+", listed)}
    return faults | set(_CASES.findall(text))


@pytest.mark.parametrize("name", [*(f"fault {number}" for number in FAULTS), *CASES])
def test_a_test_names_it(named: set[str], name: str) -> None:
    assert name in named
