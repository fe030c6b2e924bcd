"""What a language model is asked about new clusters, and what of its answer may be used.

Titles are data that strangers wrote: fenced by a mark that they cannot know, without characters that nobody sees, and
left out where they speak to a machine. Nothing in the check asks the model: a label counts only if its words stand in
the cluster, and most of them in two of its contents at least, so that no single content names it.
"""

import re
import tomllib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from siftline.cluster.cluster_labels import Document
from siftline.kit.lines import line
from siftline.models.llm import Answer, Marks, Message, json_object
from siftline.text.machine_talk import ADDRESS, MARKUP, speaks_to_machines, visible
from siftline.text.words import stems_of

TITLES = 8
"""Titles of a cluster that are told at most, the most central ones."""
_TITLE_CHARS = 160
LABEL_CHARS = 60
_LABEL_WORDS = 8
_BORNE_MIN = 2 / 3
"""So much of a label's telling words must stand in two contents of its cluster at least."""
_LETTER = re.compile(r"[^\W\d_]")
_EDGES = " \t\n.,;:!?\"'`\u00ab\u00bb\u2018\u2019\u201c\u201d\u201e*_-\u2013\u2014"

SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {
        "labels": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"group": {"type": "integer"}, "label": {"type": "string"}},
                "required": ["group", "label"],
                "additionalProperties": False,
            },
        },
        "receipt": {"type": "string"},
    },
    "required": ["labels", "receipt"],
    "additionalProperties": False,
}
"""Of an answer, in the subset that OpenAI's strict mode takes."""


class UnusableLabelsError(Exception):
    """An answer of which nothing may be used; ``reason`` says why."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class _Label(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True)

    group: int
    label: Annotated[str, StringConstraints(strip_whitespace=True, max_length=300)]


class _Reply(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True)

    labels: tuple[_Label, ...] = Field(max_length=1_000)
    receipt: str


@dataclass(frozen=True, slots=True)
class Group:
    """A cluster to be named, by its most central contents."""

    documents: Sequence[Document]

    @property
    def language(self) -> str | None:
        """The language that most contents are in, as far as it is known."""
        counted = Counter(document.language for document in self.documents if document.language)
        return min(counted, key=lambda one: (-counted[one], one), default=None)

    def titles(self) -> list[str]:
        """Return what is told of it: titles on one line each, none that speaks to a machine."""
        titles = (line(visible(document.title)) for document in self.documents)
        told = dict.fromkeys(title[:_TITLE_CHARS] for title in titles if title and not speaks_to_machines(title))
        return [*told][:TITLES]


@cache
def _prompt() -> Mapping[str, str]:
    return tomllib.loads((files("siftline.cluster") / "data" / "prompt.toml").read_text(encoding="utf-8"))


def prompt_version() -> str:
    """Return the version of the words in which is asked."""
    return _prompt()["version"]


def messages_of(groups: Sequence[Group], marks: Marks) -> list[Message]:
    """Return the messages that ask for labels of these groups, which are counted from 1."""
    told = "\n\n".join(
        "\n".join(
            [
                f"Group {number}, language: {group.language or 'that of most titles'}",
                *(f"- {title}" for title in group.titles()),
            ]
        )
        for number, group in enumerate(groups, start=1)
    )
    system = _prompt()["system"].format(fence=marks.fence, receipt=marks.receipt, chars_max=LABEL_CHARS)
    user = _prompt()["user"].format(fence=marks.fence, groups=told)
    return [{"role": "system", "content": system.strip()}, {"role": "user", "content": user.strip()}]


def labels_of(answer: Answer, groups: Sequence[Group], marks: Marks) -> list[str | None]:
    """Return each group's label, or ``None`` where there is none that may be used. Raises ``UnusableLabelsError``."""
    if answer.refused or answer.cut_off:
        raise UnusableLabelsError("refused" if answer.refused else "cut_off")
    try:
        found = _Reply.model_validate(json_object(answer.text, _Reply.model_fields))
    except ValidationError as error:
        raise UnusableLabelsError("invalid_reply") from error
    if found.receipt.strip() != marks.receipt:
        raise UnusableLabelsError("no_receipt")
    if any(mark in one.label for mark in (marks.fence, marks.receipt) for one in found.labels):
        raise UnusableLabelsError("mark_told")
    said = {one.group: one.label for one in reversed(found.labels)}
    return [usable(said.get(number, ""), group) for number, group in enumerate(groups, start=1)]


def usable(label: str, group: Group) -> str | None:
    """Return a label in the form in which it is shown, or ``None`` where it is no label of this group.

    >>> bank = Group([Document(f"The central bank raises rates again, says {who}", "") for who in ("it", "Reuters")])
    >>> usable("Central bank raises rates.", bank), usable("Buy gold now", bank), usable("<b>Central bank</b>", bank)
    ('Central bank raises rates', None, None)
    """
    if (
        line(label) != " ".join(filter(None, label.split(" ")))
        or visible(label) != label
        or MARKUP.search(label)
        or ADDRESS.search(label)
    ):
        return None
    label = " ".join(label.strip(_EDGES).split())
    if not _LETTER.search(label) or len(label) > LABEL_CHARS or len(label.split()) > _LABEL_WORDS:
        return None
    if speaks_to_machines(label):
        return None
    told = stems_of(label)
    spread = Counter(stem for document in group.documents for stem in stems_of(f"{document.title}\n{document.text}"))
    often = sum(1 for stem in told if spread[stem] >= min(2, len(group.documents)))
    return label if told and often >= _BORNE_MIN * len(told) else None
