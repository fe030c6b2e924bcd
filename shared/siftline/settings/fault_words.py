"""What is wrong with a value, in words for people in place of pydantic's."""

from collections.abc import Mapping
from typing import Any

_OBJECT, _LIST, _NUMBER = "Must be a JSON object", "Must be a JSON list", "Must be a number"
_BOOLEAN, _WHOLE_NUMBER = "Must be true or false", "Must be a whole number"
_ID = "Must be an id (a UUID)"

_SENTENCES = {
    "bool_parsing": _BOOLEAN,
    "bool_type": _BOOLEAN,
    "dict_type": _OBJECT,
    "extra_forbidden": "Unknown field",
    "finite_number": _NUMBER,
    "float_parsing": _NUMBER,
    "float_type": _NUMBER,
    "greater_than": "Must be greater than {gt}",
    "greater_than_equal": "At least {ge}",
    "int_from_float": _WHOLE_NUMBER,
    "int_parsing": _WHOLE_NUMBER,
    "int_parsing_size": _WHOLE_NUMBER,
    "int_type": _WHOLE_NUMBER,
    "less_than": "Must be less than {lt}",
    "less_than_equal": "At most {le}",
    "list_type": "Must be a list",
    "missing": "Missing",
    "model_attributes_type": _OBJECT,
    "model_type": _OBJECT,
    "none_required": "Must be null or omitted",
    "string_too_long": "At most {max_length} characters",
    "string_too_short": "At least {min_length} characters",
    "string_type": "Must be a string",
    "too_long": "At most {max_length} entries",
    "too_short": "At least {min_length} entries",
    "tuple_type": _LIST,
    "union_tag_invalid": "{discriminator} must be one of {expected_tags}",
    "union_tag_not_found": "{discriminator} is missing",
    "uuid_parsing": _ID,
    "uuid_type": _ID,
}
"""By pydantic's type of a fault; the names in braces are facts that it tells."""


def facts_of(fault: Mapping[str, Any]) -> dict[str, str]:
    """Return the facts that pydantic tells of a fault, as text."""
    return {name: str(fact).replace("'", "").removesuffix(".0") for name, fact in (fault.get("ctx") or {}).items()}


def sentence(fault: Mapping[str, Any]) -> str:
    """Return what is wrong, without the value itself (a validator of ours says it in its own words)."""
    kind, facts = str(fault["type"]), facts_of(fault)
    if kind in {"enum", "literal_error"}:
        return f"Must be {facts['expected']}"
    if facts.get("min_length") == "1" and kind in {"too_short", "string_too_short"}:
        return "Must not be empty"
    if kind in _SENTENCES:
        return _SENTENCES[kind].format_map(facts)
    return str(fault.get("msg", "Invalid value")).removeprefix("Value error, ")
