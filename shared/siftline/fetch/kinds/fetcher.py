"""What fetches a source: one interface, an implementation for each kind of source."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

from siftline.fetch.feed.feeds import Feed
from siftline.fetch.feed.identity import Identified
from siftline.fetch.poll.health_store import Source
from siftline.kit.clock import Clock
from siftline.net.http_model import Requester, Response, StatusRefusedError, StatusTransientError, status_error

_FORBIDDEN, _UNAVAILABLE = 403, 503


@dataclass(frozen=True, slots=True)
class Fetched:
    """What one poll of a source brought."""

    response: Response
    """The answer that counts: its status, headers and redirects are those of the source."""
    feed: Feed | None
    """``None``: not modified, by a 304 or by the same body as before."""
    body_sha256: bytes | None
    """Of what is compared between polls; ``None`` with a 304."""
    options: Mapping[str, Any] | None = None
    """What to keep in the source's options instead of what stands there; ``None`` changes nothing."""
    identified: Sequence[Identified] | None = None
    """The feed's entries, where who read them identified them already: strangers' texts are long, and so is that."""

    @property
    def speakers(self) -> tuple[str, ...]:
        """All addresses whose word the feed is: where it was asked for, and wherever that led."""
        hops = (address for _, address in self.response.redirects)
        return (self.response.requested_url, *hops, self.response.url)


@dataclass(frozen=True, slots=True)
class FoundFeed:
    """The feed that a page led to: nothing is saved of this poll, the feed is polled from now on."""

    url: str


@dataclass(frozen=True, slots=True)
class Again:
    """The source has to be asked in another way: nothing is saved of this poll, and it is polled once more."""

    options: Mapping[str, Any]
    """What to keep in the source's options, for that poll to know."""


class SourceFetcher(Protocol):
    """Fetches sources of one kind."""

    tracks_refusals: ClassVar[bool]
    """Whether it calls ``Pacing.answered`` and ``Pacing.refused`` itself; else ``fetch_service`` does, after each poll.

    Reddit's does: it asks for JSON or for Atom, and the host may refuse one and answer the other.
    """

    def fetch(self, source: Source, validators: Mapping[str, str], requester: Requester) -> Fetched | FoundFeed | Again:
        """Ask at ``source.polled_url`` under these conditional headers, if any, and read the answer.

        Raises the errors of the HTTP client and of the readers.
        """
        ...


def may_mean_pace(error: StatusRefusedError | StatusTransientError) -> bool:
    """Return whether a refusal names neither a reason nor a wait of its own: it may be meant for how often we ask."""
    if isinstance(error, StatusTransientError):
        return error.status == _UNAVAILABLE and error.retry_after_s is None
    return error.status == _FORBIDDEN


def unmodified(response: Response, validators: Mapping[str, str], clock: Clock) -> Fetched:
    """Return what a 304 means; raises what it is without validators: an answer to a question that was not asked."""
    if not validators:
        raise status_error(304, response.headers, clock.now())
    return Fetched(response, None, None)
