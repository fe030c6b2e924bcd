"""What an answer says about its source: under which conditions to ask next, where and when. Pure."""

from datetime import datetime, timedelta

from siftline.fetch.kinds.fetcher import Fetched
from siftline.fetch.poll.freshness import Wishes, plan
from siftline.fetch.poll.health_store import Polled, Source
from siftline.fetch.poll.redirects import moved
from siftline.fetch.poll.rhythm import Rhythm
from siftline.net.http_model import http_date, may_be_sent
from siftline.settings.functions import FetchSettings

FULL_AFTER = timedelta(days=7)
"""After so long without the whole feed it is asked for without conditions."""
_CLOCK_SKEW = timedelta(days=1)


def validators(source: Source, now: datetime) -> dict[str, str]:
    """Return the conditional headers to send: byte for byte what the server gave, unless it is not to be believed.

    A server that answers 304 for ever, or dates its feed into the future, is asked for the whole feed now and then.
    """
    if source.last_full_at is None or now - source.last_full_at > FULL_AFTER:
        return {}
    modified_at = http_date(source.last_modified or "")
    believed = modified_at is None or modified_at <= now + _CLOCK_SKEW
    headers = {"If-None-Match": source.etag, "If-Modified-Since": source.last_modified if believed else None}
    return {name: value for name, value in headers.items() if value and may_be_sent(value)}


def what_it_says(
    source: Source, fetched: Fetched, *, now: datetime, settings: FetchSettings, changed: bool = False
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
        moved=moved(source, response.redirects, now),
        plan=plan(
            source.id,
            now=now,
            wishes=wishes,
            rhythm=rhythm,
            before_minutes=source.refresh_minutes,
            changed=changed,
            headers=response.headers,
            bounds_minutes=(settings.refresh_min_minutes, settings.refresh_max_minutes),
        ),
        rhythm=rhythm,
        wished_minutes=source.wished_minutes,
        before_full_at=source.last_full_at,
        full=full,
        body_sha256=fetched.body_sha256,
        options=fetched.options,
    )
