"""What an answer says about its source: under which conditions to ask next, where and when. Pure."""

from datetime import datetime, timedelta
from typing import Protocol

from siftline.fetch.kinds.fetcher import Fetched
from siftline.fetch.poll.freshness import RefreshOptions, Wishes, plan
from siftline.fetch.poll.health_store import Polled, Source
from siftline.fetch.poll.redirects import RedirectOptions, moved
from siftline.fetch.poll.rhythm import Rhythm
from siftline.net.http_errors import http_date
from siftline.net.http_headers import may_be_sent

_CLOCK_SKEW = timedelta(days=1)


class AnswerOptions(RedirectOptions, RefreshOptions, Protocol):
    """The settings of what follows from an answer (``siftline.settings.functions.FetchSettings``)."""

    @property
    def full_fetch_days(self) -> float:
        """After so many days without the whole feed it is asked for."""
        ...


def validators(source: Source, now: datetime, options: AnswerOptions) -> dict[str, str]:
    """Return the conditional headers to send: byte for byte what the server gave, unless it is not to be believed.

    A server that answers 304 for ever, or dates its feed into the future, is asked for the whole feed now and then.
    """
    if source.last_full_at is None or now - source.last_full_at > timedelta(days=options.full_fetch_days):
        return {}
    modified_at = http_date(source.last_modified or "")
    believed = modified_at is None or modified_at <= now + _CLOCK_SKEW
    headers = {"If-None-Match": source.etag, "If-Modified-Since": source.last_modified if believed else None}
    return {name: value for name, value in headers.items() if value and may_be_sent(value)}


def what_it_says(
    source: Source, fetched: Fetched, *, now: datetime, options: AnswerOptions, changed: bool = False
) -> Polled:
    """Return what an answer says about its source; ``changed``: it brought entries that are new.

    A 304 need not repeat a validator; a 200 without one has none.
    """
    response, full = fetched.response, fetched.response.status != 304
    rhythm = Rhythm.loaded(source.rhythm) if fetched.feed is None else Rhythm.of(fetched.feed, now)
    wishes = Wishes(source.wished_minutes, source.refresh_min_minutes, source.refresh_max_minutes)
    return Polled(
        source_id=source.id,
        etag=response.headers.get("etag", None if full else source.etag),
        last_modified=response.headers.get("last-modified", None if full else source.last_modified),
        moved=moved(source, response.redirects, now, options),
        plan=plan(
            source.id,
            now=now,
            wishes=wishes,
            rhythm=rhythm,
            before_minutes=source.refresh_minutes,
            changed=changed,
            headers=response.headers,
            options=options,
        ),
        rhythm=rhythm,
        wished_minutes=source.wished_minutes,
        before_full_at=source.last_full_at,
        full=full,
        body_sha256=fetched.body_sha256,
        options=fetched.options,
    )
