"""Whom to ask who an organisation is: a CSV file of one's own, GLEIF's register of legal entities, and Wikidata."""

import csv
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Protocol, TypeVar
from urllib.parse import urlencode

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from siftline.kit.clock import Clock
from siftline.kit.db import Database
from siftline.kit.errors import ConfigurationError, NotTriedError, TransientError
from siftline.net.http import HttpClient
from siftline.net.http_model import Http, Requester, StatusRefusedError
from siftline.net.urls import typed_origin
from siftline.resolve import resolve_store
from siftline.resolve.matching import OrganisationCandidate, Temporary
from siftline.settings.functions import ResolveSettings
from siftline.text.names import normalise

_MAX_BYTES = 2_000_000
_LINE_MAX = 100_000  # characters; the limit of the csv module is the whole process's, and scipy lifts it
_REFUSED = frozenset({401, 403})
_HOUR, _DAY = timedelta(hours=1), timedelta(days=1)
Shape = TypeVar("Shape", bound=BaseModel)
_CSV = "The CSV file of names (ENTITY_CSV)"
_ACCEPT = "application/vnd.api+json"
_PAGE_SIZE = 20
_LIMIT = 10

# Headquarters, legal form, industry, chief executive, stock exchange, parent, subsidiary, employees, members, home
# venue, head coach, political alignment, LEI.
_OF_ORGANISATIONS = frozenset(
    ("P159", "P1454", "P452", "P169", "P414", "P749", "P355", "P1128", "P2124", "P115", "P286", "P1387", "P1278")
)

_INSTANCE_OF, _HUMAN = "P31", "Q5"


class ProviderRefusedError(ConfigurationError):
    """The provider does not let us in: it is left alone until an operator has looked."""

    code = "provider_refused"


class GleifRefusedError(ProviderRefusedError):
    """GLEIF answered 401 or 403."""

    provider = "gleif"


class WikidataRefusedError(ProviderRefusedError):
    """Wikidata answered 401 or 403."""

    provider = "wikidata"


class NamesFileError(ConfigurationError):
    """The CSV file is missing, or has no columns ``name`` and ``id``."""

    code = "names_file_unreadable"
    provider = "csv"


class AnswerUnreadableError(TransientError):
    """A provider's answer has not the shape that its documentation says."""

    code = "provider_answer_unreadable"


class BudgetSpentError(NotTriedError):
    """A provider was asked as often as it may be in this hour or on this day; the turn comes with the next."""

    code = "provider_budget_spent"
    in_turn = True


class Provider(Protocol):
    """Offers those who may be meant by a name."""

    @property
    def name(self) -> str:
        """What it is called: in settings, in budgets, and as its breaker."""
        ...

    def search(self, wanted: Temporary) -> Sequence[OrganisationCandidate]:
        """Return candidates, the likeliest first. Raises ``ProviderRefusedError`` and ``TransientError``."""
        ...


class RequestBudget:
    """Counts requests before they are made, in PostgreSQL for all workers: so many a run, so many a day (UTC).

    A run is the clock's hour, as the schedule hands out by the hour.
    """

    def __init__(self, database: Database, clock: Clock, *, per_run: int, per_day: int) -> None:
        self._database = database
        self._clock = clock
        self._per_run = per_run
        self._per_day = per_day

    def take(self, provider: str) -> None:
        """Count one request. Raises ``BudgetSpentError`` with the time until the next run or day begins."""
        now = self._clock.now()
        day = day_of(now)
        hour = now.replace(minute=0, second=0, microsecond=0)
        with self._database.transaction() as connection:
            if resolve_store.take(connection, provider, "day", day, most=self._per_day) is None:
                self._refuse(provider, "today", (day + _DAY - now).total_seconds())
            taken = resolve_store.take(connection, provider, "run", hour, most=self._per_run)
            if taken is None:
                self._refuse(provider, "in this run", (hour + _HOUR - now).total_seconds())
            if taken == 1:
                resolve_store.forget_requests(connection, now)

    def _refuse(self, provider: str, when: str, wait_s: float) -> None:
        raise BudgetSpentError(
            f"The limit of requests to {provider} {when} is reached.", retry_after_s=max(wait_s, 1.0)
        )


def day_of(now: datetime) -> datetime:
    """Return when a time's day began."""
    return now.replace(hour=0, minute=0, second=0, microsecond=0)


