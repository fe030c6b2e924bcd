"""Whom to ask who an organisation is: what all providers have in common, and the CSV file of one's own."""

import csv
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Protocol, TypeVar

from pydantic import BaseModel, ValidationError

from siftline.kit.errors import ConfigurationError, NotTriedError, TransientError
from siftline.net.http_model import Http, Requester, StatusRefusedError
from siftline.net.urls import typed_origin
from siftline.resolve.temporary import Candidate, Temporary
from siftline.text.names import normalise

_MAX_BYTES = 2_000_000
_LINE_MAX = 100_000  # characters; the limit of the csv module is the whole process's, and scipy lifts it
_REFUSED = frozenset({401, 403})
Shape = TypeVar("Shape", bound=BaseModel)


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

    def search(self, wanted: Temporary) -> Sequence[Candidate]:
        """Return candidates, the likeliest first. Raises ``ProviderRefusedError`` and ``TransientError``."""
        ...


class Budget(Protocol):
    """Counts how often a provider is asked."""

    def take(self, provider: str) -> None:
        """Count one request. Raises ``BudgetSpentError`` where it is one too many."""
        ...


class Asking:
    """Asks one provider's HTTP API, within its budget."""

    def __init__(self, client: Http, budget: Budget, provider: str, refused: type[ProviderRefusedError]) -> None:
        self._client = client
        self._budget = budget
        self._provider = provider
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


_CSV = "The CSV file of names (ENTITY_CSV)"


class CsvNames:
    """A CSV file of one's own: columns ``name``, ``id`` and, parted by ``|``, ``aliases``; read at the first question.

    Only the same normal form is offered: what is alike is no reason to ask one's own list. Costs no budget.
    """

    name = "csv"

    def __init__(self, file: Path, read: Callable[[Path], str] = lambda file: file.read_text("utf-8-sig")) -> None:
        self._file = file
        self._read = read
        self._by_name: Mapping[str, Sequence[Candidate]] | None = None

    def search(self, wanted: Temporary) -> Sequence[Candidate]:
        """Return those who have this name. Raises ``NamesFileError``."""
        return self.load().get(normalise(wanted.name), ())

    def load(self) -> Mapping[str, Sequence[Candidate]]:
        """Return everybody by normal form, read once. Raises ``NamesFileError``."""
        if self._by_name is None:
            self._by_name = self._load()
        return self._by_name

    def _load(self) -> Mapping[str, Sequence[Candidate]]:
        found: dict[str, list[Candidate]] = {}
        for line, row in self._rows():
            name, id_ = (row.get("name") or "").strip(), (row.get("id") or "").strip()
            if not name or not id_:
                raise NamesFileError(f"{_CSV}, line {line}: each row needs a name and an id.")
            aliases = tuple(alias.strip() for alias in (row.get("aliases") or "").split("|") if alias.strip())
            candidate = Candidate(id_, name, aliases, kept=aliases)
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
            for row in reader:
                yield reader.line_num, row
        except csv.Error as error:
            raise NamesFileError(f"{_CSV}, line {reader.line_num + 1}: {error}.") from error
