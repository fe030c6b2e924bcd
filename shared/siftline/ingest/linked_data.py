"""What a page says of its article in JSON-LD (schema.org), read leniently: other people write it by hand."""

import json
import re
from collections.abc import Iterator
from typing import Any

from lxml import html

_MAX_CHARS = 1_000_000
_MAX_DEPTH = 8
_ARTICLE = re.compile(r"(?:Article|Posting|Report|Review|Recipe|Essay)$")
_FENCE = re.compile(r"^\s*(?:<!--|//\s*<!\[CDATA\[|/\*\s*<!\[CDATA\[\s*\*/|<!\[CDATA\[)|(?://\s*)?(?:\]\]>|-->)\s*$")

Node = dict[str, Any]


def article_node(root: html.HtmlElement) -> Node:
    """Return the first node that describes an article, else a video, else an empty one."""
    nodes = [node for script in root.iter("script") if _is_linked_data(script) for node in _nodes(script.text or "")]
    for wanted in (lambda name: bool(_ARTICLE.search(name)), lambda name: name == "VideoObject"):
        for node in nodes:
            if any(wanted(name) for name in kinds(node)):
                return node
    return {}


def kinds(node: Node) -> list[str]:
    """Return a node's types without their vocabulary's address."""
    value = node.get("@type")
    names = value if isinstance(value, list) else [value]
    return [name.rsplit("/", 1)[-1] for name in names if isinstance(name, str)]


def text_of(value: Any, *, key: str = "name") -> str | None:
    """Return a value's text: itself, its ``key``, or those of its members joined by a comma."""
    if isinstance(value, str):
        return value
    if isinstance(value, dict):
        inner = value.get(key)
        return inner if isinstance(inner, str) else None
    if isinstance(value, list):
        texts = [text for member in value if not isinstance(member, list) and (text := text_of(member, key=key))]
        return ", ".join(dict.fromkeys(texts)) or None
    return None


def first_address(value: Any) -> str | None:
    """Return the first address of an image: a string, an ImageObject, or a list of them."""
    if isinstance(value, list):
        value = next(iter(value), None)
    return text_of(value, key="url")


def _is_linked_data(script: html.HtmlElement) -> bool:
    kind: str = script.get("type", "")
    return kind.split(";", maxsplit=1)[0].strip().lower() == "application/ld+json"


def _nodes(text: str) -> Iterator[Node]:
    if len(text) > _MAX_CHARS:
        return
    try:
        value = json.loads(_FENCE.sub("", text), strict=False)
    except (ValueError, RecursionError):
        return
    yield from _walk(value, 0)


def _walk(value: Any, depth: int) -> Iterator[Node]:
    """Yield a node, then what it is about; graphs and lists are only containers."""
    if depth > _MAX_DEPTH:
        return
    if isinstance(value, list):
        for member in value:
            yield from _walk(member, depth + 1)
    elif isinstance(value, dict):
        yield value
        for key in ("@graph", "mainEntity", "mainEntityOfPage", "hasPart"):
            yield from _walk(value.get(key), depth + 1)
