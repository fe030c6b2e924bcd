"""A user's own topics as the API takes and shows them."""

import re
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from siftline.api.http.problems import Fault
from siftline.api.http.shapes import Asked, Cause

TOPICS_MAX = 30
"""Topics of one set."""
LANGUAGES_MAX = 8
EXAMPLES_MAX = 8
"""Of one topic, in all languages together."""
_LANGUAGE = re.compile(r"[a-z]{2,3}")

TopicId = Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9_-]{0,63}$")]
Description = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=500)]
Example = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=600)]
_IN_WORDS = "Description by language (ISO 639): the name, then a comma-separated list of things it covers"


class OwnTopic(Asked):
    """One of your own topics."""

    id: TopicId = Field(
        description="Your own id; the id of a default topic overrides that topic", examples=["seafaring"]
    )
    descriptions: dict[str, Description] = Field(
        description=_IN_WORDS, min_length=1, max_length=LANGUAGES_MAX, examples=[{"en": "Seafaring: ports, ferries"}]
    )
    examples: dict[str, list[Example]] = Field(
        default={},
        description=f"Example texts by language; at most {EXAMPLES_MAX} in total",
        max_length=LANGUAGES_MAX,
        examples=[{"en": ["Two ferries collided in fog off the harbour wall."]}],
    )


Topics = Annotated[list[OwnTopic], Field(max_length=TOPICS_MAX)]


class ChangeTopics(Asked):
    """All your own topics; replaces existing ones."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"topics": [{"id": "seafaring", "descriptions": {"en": "Seafaring: ports"}}]}]}
    )

    topics: Topics = Field(description="An empty list deletes your own topics and their results")


class ChangeSourceTopics(Asked):
    """The topics that apply to one source; replaces existing settings."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"only": ["sport", "politics"]}]})

    only: Annotated[list[TopicId], Field(min_length=1, max_length=100)] | None = Field(
        default=None,
        description="Only these topics apply there, default ones or your own, and replace the shared ones; "
        "null: all topics",
    )
    topics: Topics = Field(default=[], description="Your own topics for this source only")


class DefaultTopic(BaseModel):
    """A topic used for all users."""

    id: str = Field(examples=["politics"])
    descriptions: dict[str, str] = Field(description="Description by language")


class TopicsView(BaseModel):
    """The topics your items are classified by."""

    default: list[DefaultTopic] = Field(description="Default topics; empty until the first text has been analysed")
    own: list[OwnTopic] = Field(description="Your own topics")
    updated_at: datetime | None = Field(description="When your own topics were last changed")
    pending: int = Field(description="Number of your items not yet compared with your own topics")
    notice: Cause | None = Field(description="Why your own topics are not compared; null: they are")


class SourceTopicsView(BaseModel):
    """The topics that apply to one of your sources."""

    only: list[str] | None = Field(description="Only these topics apply; null: all topics")
    topics: list[OwnTopic] = Field(description="Your own topics for this source")
    unknown: list[str] = Field(
        description="Topics in `only` that no longer exist, neither as a default topic nor as your own: they are "
        "ignored, and if no other is left, all topics apply"
    )
    notice: Cause | None = Field(description="Why these settings do not apply, or only in part; null: they apply")
    updated_at: datetime | None


def faults_of(topics: Sequence[OwnTopic]) -> Iterator[Fault]:
    """Yield what no single field can say is wrong: ids twice, what is no language or no words, too many examples."""
    ids = [topic.id for topic in topics]
    for place, topic in enumerate(topics):
        there = f"#/topics/{place}"
        if topic.id in ids[:place]:
            yield Fault(code="duplicate_topic", detail="Another topic has this id", pointer=f"{there}/id")
        for language, text in topic.descriptions.items():
            if not any(map(str.isalpha, text)):
                pointer = f"{there}/descriptions/{_step(language)}"
                yield Fault(code="no_letter", detail="A description must contain a letter", pointer=pointer)
        for name, languages in (("descriptions", topic.descriptions), ("examples", topic.examples)):
            for language in languages:
                if not _LANGUAGE.fullmatch(language):
                    detail = "Must be an ISO 639 language code: two or three lower-case letters"
                    yield Fault(code="invalid_language", detail=detail, pointer=f"{there}/{name}/{_step(language)}")
        if sum(map(len, topic.examples.values())) > EXAMPLES_MAX:
            detail = f"At most {EXAMPLES_MAX} examples per topic, across all languages"
            yield Fault(code="too_many_examples", detail=detail, pointer=f"{there}/examples")


def _step(name: str) -> str:
    return name[:64].replace("~", "~0").replace("/", "~1")
