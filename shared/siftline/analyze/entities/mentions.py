"""Who a text is about: the mentions that a recogniser finds, gathered under the names they stand for."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import Protocol

from siftline.text.names import NAME_MAX_CHARS, normalise

_PLACE_FORMS = Path(__file__).parent / "data" / "place_forms.txt"


class Kind(StrEnum):
    """What a name names; the types of CoNLL-2003, without the rest class."""

    ORGANISATION = "ORG"
    PERSON = "PER"
    PLACE = "LOC"


@dataclass(frozen=True, slots=True)
class Mention:
    """A name as it stands in a text: characters ``start`` to ``end`` (exclusive)."""

    start: int
    end: int
    kind: Kind


class Recognizer(Protocol):
    """Finds the names in a text."""

    @property
    def model_id(self) -> str:
        """What finds them."""
        ...

    @property
    def model_version(self) -> str:
        """Goes up when other names are found in the same text."""
        ...

    def recognize(self, text: str, language: str | None) -> Sequence[Mention]:
        """Return the mentions in order, none overlapping another. ``language`` is ISO 639-1, if it is known."""
        ...


@dataclass(frozen=True, slots=True)
class Named:
    """One whom a text names: as it was written first, its normal form, and how often it is named.

    The normal form of a place that languages call otherwise is that of its English name: Peru, Perú and Pérou are one.
    """

    kind: Kind
    name: str
    normalised: str
    mentions: int


def named_in(text: str, recognizer: Recognizer, language: str | None, *, limit: int) -> tuple[Named, ...]:
    """Return whom a text names, the most often named first and in the order of the text among equals."""
    found: dict[tuple[Kind, str], list[str]] = {}
    for mention in recognizer.recognize(text, language):
        name = " ".join(text[mention.start : mention.end].split())
        normalised = normalise(name)
        if mention.kind is Kind.PLACE:
            normalised = _place_forms().get(normalised, normalised)
        if normalised and len(name) <= NAME_MAX_CHARS:
            found.setdefault((mention.kind, normalised), []).append(name)
    named = [Named(kind, names[0], normalised, len(names)) for (kind, normalised), names in found.items()]
    return tuple(sorted(named, key=lambda one: -one.mentions)[:limit])


@cache
def _place_forms() -> Mapping[str, str]:
    """Return the normal form of places' English names by those that other languages give them."""
    lines = _PLACE_FORMS.read_text(encoding="utf-8").splitlines()
    groups = [[normalise(name) for name in line.split("|")] for line in lines if not line.startswith("#")]
    return {form: names[0] for names in groups for form in names[1:]}
