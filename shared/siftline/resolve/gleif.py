"""GLEIF's register of legal entities: JSON:API records by legal name (documentation: GLEIF API, ``lei-records``)."""

from collections.abc import Sequence
from urllib.parse import urlencode

from pydantic import BaseModel, ConfigDict, Field

from siftline.resolve.providers import Asking
from siftline.resolve.temporary import Candidate, Temporary

_ACCEPT = "application/vnd.api+json"
_PAGE_SIZE = 20


class _Shape(BaseModel):
    model_config = ConfigDict(extra="ignore")


class _Name(_Shape):
    name: str


class _Address(_Shape):
    country: str | None = None


class _Entity(_Shape):
    legal_name: _Name = Field(alias="legalName")
    other_names: list[_Name] = Field(default=[], alias="otherNames")
    transliterated: list[_Name] = Field(default=[], alias="transliteratedOtherNames")
    legal_address: _Address = Field(default=_Address(), alias="legalAddress")


class _Attributes(_Shape):
    lei: str = Field(min_length=1)
    entity: _Entity


class _Record(_Shape):
    attributes: _Attributes


class _Records(_Shape):
    data: list[_Record]


class Gleif:
    """Asks for legal entities of a name: one request a question; their ids are ``lei:`` and the LEI (ISO 17442)."""

    name = "gleif"

    def __init__(self, asking: Asking, url: str) -> None:
        self._asking = asking
        self._url = url.rstrip("/")

    def search(self, wanted: Temporary) -> Sequence[Candidate]:
        """Return the entities of which the register finds the name."""
        query = urlencode({"filter[entity.legalName]": wanted.name, "page[size]": _PAGE_SIZE})
        found = self._asking.get(f"{self._url}/api/v1/lei-records?{query}", _ACCEPT, _Records)
        return [_candidate(record.attributes) for record in found.data]


def _candidate(attributes: _Attributes) -> Candidate:
    entity = attributes.entity
    country = entity.legal_address.country
    others = tuple(dict.fromkeys(one.name for one in (*entity.other_names, *entity.transliterated)))
    return Candidate(f"lei:{attributes.lei}", entity.legal_name.name, others, country.lower()[:2] if country else None)
