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
_IN_WORDS = "What it is about, by language (ISO 639): the name, then a list of things, parted by commas"


class OwnTopic(Asked):
    """A topic of one's own."""

    id: TopicId = Field(description="Yours; that of a default topic takes its place", examples=["seafaring"])
    descriptions: dict[str, Description] = Field(
        description=_IN_WORDS, min_length=1, max_length=LANGUAGES_MAX, examples=[{"en": "Seafaring: ports, ferries"}]
    )
    examples: dict[str, list[Example]] = Field(
        default={},
        description=f"Texts that belong there, by language; at most {EXAMPLES_MAX} in all",
        max_length=LANGUAGES_MAX,
        examples=[{"en": ["Two ferries collided in fog off the harbour wall."]}],
    )


Topics = Annotated[list[OwnTopic], Field(max_length=TOPICS_MAX)]


class ChangeTopics(Asked):
    """All topics of one's own, replacing those before."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"topics": [{"id": "seafaring", "descriptions": {"en": "Seafaring: ports"}}]}]}
    )

    topics: Topics = Field(description="None of them: your own topics, and what they found, are gone")


class ChangeSourceTopics(Asked):
    """What counts for what one source brings, replacing what was said before."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"only": ["sport", "politics"]}]})

    only: Annotated[list[TopicId], Field(min_length=1, max_length=100)] | None = Field(
        default=None,
        description="Only these topics count there, default ones or your own, and stand in place of the shared ones; "
        "null: all",
    )
    topics: Topics = Field(default=[], description="Topics of your own that are for this source only")


class DefaultTopic(BaseModel):
    """A topic that everybody's texts are sorted into."""

    id: str = Field(examples=["politics"])
    descriptions: dict[str, str] = Field(description="What it is about, by language")


class TopicsView(BaseModel):
    """The topics by which the caller's items are sorted."""

    default: list[DefaultTopic] = Field(description="Everybody's; empty until the first text has been analysed")
    own: list[OwnTopic] = Field(description="The caller's own")
    updated_at: datetime | None = Field(description="When the caller's own were changed last")
    pending: int = Field(description="How many of the caller's items are still to be compared with their topics")
    notice: Cause | None = Field(description="Why the caller's own topics find nothing; null: they are compared")


class SourceTopicsView(BaseModel):
    """What counts for what one source brings the caller."""

    only: list[str] | None = Field(description="Only these topics count; null: all")
    topics: list[OwnTopic] = Field(description="The caller's own topics for this source")
    unknown: list[str] = Field(
        description="Those of `only` that there are no more, among the default topics and the caller's own: they count "
        "nothing, and where there is no other, all topics count"
    )
    notice: Cause | None = Field(description="Why what is said here does not count, or not all of it; null: it does")
    updated_at: datetime | None


def faults_of(topics: Sequence[OwnTopic]) -> Iterator[Fault]:
    """Yield what no single field can say is wrong: ids twice, what is no language or no words, too many examples."""
    ids = [topic.id for topic in topics]
    for place, topic in enumerate(topics):
        there = f"#/topics/{place}"
        if topic.id in ids[:place]:
            yield Fault(code="duplicate_topic", detail="There is another topic of this id", pointer=f"{there}/id")
        for language, text in topic.descriptions.items():
            if not any(map(str.isalpha, text)):
                pointer = f"{there}/descriptions/{_step(language)}"
                yield Fault(code="no_letter", detail="A description needs a letter", pointer=pointer)
        for name, languages in (("descriptions", topic.descriptions), ("examples", topic.examples)):
            for language in languages:
                if not _LANGUAGE.fullmatch(language):
                    detail = "Languages are named by ISO 639: two or three small letters"
                    yield Fault(code="invalid_language", detail=detail, pointer=f"{there}/{name}/{_step(language)}")
        if sum(map(len, topic.examples.values())) > EXAMPLES_MAX:
            detail = f"At most {EXAMPLES_MAX} examples of a topic, in all languages together"
            yield Fault(code="too_many_examples", detail=detail, pointer=f"{there}/examples")


def _step(name: str) -> str:
    return name[:64].replace("~", "~0").replace("/", "~1")
