"""Scores in words: for whoever shows an item with the reasons why it is where it is."""

import math
from collections.abc import Mapping
from typing import Any

_UNKNOWN = {
    "interest": "It cannot be compared with your interests, so what it is said to be about stands in for that.",
    "history": "It cannot be compared with what you starred or read; what it is said to be about stands in for that.",
    "topics": "Its text was not read, and nothing is known of what its source writes about.",
    "source": "Nothing is known yet of how often you read what its source brings.",
}


def sentence(part: Mapping[str, Any]) -> str:
    """Return in words what a part of a score says, as it is kept in ``items.score_reasons``."""
    code = part["code"]
    if part.get("known") is False:
        return _UNKNOWN.get(code, "Nothing is known of it.")
    if code == "interest":
        near = _grade(part["value"], "Near to", "Somewhat near to", "Far from")
        return f'{near} your interest "{part["about"]}" (likeness {part["cosine"]:.2f}).'
    if code == "history":
        alike = _grade(part["value"], "Much like", "Somewhat like", "Little like")
        return f"{alike} the {_many(part['liked'], 'item')} that you starred or read (likeness {part['cosine']:.2f})."
    return _topics(part) if code == "topics" else _source(part)


def _topics(part: Mapping[str, Any]) -> str:
    whose = "Its source mostly writes" if part["by"] == "source" else "It is"
    if "topic" in part:
        return f"{whose} about {part['topic']}, {_why(part['value'], by_interests=part['why'] == 'interests')}."
    if not part["topics"]:
        return "It is about none of the topics."
    return f"{whose} about {', '.join(part['topics'])}, which neither your interests nor your history name."


def _why(value: float, *, by_interests: bool) -> str:
    """Return why a topic counts as much as it does: nothing is claimed that the value does not bear."""
    if by_interests:
        named, touched, none = (
            "which your interests name",
            "which your interests touch",
            "which has little to do with your interests",
        )
    else:
        named = "which you read more of than of all else"
        touched, none = "which you read a little more of than of all else", "which you read about as often as all else"
    return _grade(value, named, touched, none)


def _source(part: Mapping[str, Any]) -> str:
    if part.get("saved"):
        return "You saved it yourself."
    starred, brought = part["starred"], _many(part["brought"], "item")
    opened = starred + part["read"]
    often = "more often than" if part["value"] > 0.5 else "less often than" if part["value"] < 0.5 else "as often as"
    return f"You opened {opened} of the last {brought} that its source brought, {starred} with a star: {often} usual."


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
