"""How long a text takes to read."""

import pytest

from siftline.api.items.item_messages import reading_minutes


@pytest.mark.parametrize(
    ("words", "lang", "minutes"),
    [
        (None, "en", None),
        (0, "en", None),
        (1, "en", 1),
        (230, None, 1),
        (231, "de", 2),
        (1_000, "ja", 2),
        (1_001, "zh", 3),
    ],
)
def test_reading_time_is_rounded_up_and_counts_characters_where_they_are_words(
    words: int | None, lang: str | None, minutes: int | None
) -> None:
    assert reading_minutes(words, lang) == minutes