class Asking:
    """Asks one provider's HTTP API, within its budget."""

    def __init__(self, client: Http, budget: RequestBudget, refused: type[ProviderRefusedError]) -> None:
        self._client = client
        self._budget = budget
        self._provider = refused.provider
        self._refused = refused

    def get(self, url: str, accept: str, shape: type[Shape]) -> Shape:
        """Return the answer of an address as ``shape``.

        Raises ``BudgetSpentError`` before anything is asked, ``ProviderRefusedError`` for 401 and 403,
        ``AnswerUnreadableError``, and what ``HttpClient`` raises.
        """
        self._budget.take(self._provider)
        try:
            requester = Requester(typed_origin=typed_origin(url))  # whoever runs this says where a provider is asked
            answer = self._client.get(url, requester=requester, max_bytes=_MAX_BYTES, accept=accept)
        except StatusRefusedError as error:
            if error.status in _REFUSED:
                raise self._refused(f"{self._provider} answered {error.status}: access denied.") from error
            raise
        try:
            return shape.model_validate_json(answer.body)
        except ValidationError as error:
            raise AnswerUnreadableError(f"{self._provider} returned an undocumented format.") from error


class CsvNames:
    """A CSV file of one's own: columns ``name``, ``id`` and, parted by ``|``, ``aliases``; read at the first question.

    Only the same normal form is offered: what is alike is no reason to ask one's own list. Costs no budget.
    """

    name = "csv"

    def __init__(self, file: Path, read: Callable[[Path], str] = lambda file: file.read_text("utf-8-sig")) -> None:
        self._file = file
        self._read = read
        self._by_name: Mapping[str, Sequence[OrganisationCandidate]] | None = None

    def search(self, wanted: Temporary) -> Sequence[OrganisationCandidate]:
        """Return those who have this name. Raises ``NamesFileError``."""
        return self.load().get(normalise(wanted.name), ())

    def load(self) -> Mapping[str, Sequence[OrganisationCandidate]]:
        """Return everybody by normal form, read once. Raises ``NamesFileError``."""
        if self._by_name is None:
            self._by_name = self._load()
        return self._by_name

    def _load(self) -> Mapping[str, Sequence[OrganisationCandidate]]:
        found: dict[str, list[OrganisationCandidate]] = {}
        for line, row in self._rows():
            name, id_ = (row.get("name") or "").strip(), (row.get("id") or "").strip()
            if not name or not id_:
                raise NamesFileError(f"{_CSV}, line {line}: each row needs a name and an id.")
            aliases = tuple(alias.strip() for alias in (row.get("aliases") or "").split("|") if alias.strip())
            candidate = OrganisationCandidate(id_, name, aliases, kept=aliases)
            for key in {normalise(one) for one in candidate.names}:
                found.setdefault(key, []).append(candidate)
        return found

    def _rows(self) -> Iterator[tuple[int, Mapping[str, str | None]]]:
        """Yield each row with the number of its (last) line."""
        try:
            lines = self._read(self._file).splitlines()
        except (OSError, UnicodeDecodeError) as error:
            raise NamesFileError(f"{_CSV} cannot be read.") from error
        for number, line in enumerate(lines, start=1):
            if len(line) > _LINE_MAX:
                raise NamesFileError(f"{_CSV}, line {number}: longer than {_LINE_MAX:,} characters.")
        reader = csv.DictReader(lines)
        try:
            if missing := [column for column in ("name", "id") if column not in (reader.fieldnames or ())]:
                raise NamesFileError(f"{_CSV} has no column {' and no column '.join(missing)} in its first line.")
            for row in reader:
                yield reader.line_num, row
        except csv.Error as error:
            raise NamesFileError(f"{_CSV}, line {reader.line_num + 1}: {error}.") from error


# GLEIF's API, ``lei-records``: JSON:API records by legal name.


class _GleifShape(BaseModel):
    model_config = ConfigDict(extra="ignore")


class _Name(_GleifShape):
    name: str


class _Address(_GleifShape):
    country: str | None = None


class _LegalEntity(_GleifShape):
    legal_name: _Name = Field(alias="legalName")
    other_names: list[_Name] = Field(default=[], alias="otherNames")
    transliterated: list[_Name] = Field(default=[], alias="transliteratedOtherNames")
    legal_address: _Address = Field(default=_Address(), alias="legalAddress")


