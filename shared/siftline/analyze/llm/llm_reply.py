"""A language model's reply, checked: what it may hold at all, and never more of it than is wanted."""

import re
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from siftline.analyze.llm.llm_prompt import Question
from siftline.analyze.text.sentences import split_sentences
from siftline.kit.lines import line
from siftline.models.llm import Answer, Marks, json_object
from siftline.text.words import letters, without_spaces

_SUMMARY_LETTERS_MIN = 12
_TAG_CHARS_MAX = 60
_TAG_WORDS_MAX = 4
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff]")
"""What no text holds; PostgreSQL takes no NUL at all."""

Line = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=300)]


class UnusableReplyError(Exception):
    """A reply that is not what was asked for. ``fault`` is a sentence for the model, ``reason`` a word for us."""

    def __init__(self, reason: str, fault: str) -> None:
        super().__init__(fault)
        self.reason = reason
        self.fault = fault


class _Part(BaseModel):
    """What a model says beside what it was asked for counts nothing."""

    model_config = ConfigDict(extra="ignore", frozen=True)


class ReplyTopic(_Part):
    """A topic of the set, and how sure the model says it is."""

    topic: str
    confidence: float = Field(ge=0, le=1, allow_inf_nan=False)


class ReplyEntity(_Part):
    """A name, as it stands in the article, and what it is the name of."""

    name: Line
    type: Literal["organisation", "person", "place", "product", "work", "event"]


class Reply(_Part):
    """What the model says of an article."""

    topics: tuple[ReplyTopic, ...]
    summary: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=4_000)]
    tags: tuple[Line, ...]
    entities: tuple[ReplyEntity, ...]


class _Answer(Reply):
    receipt: str


def read_reply(answer: Answer, question: Question, marks: Marks) -> Reply:
    """Return an answer's reply with no more of anything than was asked for. Raises ``UnusableReplyError``."""
    if answer.cut_off:
        raise UnusableReplyError("cut_off", "it was cut off, as it is too long. Be much shorter.")
    if not answer.text.strip():
        raise UnusableReplyError("empty_reply", "it is empty.")
    said = json_object(answer.text, _Answer.model_fields)
    if said is None:
        raise UnusableReplyError("invalid_reply", "there is no JSON object in it.")
    try:
        found = _Answer.model_validate(said)
    except ValidationError as error:
        fault: Any = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(str(part) for part in fault["loc"]) or "the whole"
        raise UnusableReplyError("invalid_reply", f"{place}: {fault['msg']}.") from error
    if any(_CONTROL.search(said) for said in (found.summary, *found.tags, *(one.name for one in found.entities))):
        raise UnusableReplyError("invalid_reply", "there are control characters in it.")
    foreign = [topic.topic for topic in found.topics if topic.topic not in question.topics]
    if foreign:
        raise UnusableReplyError("unknown_topic", "topics: there are ids that the list does not have.")
    if found.receipt.strip() != marks.receipt:
        raise UnusableReplyError("no_receipt", "receipt: it is not the word that was given.")
    if letters(found.summary) < _SUMMARY_LETTERS_MIN:
        raise UnusableReplyError("empty_summary", "summary: it says nothing.")
    return _within_limits(found, question)


def _within_limits(found: Reply, question: Question) -> Reply:
    limits = question.limits
    topics = {topic.topic: topic for topic in reversed(found.topics)}
    tags = {_form(tag): None for tag in found.tags if len(tag) <= _TAG_CHARS_MAX and len(tag.split()) <= _TAG_WORDS_MAX}
    return Reply(
        topics=tuple(sorted(topics.values(), key=lambda topic: -topic.confidence)[: limits.topics]),
        summary=_cut(found.summary, question.language, limits.summary_chars),
        tags=tuple(tag for tag in tags if tag)[: limits.tags],
        entities=tuple(dict.fromkeys(found.entities))[: limits.entities],
    )


def _form(tag: str) -> str:
    """Return a tag in the form of ours: lower case, no hyphen, no number sign in front."""
    return line(tag.replace("-", " ").lstrip("#").lower())


def _cut(summary: str, language: str | None, chars_max: int) -> str:
    """Return as many whole sentences as fit; of a first one that is too long, what fits of it."""
    if len(summary) <= chars_max:
        return summary
    kept, gap = "", "" if without_spaces(summary) else " "
    for sentence in split_sentences(summary, language):
        longer = f"{kept}{gap}{sentence}".strip()
        if len(longer) > chars_max:
            break
        kept = longer
    return kept or summary[: chars_max - 1].rstrip() + "\u2026"
