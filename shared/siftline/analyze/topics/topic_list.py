"""Which topics there are, as data: ``data/topics.toml`` or a file of one's own in the same form."""

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints, TypeAdapter, ValidationError

from siftline.kit.errors import ConfigurationError

# Colons, semicolons and commas of Latin, Chinese and Japanese writing, and what joins the last two of a list.
_SEPARATOR = re.compile(r"\s*[:;,\uff1a\uff1b\uff0c\u3001]\s*|\s+(?:and|und|et|y|e|en|och|og|и)\s+", re.IGNORECASE)
_LANGUAGE = r"^[a-z]{2,3}$"

Language = Annotated[str, StringConstraints(pattern=_LANGUAGE)]
_OTHER_FORM = frozenset({"string_type", "list_type"})
"""What is wrong with a text as a list, or with a list as a text: not what is wrong with it."""


def _in_words(text: str) -> str:
    if not any(map(str.isalpha, text)):
        raise ValueError("must contain a letter")
    if "\0" in text:
        raise ValueError("must not contain U+0000")
    return text


Words = Annotated[
    str, StringConstraints(strip_whitespace=True, min_length=1, max_length=2_000), AfterValidator(_in_words)
]


class TopicsFileError(ConfigurationError):
    """The file of topics cannot be read or does not say what topics need."""

    code = "topics_file_invalid"
    provider = "topics"


@dataclass(frozen=True, slots=True)
class Label:
    """A topic: its id, what it is about (terms by language) and texts that belong there (examples by language)."""

    id: str
    terms: Mapping[str, tuple[str, ...]]
    examples: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class LabelSet:
    """All topics; at least two, their ids different."""

    labels: tuple[Label, ...]

    @property
    def ids(self) -> tuple[str, ...]:
        """The topics' ids, in the file's order."""
        return tuple(label.id for label in self.labels)

    @property
    def languages(self) -> tuple[str, ...]:
        """The languages in which every topic is described, sorted."""
        return tuple(sorted(set.intersection(*(set(label.terms) for label in self.labels))))


class _Topic(BaseModel):
    model_config = ConfigDict(extra="allow", frozen=True)
    __pydantic_extra__: dict[Language, Words | Annotated[list[Words], Field(min_length=1)]] = Field(init=False)

    id: str = Field(pattern=r"^[a-z0-9][a-z0-9_-]{0,63}$")
    examples: dict[Language, list[Words]] = Field(default_factory=dict)


class _TopicsFile(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    topics: list[_Topic] = Field(min_length=2, max_length=500)


_NEWS: TypeAdapter[dict[Language, list[Words]]] = TypeAdapter(dict[Language, list[Words]])
_HYPOTHESES: TypeAdapter[dict[Language, Words]] = TypeAdapter(dict[Language, Words])


def terms_of(description: str) -> tuple[str, ...]:
    """Split a description into the things it names.

    Read one by one and averaged they place a topic better than the sentence does (e5-small, centred: English .80
    against .77, French .79 against .72 of articles right).

    >>> terms_of("sports news: football, athletics and players")
    ('sports news', 'football', 'athletics', 'players')
    """
    return tuple(part for part in _SEPARATOR.split(description.strip()) if part)


def labels_of(descriptions: Mapping[str, str], language: str = "en") -> LabelSet:
    """Return topics that are described in one language only."""
    return LabelSet(tuple(Label(name, {language: terms_of(text)}) for name, text in descriptions.items()))


def load_labels(file: Path) -> LabelSet:
    """Read a file of topics; raises ``TopicsFileError``."""
    try:
        return _parse(file.read_text(encoding="utf-8"), str(file))
    except (OSError, UnicodeDecodeError) as error:
        raise TopicsFileError(f"The file of topics {file} cannot be read.") from error


@cache
def shipped_labels() -> LabelSet:
    """Return the topics that come with Siftline."""
    return _parse(_shipped("topics.toml"), "topics.toml")


@cache
def shipped_news() -> Mapping[str, tuple[str, ...]]:
    """Return the average news that come with Siftline: short texts by language."""
    news = _NEWS.validate_python(tomllib.loads(_shipped("news.toml")))
    return {language: tuple(texts) for language, texts in news.items()}


@cache
def shipped_hypotheses() -> Mapping[str, str]:
    """Return how a topic is put to a model of inference, by language; ``{}`` stands for the topic's words."""
    return _HYPOTHESES.validate_python(tomllib.loads(_shipped("hypotheses.toml")))


def _shipped(name: str) -> str:
    return (files("siftline.analyze.topics") / "data" / name).read_text(encoding="utf-8")


def _parse(text: str, name: str) -> LabelSet:
    try:
        topics = _TopicsFile.model_validate(tomllib.loads(text)).topics
    except tomllib.TOMLDecodeError as error:
        raise TopicsFileError(f"{name} is not valid TOML: {error}.") from error
    except ValidationError as error:
        faults: list[Any] = error.errors(include_url=False, include_input=False)
        fault = next((one for one in faults if one["type"] not in _OTHER_FORM), faults[0])
        place = ".".join(str(part) for part in fault["loc"])
        raise TopicsFileError(f"{name}, {place}: {fault['msg']}.") from error
    labels = LabelSet(tuple(_label(topic) for topic in topics))
    twice = [name for name in labels.ids if labels.ids.count(name) > 1]
    if twice:
        raise TopicsFileError(f"{name} defines the topic {twice[0]} more than once.")
    if not labels.languages:
        raise TopicsFileError(f"{name} must describe all topics in at least one common language.")
    return labels


def _label(topic: _Topic) -> Label:
    described: Mapping[str, str | list[str]] = topic.model_extra or {}
    terms = {language: _terms(said) for language, said in described.items()}
    return Label(topic.id, terms, {language: tuple(texts) for language, texts in topic.examples.items() if texts})


def _terms(said: str | Sequence[str]) -> tuple[str, ...]:
    return terms_of(said) if isinstance(said, str) else tuple(said)
