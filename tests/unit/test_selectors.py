"""A selector is one or is refused, whatever was typed."""

from contextlib import suppress

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from siftline.net.selectors import BadSelectorError, check_selector

PARTS = (
    "a", "*", "ns|a", "|", ".x", "#x", " ", ">", "+", "~", ",", ":", "::", "(", ")", "[", "]", "=", "^=", "~=", "|=",
    "!=", "''", '""', "'", "'x y'", "-", "2n+1", "odd", "9" * 30, "\\", "\\d800", "\\110000", "\0", "/*", "é", "x", "i",
    ":lang(", ":not(", ":is(", ":where(", ":has(", ":nth-child(", ":nth-last-of-type(", ":contains(", ":root", ":scope",
    ":first-of-type", ":checked", ":link", "::text",
)  # fmt: skip


@pytest.mark.parametrize("selector", ["a", "main > h2 a", "a[href^='/']", "a:lang(en)", "ns|a", "li:nth-child(2n+1) a"])
def test_a_selector_passes(selector: str) -> None:
    check_selector(selector)


@pytest.mark.parametrize(
    "selector", ["", "a:lang('')", 'a:lang("")', "a::before", "a:nonsense", "[", "a:is(" * 125, "*:first-of-type"]
)
def test_what_is_none_is_refused(selector: str) -> None:
    with pytest.raises(BadSelectorError):
        check_selector(selector)


@given(st.lists(st.sampled_from(PARTS), max_size=12).map("".join) | st.text(max_size=500))
@example("a:not(:lang(''))")
def test_whatever_is_typed_is_a_selector_or_is_refused(selector: str) -> None:
    with suppress(BadSelectorError):
        check_selector(selector)
