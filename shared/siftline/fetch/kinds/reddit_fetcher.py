"""Fetches sources of the kind ``reddit``: a subreddit's or a user's posts, from Reddit's JSON or its Atom feeds.

JSON tells more; where Reddit refuses it to us, Atom is asked for, and JSON again only after a while.
"""

import hashlib
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from typing import ClassVar
from urllib.parse import urlsplit

from siftline.fetch.feed.feeds import Feed
from siftline.fetch.kinds.fetcher import Again, Fetched, may_mean_pace, unmodified
from siftline.fetch.kinds.readers import FeedReader
from siftline.fetch.kinds.reddit import NotAListingError, from_atom
from siftline.fetch.kinds.rss_fetcher import FEED_MAX_BYTES
from siftline.fetch.poll.health_store import Source
from siftline.kit.clock import Clock
from siftline.kit.errors import PermanentError
from siftline.net.http_model import Http, Requester, Response, StatusRefusedError, StatusTransientError
from siftline.net.pacing import Pacing
from siftline.net.reddit_address import Listing, listing_of
from siftline.net.urls import typed_origin

LIMIT = 100
ATOM_S = 86_400
"""After Reddit refused JSON, Atom is asked for this long before JSON is tried again."""
_JSON, _ATOM = "application/json", "application/atom+xml, application/xml;q=0.8"
_FORMS = {_JSON: "json", _ATOM: "atom"}
_ATOM_UNTIL = "atom_until"
_REASON = re.compile(rb'"reason"\s*:\s*"(\w+)"')
_SAID = (
    ("private", re.compile(rb"private community|community is private|must be invited to visit", re.IGNORECASE)),
    ("banned", re.compile(rb"(?:has been|was) banned", re.IGNORECASE)),
    ("quarantined", re.compile(rb"quarantined", re.IGNORECASE)),
)
_CODES = {
    "private": ("subreddit_private", "is private: only its members can read it."),
    "gold_only": ("subreddit_private", "is only for paying members."),
    "banned": ("subreddit_banned", "was banned by Reddit."),
    "quarantined": ("subreddit_quarantined", "is quarantined by Reddit: only logged-in users can read it."),
    "not_found": ("subreddit_not_found", "does not exist on Reddit (any more)."),
}


class RedditRefusedError(PermanentError):
    """Reddit does not show the subreddit or user, and says why; polled on, rarely, for most of it can be undone."""

    code = "subreddit_not_found"


