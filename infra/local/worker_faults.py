"""What the worker cannot do, told once on the console of ``make run``: log and database would keep it to themselves."""

from collections.abc import Iterator
from pathlib import Path

from siftline.api.ops.health import unbuildable
from siftline.jobs.breakers_store import open_breakers
from siftline.kit.db import Database
from siftline.kit.errors import SiftlineError
from siftline.kit.lines import line


class WorkerFaults:
    """Looks at the worker's health; each reason why a function cannot be started is told once until it is gone."""

    def __init__(self, url: str, token: str, log: Path) -> None:
        self._url = url
        self._token = token
        self._log = log
        self._told: dict[str, str] = {}

    def news(self) -> Iterator[str]:
        """Yield a line for each function of which something is new; nothing while the worker does not answer."""
        try:
            found = unbuildable(self._url, self._token)
        except SiftlineError:
            return
        for name, reason in found.items():
            if self._told.get(name) != reason:
                yield f"{line(name)} cannot start: {line(reason)}; see {self._log}"
        for name in self._told.keys() - found.keys():
            yield f"{line(name)} has started."
        self._told = dict(found)


class OpenBreakers:
    """Looks at the breakers; each thing that does not serve is told once until it serves again, with the reason."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._told: dict[str, str] = {}

    def news(self) -> Iterator[str]:
        """Yield a line for each breaker of which something is new; nothing while the database does not answer."""
        try:
            with self._database.transaction() as connection:
                standings = open_breakers(connection)
        except SiftlineError:
            return
        # One that is tried as soon as a job needs it is no news: nobody knows whether it still fails.
        told = {one.provider for one in standings if one.wait_s > 0} | self._told.keys()
        found = {one.provider: one.error_detail for one in standings if one.provider in told}
        for one in standings:
            if one.provider in told and self._told.get(one.provider) != one.error_detail:
                what, why = line(one.provider), line(one.error_detail)
                yield f"{what} is unavailable; jobs that need it wait: {why} Next try in {one.wait_s:.0f} s."
        for provider in self._told.keys() - found.keys():
            yield f"{line(provider)} is available again."
        self._told = found
