"""Wikidata: organisations by name (MediaWiki action API, ``wbsearchentities`` and ``wbgetentities``).

Whether an item is one its statements tell: an organisation has a headquarters, a legal form, an industry or the like.
So the fruit is not taken for the company.
"""

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlencode

from pydantic import BaseModel, ConfigDict, Field

from siftline.kit.errors import TransientError
from siftline.resolve.providers import Asking
from siftline.resolve.temporary import Candidate, Temporary

_LIMIT = 10
# Headquarters, legal form, industry, chief executive, stock exchange, parent, subsidiary, employees, members, home
# venue, head coach, political alignment, LEI.
_OF_ORGANISATIONS = frozenset(
    ("P159", "P1454", "P452", "P169", "P414", "P749", "P355", "P1128", "P2124", "P115", "P286", "P1387", "P1278")
)
_INSTANCE_OF, _HUMAN = "P31", "Q5"


class WikidataBusyError(TransientError):
    """Wikidata asks for patience in the body of its answer (``maxlag``, ``ratelimited``)."""

    code = "wikidata_busy"


class _Shape(BaseModel):
    model_config = ConfigDict(extra="ignore")

    error: Mapping[str, Any] | None = None


class _Hit(_Shape):
    id: str = Field(pattern=r"^Q[0-9]+$")


class _Hits(_Shape):
    search: list[_Hit] = []


class _Text(_Shape):
    value: str


class _Datavalue(_Shape):
    value: Any = None

    @property
    def id(self) -> str | None:
        """The item's id, where the value is an item."""
        return self.value.get("id") if isinstance(self.value, dict) else None


class _Snak(_Shape):
    datavalue: _Datavalue | None = None


class _Claim(_Shape):
    mainsnak: _Snak


class _Item(_Shape):
    labels: dict[str, _Text] = {}
    aliases: dict[str, list[_Text]] = {}
    claims: dict[str, list[_Claim]] = {}


class _Items(_Shape):
    entities: dict[str, _Item] = {}


class Wikidata:
    """Asks for organisations of a name: two requests a question; their ids are ``wikidata:`` and the item's."""

    name = "wikidata"

    def __init__(self, asking: Asking, url: str) -> None:
        self._asking = asking
        self._url = url.rstrip("/")

    def search(self, wanted: Temporary) -> Sequence[Candidate]:
        """Return the organisations that have this name, in the languages of the texts or in English."""
        language = wanted.languages[0] if wanted.languages else "en"
        hits = self._get(
            {
                "action": "wbsearchentities",
                "search": wanted.name,
                "language": language,
                "uselang": language,
                "type": "item",
                "limit": _LIMIT,
            },
            _Hits,
        )
        if not hits.search:
            return []
        ids = [hit.id for hit in hits.search]
        asked = {"action": "wbgetentities", "ids": "|".join(ids), "props": "labels|aliases|claims"}
        items = self._get({**asked, "languages": f"{language}|en|mul"}, _Items)
        return [
            _candidate(id_, items.entities[id_])
            for id_ in ids
            if id_ in items.entities and _is_organisation(items.entities[id_])
        ]

    def _get(self, query: Mapping[str, object], shape: "type[_Hits | _Items]") -> Any:
        url = f"{self._url}/w/api.php?{urlencode({**query, 'format': 'json', 'formatversion': 2})}"
        answer = self._asking.get(url, "application/json", shape)
        if answer.error is not None:
            raise WikidataBusyError("Wikidata could not answer at the moment.")
        return answer


def _is_organisation(item: _Item) -> bool:
    if not _OF_ORGANISATIONS & item.claims.keys():
        return False
    kinds = (claim.mainsnak.datavalue for claim in item.claims.get(_INSTANCE_OF, []))
    return not any(isinstance(kind, _Datavalue) and kind.id == _HUMAN for kind in kinds)


def _candidate(id_: str, item: _Item) -> Candidate:
    names = [*(text.value for text in item.labels.values())]
    names += [text.value for texts in item.aliases.values() for text in texts]
    distinct = tuple(dict.fromkeys(names)) or (id_,)
    return Candidate(f"wikidata:{id_}", distinct[0], distinct[1:])
