"""Qdrant's JSON, as its REST interface speaks it, to the objects of Qdrant's engine; what is not known here is refused.

See Qdrant's documentation, "Filtering" and "Points".
"""

import math
from collections.abc import Callable
from typing import Any
from uuid import UUID

import qdrant_edge as edge

PointId = int | UUID


class RefusedError(Exception):
    """A request that cannot be served; ``status`` is the HTTP status, the message what Qdrant's error carries."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.message = message


def wrong(message: str) -> RefusedError:
    """Return what Qdrant answers to input it cannot use."""
    return RefusedError(400, f"Wrong input: {message}")


def point_id(raw: Any) -> PointId:
    """Read a point's id: an unsigned integer or a UUID."""
    if isinstance(raw, int) and not isinstance(raw, bool) and 0 <= raw < 2**64:
        return raw
    if isinstance(raw, str):
        try:
            return UUID(raw)
        except ValueError:
            pass
    raise RefusedError(
        400, f"Format error in JSON body: value {raw} is not a valid point ID, "
        "valid values are either an unsigned integer or a UUID"
    )  # fmt: skip


def point_ids(raw: Any) -> list[PointId]:
    """Read a list of ids."""
    if not isinstance(raw, list):
        raise RefusedError(400, "Format error in JSON body: a list of point IDs is expected")
    return [point_id(one) for one in raw]


def vector(raw: Any, size: int) -> list[float]:
    """Read a dense vector of ``size`` finite numbers."""
    if not isinstance(raw, list) or not all(isinstance(x, int | float) and not isinstance(x, bool) for x in raw):
        raise RefusedError(400, "Format error in JSON body: the vector is not a list of numbers")
    if len(raw) != size:
        raise wrong(f"Vector dimension error: expected dim: {size}, got {len(raw)}")
    if not all(math.isfinite(x) for x in raw):
        raise wrong("Vector components must be finite numbers")
    return [float(x) for x in raw]


def point(raw: Any, size: int) -> edge.Point:
    """Read a point with its unnamed vector and its payload."""
    if not isinstance(raw, dict) or "id" not in raw or "vector" not in raw:
        raise RefusedError(400, "Format error in JSON body: a point has an `id` and a `vector`")
    payload = raw.get("payload")
    if payload is not None and not isinstance(payload, dict):
        raise RefusedError(400, "Format error in JSON body: a payload is an object")
    return edge.Point(point_id(raw["id"]), vector(raw["vector"], size), payload)


def payload_selector(raw: Any, *, default: bool) -> Any:
    """Read ``with_payload``: a flag, a list of keys, or ``{"include": …}`` / ``{"exclude": …}``."""
    if raw is None:
        return default
    if isinstance(raw, bool | list):
        return raw
    if isinstance(raw, dict) and isinstance(raw.get("include"), list):
        return edge.PayloadSelector.Include(raw["include"])
    if isinstance(raw, dict) and isinstance(raw.get("exclude"), list):
        return edge.PayloadSelector.Exclude(raw["exclude"])
    raise RefusedError(400, "Format error in JSON body: with_payload is not understood")


def filter_of(raw: Any) -> edge.Filter | None:
    """Read a filter: ``must``, ``should``, ``must_not`` and ``min_should`` over conditions."""
    if raw is None:
        return None
    if not isinstance(raw, dict):
        raise RefusedError(400, "Format error in JSON body: a filter is an object")
    unknown = set(raw) - {"must", "should", "must_not", "min_should"}
    if unknown:
        raise RefusedError(400, f"Format error in JSON body: unknown field `{min(unknown)}` in a filter")
    least = raw.get("min_should")
    return edge.Filter(
        must=_conditions(raw.get("must")),
        should=_conditions(raw.get("should")),
        must_not=_conditions(raw.get("must_not")),
        min_should=None if least is None else edge.MinShould(_conditions(least["conditions"]), least["min_count"]),
    )


def _conditions(raw: Any) -> Any:
    if raw is None:
        return None
    return [_condition(one) for one in (raw if isinstance(raw, list) else [raw])]


def _condition(raw: Any) -> Any:
    if not isinstance(raw, dict):
        raise RefusedError(400, "Format error in JSON body: a condition is an object")
    for name, build in _CONDITIONS.items():
        if name in raw:
            try:
                return build(raw)
            except (TypeError, KeyError, ValueError) as error:
                raise RefusedError(400, f"Format error in JSON body: condition `{name}`: {error}") from error
    if {"must", "should", "must_not", "min_should"} & set(raw):
        return filter_of(raw)
    raise RefusedError(400, f"Format error in JSON body: condition {sorted(raw)} is not served here")


def _field(raw: dict[str, Any]) -> edge.FieldCondition:
    unknown = {name for name, value in raw.items() if value is not None} - {"key", "match", "range"}
    if unknown or len([name for name in ("match", "range") if raw.get(name) is not None]) != 1:
        raise ValueError("exactly one of `match` and `range` is served here")
    if raw.get("match") is not None:
        return edge.FieldCondition(raw["key"], match=_match(raw["match"]))
    bounds = {name: value for name, value in raw["range"].items() if value is not None}
    dates = any(isinstance(value, str) for value in bounds.values())
    return edge.FieldCondition(raw["key"], range=edge.RangeDateTime(**bounds) if dates else edge.RangeFloat(**bounds))


def _match(raw: dict[str, Any]) -> Any:
    [(kind, value)] = raw.items()
    kinds: dict[str, Callable[[Any], Any]] = {
        "value": edge.MatchValue,
        "any": edge.MatchAny,
        "except": edge.MatchExcept,
        "text": edge.MatchText,
    }
    return kinds[kind](value)


_CONDITIONS: dict[str, Callable[[dict[str, Any]], Any]] = {
    "has_id": lambda raw: edge.HasIdCondition(set(point_ids(raw["has_id"]))),
    "key": _field,
    "is_empty": lambda raw: edge.IsEmptyCondition(raw["is_empty"]["key"]),
    "is_null": lambda raw: edge.IsNullCondition(raw["is_null"]["key"]),
}


def whole_number(body: dict[str, Any], name: str, default: int, *, least: int = 0) -> int:
    """Read a whole number of at least ``least``; absent or null means ``default``."""
    value = body.get(name)
    if value is None:
        return default
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise RefusedError(422, f"Validation error in JSON body: [{name}: value {value} invalid, must be >= {least}]")
    return value
