"""What was stored without a fixed shape, read for what it should be.

A newer release, before somebody went back to this one, or a damaged row leaves what this code does not understand: only
that is left out.
"""

from functools import lru_cache
from typing import Any, TypeVar

from pydantic import TypeAdapter, ValidationError

_Kind = TypeVar("_Kind")


def readable(kind: type[_Kind], stored: object) -> _Kind | None:
    """Return a stored value as what it should be; ``None`` if it is none.

    >>> readable(float, 1.5), readable(float, "long"), readable(float, None)
    (1.5, None, None)
    """
    hashable: Any = kind
    try:
        read: _Kind = _adapter(hashable).validate_python(stored)
    except ValidationError:
        return None
    return read


def all_readable(kind: type[_Kind], stored: object) -> list[_Kind]:
    """Return those entries of a stored list that are what they should be; of what is no list, none.

    >>> all_readable(str, ["a", 7, "b"]), all_readable(str, {"a": 1})
    (['a', 'b'], [])
    """
    entries = stored if isinstance(stored, list) else []
    return [read for entry in entries if (read := readable(kind, entry)) is not None]


@lru_cache(maxsize=64)
def _adapter(kind: Any) -> TypeAdapter[Any]:
    return TypeAdapter(kind)
