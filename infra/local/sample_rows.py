"""The rows that the events in ``events/`` name: with them every ``*.ok`` event is carried out as it stands.

``make invoke`` adds them for its own event, ``make localstack`` for ``sam local``. They belong to a user of their own,
``sample``, whose token stands in ``events/authorize.ok.json`` and so is no secret: it reads, and it ends.
"""

import hashlib
from datetime import UTC, datetime, timedelta

from infra.local.sample_library import load_weblog
from siftline.kit.db import Connection
from siftline.net.urls import typed_origin

TOKEN = "sl_" + "A" * 43
_USER = "018f4e5a-7b1c-7000-8000-000000000001"
_ROWS = {
    "users": {"id": _USER, "name": "sample"},
    "access_tokens": {"id": "018f4e5a-7b1c-7000-8000-000000000002", "user_id": _USER, "name": "events"},
    "sources": {"id": "018f4e5a-7b1c-7000-8000-000000000101", "kind": "rss"},
    "contents to analyze": {"id": "018f4e5a-7b1c-7000-8000-0000000000a1"},
    "contents to ingest": {"id": "018f4e5a-7b1c-7000-8000-000000000201"},
    "briefings": {"id": _USER, "user_id": _USER, "name": "Sample", "frequency": "DAILY", "at": "07:00"},
    "entities": {"id": _USER, "kind": "ORG", "name": "Sample Harbour Trust", "temporary_id": "sample"},
}
ELSEWHERE = ("https://www.rfc-editor.org/rfcrss.xml", "https://www.rfc-editor.org/rfc/rfc2606.html")
"""A feed and a page for functions that reach the internet and no sample server."""


def add_sample_rows(connection: Connection, *, samples_url: str | None, token_lives: timedelta) -> None:
    """Add the rows that are missing. Their feed and page are those of the sample server at ``samples_url``, if any."""
    now = datetime.now(UTC)
    weblog = load_weblog(now)
    article = weblog.articles[0]
    # in a spelling of their own: under the usual one the weblog may be somebody's
    here = (f"{samples_url}{weblog.path}?of=events", f"{samples_url}{article.path}?of=events")
    feed, page = here if samples_url else ELSEWHERE
    _add(connection, "users")
    _add(connection, "access_tokens", token_sha256=hashlib.sha256(TOKEN.encode()).digest(), scopes=["read"])
    connection.execute("update access_tokens set expires_at = %s where name = 'events'", (now + token_lives,))
    _add(connection, "sources", **_address(feed))
    _add(connection, "contents to ingest", **_address(page))
    text = {"title": article.title, "text": article.text, "lang": article.language}
    _add(connection, "contents to analyze", **_address("https://events.example/analyze.ok"), **text)
    _add(connection, "briefings", unsubscribe_token="events")  # noqa: S106  -- opens nothing but the sample's own
    _add(connection, "entities")


def _address(url: str) -> dict[str, str | None]:
    return {"url": url, "url_key": url, "typed_origin": typed_origin(url)}


def _add(connection: Connection, kind: str, **more: object) -> None:
    values = {**_ROWS[kind], **more}
    columns, places = ", ".join(values), ", ".join(f"%({name})s" for name in values)
    table = kind.partition(" ")[0]
    connection.execute(
        f"insert into {table} ({columns}) values ({places}) on conflict do nothing",  # noqa: S608  -- names of this module
        values,
    )
