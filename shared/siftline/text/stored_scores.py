"""Scores as they are stored, whatever stands there; and in words, for whoever shows why an item is where it is."""

import math
from collections.abc import Mapping
from typing import Any

_UNKNOWN = {
    "interest": "It cannot be compared with your interests; its topics are used instead.",
    "history": "It cannot be compared with what you starred or read; its topics are used instead.",
    "topics": "Its text was not read, and the topics of its source are not known yet.",
    "source": "How often you read items from its source is not known yet.",
}
_NUMBERS: Mapping[str, tuple[str, ...]] = {
    "interest": (),
    "history": ("liked",),
    "source": ("starred", "read", "brought"),
}
"""What is told of a part by its numbers, by its code."""


def topic_scores(stored: Any) -> list[dict[str, Any]]:
    """Return those entries of a stored ``[{"topic", "score"}]`` that say a topic; a score that is none counts 0.

    >>> topic_scores([{"topic": "sea", "score": 0.5}, {"topic": None}, "sea", {"topic": "sky"}])
    [{'topic': 'sea', 'score': 0.5}, {'topic': 'sky', 'score': 0.0}]
    >>> topic_scores({"topic": "sea"})
    []
    """
    if not isinstance(stored, list):
        return []
    return [
        {**one, "score": finite(one.get("score")) or 0.0}
        for one in stored
        if isinstance(one, dict) and isinstance(one.get("topic"), str)
    ]


def finite(value: Any) -> float | None:
    """Return a value of JSON as a number to calculate with; ``None`` if it is none.

    >>> finite(7), finite(True), finite(10**400)
    (7.0, None, None)
    """
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


def score_parts(stored: Any) -> list[dict[str, Any]]:
    """Return those entries of a stored ``items.score_reasons`` that ``sentence`` can tell, whatever stands there.

    >>> score_parts([None, {"code": "nosuch"}, {"code": "source", "weight": 1, "value": 1, "saved": True}])
    [{'code': 'source', 'weight': 1, 'value': 1, 'saved': True}]
    """
    return [one for one in stored if isinstance(one, dict) and _can_be_told(one)] if isinstance(stored, list) else []


def _can_be_told(part: Mapping[str, Any]) -> bool:
    code = part.get("code")
    if not isinstance(code, str) or not all(_is_share(part.get(name)) for name in ("weight", "value")):
        return False
    if part.get("known") is False or (code == "source" and part.get("saved") is True):
        return True
    if code == "topics":
        return _are_texts([part.get("by")]) and (
            _are_texts([part["topic"], part.get("why")]) if "topic" in part else _are_texts(part.get("topics"))
        )
    numbers = _NUMBERS.get(code)
    if numbers is None or any(finite(part.get(name)) is None for name in numbers):
        return False
    return code != "interest" or _are_texts([part.get("about")])


def _is_share(value: Any) -> bool:
    number = finite(value)
    return number is not None and 0.0 <= number <= 1.0


def _are_texts(values: Any) -> bool:
    return isinstance(values, list) and all(isinstance(one, str) for one in values)


def sentence(part: Mapping[str, Any]) -> str:
    """Return in words what a part of a score says, as it is kept in ``items.score_reasons``."""
    code = part["code"]
    if part.get("known") is False:
        return _UNKNOWN.get(code, "Not known yet.")
    if code == "interest":
        near = _grade(part["value"], "Close to", "Fairly close to", "Far from")
        return f'{near} your interest "{part["about"]}".'
    if code == "history":
        alike = _grade(part["value"], "Very similar to", "Fairly similar to", "Not very similar to")
        items = "item" if part["liked"] == 1 else f"{part['liked']} items"
        return f"{alike} the {items} that you starred or read."
    return _topics(part) if code == "topics" else _source(part)


def _topics(part: Mapping[str, Any]) -> str:
    whose = "Its source mostly writes" if part["by"] == "source" else "It is"
    if "topic" in part:
        return f"{whose} about {part['topic']}, {_why(part['value'], by_interests=part['why'] == 'interests')}."
    if not part["topics"]:
        return "It matches none of the topics."
    return f"{whose} about {', '.join(part['topics'])}, which is not among your interests or reading habits."


def _why(value: float, *, by_interests: bool) -> str:
    """Return why a topic counts as much as it does: nothing is claimed that the value does not bear."""
    if by_interests:
        named, touched, none = (
            "which is one of your interests",
            "which is related to your interests",
            "which has little to do with your interests",
        )
    else:
        named = "which you read more than other topics"
        touched, none = "which you read a little more than other topics", "which you read as often as other topics"
    return _grade(value, named, touched, none)


def _source(part: Mapping[str, Any]) -> str:
    if part.get("saved") is True:
        return "You saved it yourself."
    starred, brought = part["starred"], _many(part["brought"], "item")
    opened = starred + part["read"]
    often = "more often than" if part["value"] > 0.5 else "less often than" if part["value"] < 0.5 else "as often as"
    return f"You opened {opened} of the last {brought} from its source and starred {starred}: {often} usual."


def _grade(value: float, high: str, middle: str, low: str) -> str:
    """Return the word for a value in [0, 1]: the same bounds for all that is graded."""
    return high if value >= 0.6 else middle if value >= 0.3 else low


def _many(count: int, what: str) -> str:
    return f"{count} {what}" if count == 1 else f"{count} {what}s"


def age(seconds: float) -> str:
    """Return a length of time in words, rounded down.

    >>> age(7_300)
    '2 hours'
    """
    hours = seconds / 3_600
    if hours < 1:
        return _many(math.floor(seconds / 60), "minute")
    return _many(math.floor(hours), "hour") if hours < 72 else _many(math.floor(hours / 24), "day")
