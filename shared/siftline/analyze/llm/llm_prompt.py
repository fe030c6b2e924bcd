"""What a language model is asked about an article: ``data/prompt.toml``, filled in.

The article is data, fenced by a mark that its writer cannot know, and the answer must carry a word of ours.
"""

import hashlib
import json
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from siftline.models.llm import Marks, Message

TYPES = ("organisation", "person", "place", "product", "work", "event")
"""What a name in an article may be the name of."""


@dataclass(frozen=True, slots=True)
class ReplyLimits:
    """How much of each may be in a reply."""

    topics: int = 3
    tags: int = 6
    entities: int = 50
    summary_chars: int = 700


@dataclass(frozen=True, slots=True)
class Question:
    """One article, cut, and what is to be said of it: topics by id with what each is about, a language (ISO 639)."""

    title: str
    text: str
    language: str | None
    topics: Mapping[str, str]
    limits: ReplyLimits = ReplyLimits()

    def sha256(self) -> bytes:
        """Return what tells this question from every other that is asked in the same words."""
        limits = [self.limits.topics, self.limits.tags, self.limits.entities, self.limits.summary_chars]
        asked = [self.title, self.text, self.language, dict(self.topics), limits]
        return hashlib.sha256(json.dumps(asked, sort_keys=True).encode("utf-8")).digest()


@cache
def _prompt() -> Mapping[str, str]:
    return tomllib.loads((files("siftline.analyze.llm") / "data" / "prompt.toml").read_text(encoding="utf-8"))


def prompt_version() -> str:
    """Return the version of the words in which is asked."""
    return _prompt()["version"]


def messages_of(question: Question, marks: Marks) -> list[Message]:
    """Return the messages that ask a question."""
    limits = question.limits
    language = f"the language {question.language} (ISO 639)" if question.language else "the language of the article"
    system = _prompt()["system"].format(
        fence=marks.fence,
        receipt=marks.receipt,
        language=language,
        topics_max=limits.topics,
        tags_max=limits.tags,
        entities_max=limits.entities,
        summary_chars_max=limits.summary_chars,
        types=", ".join(TYPES),
        topics="\n".join(f"- {name}: {about}" for name, about in question.topics.items()),
    )
    user = _prompt()["user"].format(fence=marks.fence, title=question.title, text=question.text)
    return [{"role": "system", "content": system.strip()}, {"role": "user", "content": user.strip()}]


def repair_of(reply: str, fault: str) -> list[Message]:
    """Return the messages that ask once more, after a reply that could not be used."""
    asked = _prompt()["repair"].format(fault=fault)
    return [{"role": "assistant", "content": reply or "(nothing)"}, {"role": "user", "content": asked.strip()}]


def schema_of(topics: Sequence[str]) -> dict[str, Any]:
    """Return the JSON schema of an answer, in the subset that OpenAI's strict mode takes."""
    text = {"type": "string"}
    return _object(
        topics=_list(_object(topic={"type": "string", "enum": list(topics)}, confidence={"type": "number"})),
        summary=text,
        tags=_list(text),
        entities=_list(_object(name=text, type={"type": "string", "enum": list(TYPES)})),
        receipt=text,
    )


def _object(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": [*properties], "additionalProperties": False}


def _list(of: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": of}
