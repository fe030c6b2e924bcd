"""The JSON object in a language model's reply, whatever the model says around it.

Servers without schemas answer as people do: in a code fence, after their thoughts, with a sentence before or behind.
What is found is only found: whoever asked still checks it.
"""

import json
import re
from collections.abc import Collection, Iterator
from typing import Any

_DECODER = json.JSONDecoder(strict=False)
_BEGIN = re.compile(r"\{")
# The end of a model's thoughts; their beginning often stands in the prompt and not in the reply.
_THOUGHT = re.compile(
    r"</(?:think|thinking|thought|reasoning)>|<\|(?:message|end_of_thought)\|>|\[/THINK\]", re.IGNORECASE
)
_CHARS_MAX = 200_000
_TRIES_MAX = 2_000
"""Of a reply with more braces than this the rest is not looked at: each may be read to its end in vain."""


def json_object(text: str, keys: Collection[str]) -> dict[str, Any] | None:
    """Return the last object of a reply that has all ``keys``, else the first object; ``None`` where there is none.

    What a model says after its thoughts goes before what it drafts in them.

    >>> json_object('Sure:\\n```json\\n{"a": 1}\\n```\\nI hope {this} helps.', ["a"])
    {'a': 1}
    """
    text = text[:_CHARS_MAX]
    thoughts = [*_THOUGHT.finditer(text)]
    said = text[thoughts[-1].end() :] if thoughts else text
    found = _best(said, keys)
    # The mark may stand within the JSON itself, where an article is about such models.
    if thoughts and (found is None or not found.keys() >= set(keys)):
        found = _best(text, keys) or found
    return found


def _best(text: str, keys: Collection[str]) -> dict[str, Any] | None:
    best: dict[str, Any] | None = None
    for found in _objects(text, frozenset(keys)):
        if best is None or found.keys() >= set(keys):
            best = found
    return best


def _objects(text: str, keys: frozenset[str]) -> Iterator[dict[str, Any]]:
    """Yield the objects that stand in a text, in its order; within one that has all keys none is looked for."""
    at = 0
    for _ in range(_TRIES_MAX):
        begin = _BEGIN.search(text, at)
        if begin is None:
            return
        at = begin.end()
        try:
            found, end = _DECODER.raw_decode(text, begin.start())
        except (ValueError, RecursionError):
            continue
        if isinstance(found, dict):
            if found.keys() >= keys:
                at = end
            yield found
