"""Topics with their scores as they are stored, whatever stands there."""

import math
from typing import Any


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
        {**one, "score": _number(one.get("score"))}
        for one in stored
        if isinstance(one, dict) and isinstance(one.get("topic"), str)
    ]


def _number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return 0.0
    try:
        number = float(value)
    except OverflowError:
        return 0.0
    return number if math.isfinite(number) else 0.0
