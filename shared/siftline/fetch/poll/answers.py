"""What an answer says about its source: under which conditions to ask next, where and when. Pure.

Temporary redirects never count; permanent ones once they held for polls and days. Until then every poll starts at the
address that was given, as it does again when the new one fails. Where the address that was given goes first, its last
permanent redirect was its word for where to ask from now on.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta

from siftline.fetch.kinds.fetcher import Fetched
from siftline.fetch.poll.health_store import Moved, Polled, Source
from siftline.fetch.poll.next_poll import Rhythm, Wishes, plan
from siftline.kit.errors import SiftlineError
from siftline.net.http_model import http_date, may_be_sent
from siftline.settings.functions import FetchSettings

ADOPT_POLLS = 5
ADOPT_AFTER = timedelta(days=7)
"""A permanent redirect must hold for so many polls in a row, and so long: many are set by mistake and taken back."""
_PERMANENT = frozenset({301, 308})

FULL_AFTER = timedelta(days=7)
"""After so long without the whole feed it is asked for without conditions."""
_CLOCK_SKEW = timedelta(days=1)
_VALIDATOR_CHARS_MAX = 2_000
"""A longer one is not sent back: many servers refuse headers of 8 kB in all."""


def moved(source: Source, redirects: Sequence[tuple[int, str]], now: datetime) -> Moved:
    """Return where a poll that went well says its source is; ``redirects`` are its hops (status, target)."""
    target = _target(source.polled_url, redirects) or source.adopted_url
    if target is None:
        return Moved()
    held = target == source.resolved_url and source.resolved_since is not None
    since = source.resolved_since if held and source.resolved_since else now
    polls = source.resolved_polls + 1 if held else 1
    proven = polls >= ADOPT_POLLS and now - since >= ADOPT_AFTER
    return Moved(target, since, polls, target if proven else source.adopted_url)


def strayed(source: Source, error: SiftlineError) -> bool:
    """Return whether a poll failed before it came to where the source had moved to."""
    moved_to = source.resolved_url
    return moved_to is not None and moved_to != source.polled_url and error.at not in {None, moved_to}


def _target(asked: str, redirects: Sequence[tuple[int, str]]) -> str | None:
    """Return where the permanent hops at the beginning lead; the way from https to http is nobody's move."""
    target = asked
    for status, url in redirects:
        if status not in _PERMANENT or (target.startswith("https:") and not url.startswith("https:")):
            break
        target = url
    return None if target == asked else target


def validators(source: Source, now: datetime) -> dict[str, str]:
    """Return the conditional headers to send: byte for byte what the server gave, unless it is not to be believed.

    A server that answers 304 for ever, or dates its feed into the future, is asked for the whole feed now and then.
    """
    if source.last_full_at is None or now - source.last_full_at > FULL_AFTER:
        return {}
    modified_at = http_date(source.last_modified or "")
    believed = modified_at is None or modified_at <= now + _CLOCK_SKEW
    headers = {"If-None-Match": source.etag, "If-Modified-Since": source.last_modified if believed else None}
    return {
        name: value
        for name, value in headers.items()
        if value and len(value) <= _VALIDATOR_CHARS_MAX and may_be_sent(value)
    }


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
