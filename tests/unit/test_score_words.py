"""What is kept of a score, in words."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from siftline.text.stored_scores import age, score_parts, sentence

TOLD: list[tuple[dict[str, Any], str]] = [
    (
        {"code": "interest", "value": 0.99, "about": "solar energy", "cosine": 0.241},
        'Close to your interest "solar energy".',
    ),
    (
        {"code": "interest", "value": 0.1, "about": "opera", "cosine": -0.02},
        'Far from your interest "opera".',
    ),
    (
        {"code": "history", "value": 0.5, "liked": 1, "cosine": 0.12},
        "Fairly similar to the item that you starred or read.",
    ),
    (
        {"code": "history", "value": 0.7, "liked": 21, "cosine": 0.31},
        "Very similar to the 21 items that you starred or read.",
    ),
    (
        {"code": "topics", "value": 0.8, "by": "text", "topic": "sport", "why": "history"},
        "It is about sport, which you read more than other topics.",
    ),
    (
        {"code": "topics", "value": 0.0145, "by": "text", "topic": "economy", "why": "interests"},
        "It is about economy, which has little to do with your interests.",
    ),
    (
        {"code": "topics", "value": 0.4, "by": "text", "topic": "economy", "why": "interests"},
        "It is about economy, which is related to your interests.",
    ),
    (
        {"code": "topics", "value": 0.02, "by": "source", "topic": "sport", "why": "history"},
        "Its source mostly writes about sport, which you read as often as other topics.",
    ),
    ({"code": "topics", "value": 0.0, "by": "text", "topics": []}, "It matches none of the topics."),
    (
        {"code": "topics", "value": 0.0, "by": "source", "topics": ["food", "travel"]},
        "Its source mostly writes about food, travel, which is not among your interests or reading habits.",
    ),
    ({"code": "source", "value": 1.0, "saved": True}, "You saved it yourself."),
    (
        {"code": "source", "value": 0.5, "starred": 0, "read": 0, "brought": 1},
        "You opened 0 of the last 1 item from its source and starred 0: as often as usual.",
    ),
    (
        {"code": "topics", "value": 0.2, "known": False},
        "Its text was not read, and the topics of its source are not known yet.",
    ),
    ({"code": "later", "value": 0.2, "known": False}, "Not known yet."),
]


@pytest.mark.parametrize(
    ("part", "words"), TOLD, ids=[f"{part['code']} {place}" for place, (part, _) in enumerate(TOLD)]
)
def test_a_part_of_a_score_is_a_sentence(part: dict[str, Any], words: str) -> None:
    assert sentence(part) == words


def test_every_part_that_is_kept_can_be_told() -> None:
    parts = [{"weight": 0.25, **part} for part, _ in TOLD]
    assert score_parts(parts) == parts


_NAMES = ["code", "weight", "value", "known", "about", "cosine", "liked", "by", "topic", "topics", "why", "saved"]
_NAMES += ["starred", "read", "brought"]


@given(
    st.recursive(
        st.none() | st.booleans() | st.floats() | st.integers() | st.just(10**400) | st.text(max_size=3),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(_NAMES),
                inner | st.sampled_from(["interest", "history", "topics", "source"]),
            )
        ),
        max_leaves=20,
    )
)
def test_whatever_is_stored_as_reasons_what_is_read_of_it_can_be_told(stored: Any) -> None:
    for part in score_parts(stored):
        assert sentence(part)
        assert 0 <= part["weight"] * part["value"] <= 1


@pytest.mark.parametrize("place", range(len(TOLD)))
@pytest.mark.parametrize("odd", [None, True, "x", -0.1, 10**400, [7], {}])
def test_a_part_with_one_odd_value_is_told_or_left_out(place: int, odd: Any) -> None:
    part = {"weight": 0.25, **TOLD[place][0]}
    for name in part:
        for kept in score_parts([part | {name: odd}, {key: value for key, value in part.items() if key != name}]):
            assert sentence(kept)


@pytest.mark.parametrize("value", [0.0, 0.0145, 0.1, 0.29, 0.3, 0.59, 0.6, 1.0])
def test_no_sentence_claims_more_than_its_value_bears(value: float) -> None:
    interest = sentence({"code": "interest", "value": value, "about": "chess", "cosine": 0.1})
    topic = sentence({"code": "topics", "value": value, "by": "text", "topic": "x", "why": "interests"})

    assert interest.startswith("Close to") == topic.endswith("which is one of your interests.") == (value >= 0.6)
    assert interest.startswith("Far from") == topic.endswith("little to do with your interests.") == (value < 0.3)


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0, "0 minutes"), (60, "1 minute"), (3_600, "1 hour"), (259_199, "71 hours"), (259_200, "3 days")],
)
def test_an_age_is_told_in_the_largest_fitting_unit(seconds: float, words: str) -> None:
    assert age(seconds) == words
