"""CloudWatch's arithmetic of alarms, as its User Guide describes it, for what our templates use of it.

"Evaluating an alarm" and "Configuring how CloudWatch alarms treat missing data": the statistic of each period, the
newest periods of which must breach, and what takes the place of a period without data. How far CloudWatch looks back
beyond the evaluation periods it does not say; the guide's own examples look at two more.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

LOOKS_BACK = 2
Points = Sequence[tuple[float, float]]
"""When something was measured, in seconds, and the value."""
_STATISTICS: Mapping[str, Callable[[Sequence[float]], float]] = {
    "Average": lambda values: sum(values) / len(values),
    "Maximum": max,
    "Minimum": min,
    "SampleCount": len,
    "Sum": sum,
}
_BREACHES: Mapping[str, Callable[[float, float], bool]] = {
    "GreaterThanThreshold": lambda value, threshold: value > threshold,
    "LessThanThreshold": lambda value, threshold: value < threshold,
}


def state(alarm: Mapping[str, Any], points: Points, now_s: float) -> str:
    """Return an alarm's state after the periods that have ended."""
    length, wanted = alarm["Period"], alarm["EvaluationPeriods"]
    end_s = math.floor(now_s / length) * length
    periods = [end_s - length * back for back in range(wanted + LOOKS_BACK, 0, -1)]
    return judged(alarm, [_statistic(alarm, points, start_s) for start_s in periods])


def judged(alarm: Mapping[str, Any], periods: Sequence[float | None]) -> str:
    """Return the state after these periods' values, oldest first; ``None``: there were no data."""
    wanted = alarm["EvaluationPeriods"]
    needed = alarm.get("DatapointsToAlarm", wanted)
    breaches = _BREACHES[alarm["ComparisonOperator"]]
    real = [breaches(value, alarm["Threshold"]) for value in periods if value is not None]
    if len(real) >= wanted:
        return "ALARM" if sum(real[-wanted:]) >= needed else "OK"
    missing, treatment = wanted - len(real), alarm["TreatMissingData"]
    if treatment == "breaching":
        return "ALARM" if sum(real) + missing >= needed else "OK"
    if treatment == "notBreaching":
        return "ALARM" if sum(real) >= needed else "OK"
    raise ValueError(f"TreatMissingData {treatment} is used by no alarm of ours.")


def _statistic(alarm: Mapping[str, Any], points: Points, start_s: float) -> float | None:
    values = [value for at_s, value in points if start_s <= at_s < start_s + alarm["Period"]]
    if not values:
        return None
    if "ExtendedStatistic" in alarm:
        percent = float(alarm["ExtendedStatistic"].removeprefix("p"))
        return sorted(values)[math.ceil(percent / 100 * len(values)) - 1]
    return _STATISTICS[alarm["Statistic"]](values)
