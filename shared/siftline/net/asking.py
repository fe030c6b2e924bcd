"""One request and what it becomes by redirects and repeats: each takes a turn of its host, and a slot.

A slot is one of the few requests that a queue may have at one owner's hosts at once (``siftline.net.slots_store``):
taken with the first turn by one statement, kept to the end, given back then.
"""

import time
from collections.abc import Callable
from typing import NoReturn

from siftline.kit.db import Database, settled
from siftline.kit.errors import NotTriedError, TransientError
from siftline.kit.ids import new_id
from siftline.kit.log import logger
from siftline.net import pacing_store, slots_store
from siftline.net.hosts import owner
from siftline.net.http_model import Requester
from siftline.net.pacing_store import Bucket, Reservation, Taken
from siftline.net.slots_store import Slot
from siftline.settings.functions import PacingSettings

_log = logger("pacing")


class HostBusyError(NotTriedError):
    """The host is asked no more often than it stands; whoever waits has a turn of their own, ``retry_after_s`` away."""

    code = "host_busy"
    in_turn = True


class Asking:
    """Asks on behalf of a requester; ``bucket_of`` says what is paced together with an address, if anything."""

    def __init__(
        self,
        database: Database,
        settings: PacingSettings,
        bucket_of: Callable[[str], Bucket | None],
        requester: Requester,
        *,
        wait_s: float,
        takes_slots: bool = True,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._database = database
        self._settings = settings
        self._wait_s = wait_s
        self._bucket_of = bucket_of
        self._requester = requester
        self._token = new_id() if takes_slots else None
        self._sleep = sleep
        self._asked: set[str] = set()
        self._held: set[str] = set()

    def begin(self, url: str) -> None:
        """Return when the host of ``url`` may be asked. Raises ``HostBusyError``."""
        bucket = self._bucket_of(url)
        if bucket is None:
            return
        left_s = self._take_with_slot(bucket).left_s
        if left_s is None:
            self._stand_in_line(bucket)
        self._go(bucket, left_s)

    def onward(self, url: str) -> None:
        """Return when a redirect's target may be asked. Raises ``HostBusyError``."""
        bucket = self._bucket_of(url)
        if bucket is None:
            return
        left_s = self._take_with_slot(bucket).left_s
        if left_s is None:
            left_s = self._owed(bucket)
        if left_s is None:
            self._stand_in_line(bucket)
        self._go(bucket, left_s)

    def again(self, url: str) -> bool:
        """Return whether there is a turn within the wait to ask once more; it is then taken."""
        bucket = self._bucket_of(url)
        if bucket is None:
            return True
        left_s = self._take(bucket).left_s
        if left_s is not None:
            self._go(bucket, left_s)
        return left_s is not None

    def end(self) -> None:
        """Give the slots back. Where the database is away they come back by themselves, after their lease."""
        if not self._held or self._token is None:
            return
        held, token, asked = sorted(self._held), self._token, bool(self._asked)
        try:
            settled(
                self._database,
                lambda connection: slots_store.give_back(connection, held, token, asked=asked),
                single=True,
            )
        except TransientError as error:
            _log.warning("places_not_given_back", scopes=held, error_code=error.error_code)

    def _go(self, bucket: Bucket, left_s: float) -> None:
        self._asked.add(bucket.scope)
        if left_s > 0:
            self._sleep(min(left_s, self._wait_s))

    def _take_with_slot(self, bucket: Bucket) -> Taken:
        """Take a slot and, if there is one, a turn. Raises ``HostBusyError`` where there is no slot."""
        taken = self._take(bucket)
        slot = self._slot(bucket)
        if taken.has_slot or slot is None:
            return taken
        wait = settled(
            self._database, lambda connection: slots_store.stand_in_line(connection, slot, self._requester.id)
        )
        raise HostBusyError(_full(slot), retry_after_s=wait.wait_s)

    def _take(self, bucket: Bucket) -> Taken:
        slot = self._slot(bucket)
        taken = settled(
            self._database,
            lambda connection: pacing_store.take(
                connection, bucket, self._requester.id, wait_s=self._wait_s, slot=slot, first=self._requester.first
            ),
            single=True,
        )
        if slot is not None and taken.has_slot:
            self._held.add(slot.scope)
        return taken

    def _owed(self, bucket: Bucket) -> float | None:
        known = bucket.scope in self._asked
        return settled(
            self._database,
            lambda connection: pacing_store.owe(
                connection, bucket, self._requester.id, wait_s=self._wait_s, known=known
            ),
        )

    def _slot(self, bucket: Bucket) -> Slot | None:
        if self._token is None:
            return None
        name = owner(bucket.domains[0])
        scope, first = f"{name} {self._requester.queue}", self._requester.first
        return Slot(scope, name, self._settings.host_at_once, self._settings.host_lease_s, self._token, first)

    def _stand_in_line(self, bucket: Bucket) -> NoReturn:
        reservation = settled(
            self._database,
            lambda connection: pacing_store.stand_in_line(
                connection, bucket, self._requester.id, first=self._requester.first
            ),
        )
        raise HostBusyError(_busy(bucket, reservation), retry_after_s=reservation.wait_s)


def _full(slot: Slot) -> str:
    already = "A request" if slot.at_once == 1 else f"{slot.at_once} requests"
    waiting = "is" if slot.at_once == 1 else "are"
    return f"{already} to {slot.owner} {waiting} already in progress; this one waits its turn."


def _busy(bucket: Bucket, reservation: Reservation) -> str:
    if reservation.reason is not None:
        return f"Requests to {bucket.scope} are paused: {reservation.reason}."
    every = f"{reservation.interval_s:.0f} s" if reservation.interval_s >= 2 else f"{reservation.interval_s:.1f} s"
    return f"Requests to {bucket.scope} are limited to one every {every}; this one waits its turn."
