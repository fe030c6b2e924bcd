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