class RedditFetcher:
    """Asks Reddit for a listing. ``form`` is ``json``, ``atom`` or, for both in turn, ``auto``.

    A 403 while Reddit answers others in the same form is its pace; JSON that it answers to nobody is asked for as Atom.
    """

    tracks_refusals: ClassVar[bool] = True

    def __init__(
        self,
        http: Http,
        reader: FeedReader,
        pace: Pacing,
        clock: Clock,
        *,
        base_url: str,
        form: str,
    ) -> None:
        self._http = http
        self._reader = reader
        self._pace = pace
        self._clock = clock
        self._base_url = base_url.rstrip("/")
        self._form = form

    def fetch(self, source: Source, validators: Mapping[str, str], requester: Requester) -> Fetched | Again:
        """Return the posts, or that Atom has to be asked for.

        Raises the errors of the HTTP client and of the readers, ``RedditRefusedError`` and ``NotAListingError``.
        """
        listing = listing_of(source.url)
        if listing is None:
            raise NotAListingError("The address is neither a subreddit nor a Reddit user.")
        # Whoever runs this says where Reddit is asked.
        requester = replace(requester, typed_origin=typed_origin(self._base_url))
        until = _time(source.options.get(_ATOM_UNTIL))
        if self._form == "atom" or (self._form == "auto" and until is not None and self._clock.now() < until):
            return self._atom(source, listing, validators, requester)
        try:
            # What was asked for as Atom has validators that mean nothing here.
            return self._json(source, listing, {} if until else validators, requester)
        except (NotAListingError, StatusRefusedError) as error:
            refused = isinstance(error, NotAListingError) or error.status == 403
            if self._form != "auto" or not refused:
                raise
            again = self._clock.now() + timedelta(seconds=ATOM_S)
            return Again({**source.options, _ATOM_UNTIL: again.isoformat()})

    def _json(self, source: Source, listing: Listing, validators: Mapping[str, str], requester: Requester) -> Fetched:
        response = self._get(requester, listing, f"{listing.path}.json", "raw_json=1&", validators, _JSON)
        kept = {name: value for name, value in source.options.items() if name != _ATOM_UNTIL}
        fetched = self._fetched(
            source, response, validators, lambda: self._reader.posts(response.body, listing=listing)
        )
        return fetched if kept == source.options else replace(fetched, options=kept)

    def _atom(self, source: Source, listing: Listing, validators: Mapping[str, str], requester: Requester) -> Fetched:
        response = self._get(requester, listing, f"{listing.path}/.rss", "", validators, _ATOM)
        content_type = response.headers.get("content-type", "")

        def read() -> Feed:
            feed = self._reader.read(response.body, url=listing.url, content_type=content_type)
            return from_atom(feed, listing=listing)

        return self._fetched(source, response, validators, read)

    def _fetched(
        self, source: Source, response: Response, validators: Mapping[str, str], read: Callable[[], Feed]
    ) -> Fetched:
        if response.status == 304:
            return unmodified(response, validators, self._clock)
        body_sha256 = hashlib.sha256(response.body).digest()
        feed = None if body_sha256 == source.body_sha256 else read()
        return Fetched(response, feed, body_sha256)

    def _get(
        self, requester: Requester, listing: Listing, path: str, more: str, validators: Mapping[str, str], accept: str
    ) -> Response:
        query = f"{more}limit={LIMIT}" + (f"&{listing.query}" if listing.query else "")
        url = f"{self._base_url}{path}?{query}"
        try:
            response = self._http.get(
                url, requester=requester, headers=validators, max_bytes=FEED_MAX_BYTES, accept=accept
            )
        except StatusRefusedError as error:
            reason = _reason(error)
            if reason is not None:
                raise _refused(listing, reason) from error
            self._raise_pace(requester, listing, error, accept)
            raise
        except StatusTransientError as error:
            error.answer = replace(error.answer, url=self._as_reddit(error.answer.url, listing))
            self._raise_pace(requester, listing, error, accept)
            raise
        self._pace.answered(listing.url, who=requester.id, form=_FORMS[accept])
        if urlsplit(response.url).path.startswith("/subreddits/search"):
            raise _refused(listing, "not_found")
        # Where Reddit leads on its own site is no new address of the source.
        answered = self._as_reddit(response.url, listing)
        return replace(response, url=answered, requested_url=listing.url, redirects=())

    def _raise_pace(
        self, requester: Requester, listing: Listing, error: StatusRefusedError | StatusTransientError, accept: str
    ) -> None:
        """Raise ``HostBusyError`` where a refusal means Reddit's pace."""
        busy = self._pace.refused(listing.url, who=requester.id, form=_FORMS[accept]) if may_mean_pace(error) else None
        if busy is not None:
            raise busy from error

    def _as_reddit(self, url: str, listing: Listing) -> str:
        """Return whose answer it is that came from ``url``: Reddit's, wherever an operator has it asked."""
        return listing.url if urlsplit(url).netloc == urlsplit(self._base_url).netloc else url


def _reason(error: StatusRefusedError) -> str | None:
    """Return why Reddit refuses, where it says so; 403 without a word is meant for us, not for the subreddit."""
    if error.status not in {403, 404}:
        return None
    said = _REASON.search(error.answer.body_start)
    if said and said[1].decode() in _CODES:
        return said[1].decode()
    in_words = next((reason for reason, words in _SAID if words.search(error.answer.body_start)), None)
    return in_words or ("not_found" if error.status == 404 else None)


def _refused(listing: Listing, reason: str) -> RedditRefusedError:
    code, sentence = _CODES[reason]
    return RedditRefusedError(f"{listing.shown_name} {sentence}", code=code)


def _time(stated: object) -> datetime | None:
    try:
        return datetime.fromisoformat(str(stated)) if stated else None
    except ValueError:
        return None
