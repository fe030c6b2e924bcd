"""What the worker cannot do, told once on the console of ``make run``: its log alone would keep it to itself."""

from collections.abc import Iterator
from pathlib import Path

from siftline.api.worker_check import unbuildable
from siftline.kit.errors import SiftlineError
from siftline.kit.printable import printable


class WorkerFaults:
    """Looks at the worker's health; each reason why a function cannot be started is told once until it is gone."""

    def __init__(self, url: str, log: Path) -> None:
        self._url = url
        self._log = log
        self._told: dict[str, str] = {}

    def news(self) -> Iterator[str]:
        """Yield a line for each function of which something is new; nothing while the worker does not answer."""
        try:
            found = unbuildable(self._url)
        except SiftlineError:
            return
        for name, reason in found.items():
            if self._told.get(name) != reason:
                yield f"{printable(name)} cannot be started: {printable(reason)}; see {self._log}"
        for name in self._told.keys() - found.keys():
            yield f"{printable(name)} could be started now."
        self._told = dict(found)