class _Attributes(_GleifShape):
    lei: str = Field(min_length=1)
    entity: _LegalEntity


class _Record(_GleifShape):
    attributes: _Attributes


class _Records(_GleifShape):
    data: list[_Record]


class Gleif:
    """Asks for legal entities of a name: one request a question; their ids are ``lei:`` and the LEI (ISO 17442)."""

    name = "gleif"

    def __init__(self, asking: Asking, url: str) -> None:
        self._asking = asking
        self._url = url.rstrip("/")

    def search(self, wanted: Temporary) -> Sequence[OrganisationCandidate]:
        """Return the entities of which the register finds the name."""
        query = urlencode({"filter[entity.legalName]": wanted.name, "page[size]": _PAGE_SIZE})
        found = self._asking.get(f"{self._url}/api/v1/lei-records?{query}", _ACCEPT, _Records)
        return [_of_register(record.attributes) for record in found.data]


def _of_register(attributes: _Attributes) -> OrganisationCandidate:
    entity = attributes.entity
    country = entity.legal_address.country
    others = tuple(dict.fromkeys(one.name for one in (*entity.other_names, *entity.transliterated)))
    return OrganisationCandidate(
        f"lei:{attributes.lei}", entity.legal_name.name, others, country.lower()[:2] if country else None
    )


# Wikidata, by MediaWiki's action API (``wbsearchentities``, ``wbgetentities``). Whether an item is an organisation, its
# statements say: a headquarters, a legal form, an industry or the like. So the fruit is not taken for the company.


class WikidataBusyError(TransientError):
    """Wikidata asks for patience in the body of its answer (``maxlag``, ``ratelimited``)."""

    code = "wikidata_busy"


class _WikidataShape(BaseModel):
    model_config = ConfigDict(extra="ignore")

    error: Mapping[str, Any] | None = None


class _Hit(_WikidataShape):
    id: str = Field(pattern=r"^Q[0-9]+$")


class _Hits(_WikidataShape):
    search: list[_Hit] = []


class _Text(_WikidataShape):
    value: str


class _Datavalue(_WikidataShape):
    value: Any = None

    @property
    def id(self) -> str | None:
        """The item's id, where the value is an item."""
        return self.value.get("id") if isinstance(self.value, dict) else None


class _Snak(_WikidataShape):
    datavalue: _Datavalue | None = None


class _Claim(_WikidataShape):
    mainsnak: _Snak


class _Item(_WikidataShape):
    labels: dict[str, _Text] = {}
    aliases: dict[str, list[_Text]] = {}
    claims: dict[str, list[_Claim]] = {}


class _Items(_WikidataShape):
    entities: dict[str, _Item] = {}


class Wikidata:
    """Asks for organisations of a name: two requests a question; their ids are ``wikidata:`` and the item's."""

    name = "wikidata"

    def __init__(self, asking: Asking, url: str) -> None:
        self._asking = asking
        self._url = url.rstrip("/")

    def search(self, wanted: Temporary) -> Sequence[OrganisationCandidate]:
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
            _of_item(id_, items.entities[id_])
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


def _of_item(id_: str, item: _Item) -> OrganisationCandidate:
    names = [*(text.value for text in item.labels.values())]
    names += [text.value for texts in item.aliases.values() for text in texts]
    distinct = tuple(dict.fromkeys(names)) or (id_,)
    return OrganisationCandidate(f"wikidata:{id_}", distinct[0], distinct[1:])


def open_providers(settings: ResolveSettings, database: Database, clock: Clock) -> list[Provider]:
    """Return the providers that the settings name, in their order."""
    client = HttpClient.of(settings)
    budget = RequestBudget(
        database,
        clock,
        per_run=settings.provider_requests_per_run,
        per_day=settings.provider_requests_per_day,
    )
    makers: Mapping[str, Callable[[], Provider]] = {
        "csv": lambda: CsvNames(Path(settings.entity_csv)),
        "gleif": lambda: Gleif(Asking(client, budget, GleifRefusedError), settings.gleif_url),
        "wikidata": lambda: Wikidata(Asking(client, budget, WikidataRefusedError), settings.wikidata_url),
    }
    return [makers[name]() for name in settings.providers()]
