"""An account that has something of every kind, beside a neighbour who shares some of it; and where it still shows."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import numpy as np
from psycopg import sql

from siftline.jobs import credits_store
from siftline.kit.db import Connection
from siftline.kit.ids import new_id
from tests.api_client import Answered, ApiClient, World
from tests.factories import embed, make_content

MODEL = "m-1"
SHARED_PAGE, OWN_PAGE = "https://pages.example/shared", "https://pages.example/mine-alone"
SHARED_FEED, OWN_FEED = "https://feeds.example/shared.xml", "https://feeds.example/private.xml?key=K3yOfMine"
MARKS = (
    "Adalovelace", "adas-note", "adas-tag", "adas-interest", "adas-briefing", "adas-topic", "adas-title", "SpeltByAda",
    "ada.mail@post.example", "adas-other@post.example", "K3yOfMine", "mine-alone", "adas-device", "adas-reader",
    "adas-hook", "adas-folder",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Household:
    """Two users of a world: one who has everything, one who shares a page and a feed."""

    ada: ApiClient
    neighbour: ApiClient
    own_page: UUID
    shared_page: UUID
    own_feed: UUID
    shared_feed: UUID


def household(world: World) -> Household:
    """Make both."""
    ada = world.user("read", "write", "ops", name="Adalovelace")
    neighbour = world.user("read", "write", name="Neighbour")
    with world.database.transaction() as connection:
        credits_store.grant(connection, ada.user_id, 50)
    _well(ada.patch("/v1/me", {"interests": "adas-interest", "time_zone": "Europe/Berlin"}))
    pages = {}
    spelt = f"{SHARED_PAGE}?utm_source=SpeltByAda#SpeltByAda"
    for number, (user, url) in enumerate(((ada, spelt), (neighbour, SHARED_PAGE), (ada, OWN_PAGE))):
        own: dict[str, Any] = {"note": "adas-note", "tags": ["adas-tag"]} if user is ada else {}
        answered = _well(user.post("/v1/items", {"url": url, **own}, {"Idempotency-Key": f"key-{number}"}))
        pages[url] = UUID(answered.json["content_id"])
    folder = _well(ada.post("/v1/folders", {"name": "adas-folder"})).json["id"]
    feeds = {}
    for user, url in ((ada, SHARED_FEED), (neighbour, SHARED_FEED), (ada, OWN_FEED)):
        own = {"title": "adas-title", "refresh_minutes": 5, "folder_ids": [folder]} if user is ada else {}
        feeds[url] = UUID(_well(user.post("/v1/sources", {"url": url, **own})).json["id"])
    topics = {"topics": [{"id": "adas-topic", "descriptions": {"en": "About an adas-topic of hers"}}]}
    _well(ada.put("/v1/topics", topics))
    _well(ada.put(f"/v1/sources/{feeds[SHARED_FEED]}/topics", {"topics": []}))
    mail = {"channel": "email", "destination": "Ada.Mail@post.example"}
    hook = {"channel": "webhook", "destination": "https://hooks.example/adas-hook"}
    plan = {"name": "adas-briefing", "frequency": "DAILY", "at": "07:00", "interests": "adas-interest"}
    briefing = UUID(_well(ada.post("/v1/briefings", {**plan, "delivery": mail})).json["id"])
    _well(ada.post("/v1/briefings", {**plan, "delivery": hook}))
    _well(ada.post("/v1/mail-addresses", {"address": "Ada.Mail@post.example"}))
    _well(ada.post("/v1/tokens", {"name": "adas-device", "scopes": ["read"]}))
    _well(ada.post("/v1/feed-tokens", {"name": "adas-reader"}))
    with world.database.transaction() as connection:
        page, shared = pages[OWN_PAGE], pages[SHARED_PAGE]
        _read(connection, page, shared)
        _grouped(connection, ada.user_id, page)
        _told(connection, ada.user_id, briefing, page)
        _listed(connection, ada.user_id, feeds[SHARED_FEED], feeds[OWN_FEED], page, shared)
        _booked(connection, ada.user_id, shared)
    return Household(ada, neighbour, page, shared, feeds[OWN_FEED], feeds[SHARED_FEED])


def _well(answered: Answered) -> Answered:
    assert answered.status < 300, answered.text
    return answered


def _read(connection: Connection, own: UUID, shared: UUID) -> None:
    connection.execute(
        "insert into embedding_versions (model_version, uri, dimensions, state) values (%s, 'm', 4, 'active')", (MODEL,)
    )
    for content_id in (own, shared):
        text = "mine-alone, the text" if content_id == own else "what all may read"
        connection.execute("update contents set title = %s, text = %s where id = %s", (text, text, content_id))
        embed(connection, content_id, np.ones(4, np.float32), MODEL)
        connection.execute(
            "insert into derivations (content_id, kind, model_id, model_version, input_sha256)"
            " values (%s, 'vector', 'm', %s, '')",
            (content_id, MODEL),
        )


def _grouped(connection: Connection, user_id: UUID, content_id: UUID) -> None:
    run, cluster, story = new_id(), new_id(), new_id()
    connection.execute(
        "insert into cluster_runs (id, user_id, model_version, parameters, quality, contents)"
        " values (%s, %s, 'm', '{}', '{}', 1)",
        (run, user_id),
    )
    connection.execute(
        "insert into clusters (id, user_id, run_id, label, keywords, centroid, size)"
        " values (%s, %s, %s, 'l', '{}', '', 1)",
        (cluster, user_id, run),
    )
    connection.execute("insert into cluster_memberships values (%s, %s, 0)", (cluster, content_id))
    connection.execute(
        "insert into stories (id, user_id, model_version, centroid, size, first_at, last_at, lead_id)"
        " values (%s, %s, 'm', '', 1, now(), now(), %s)",
        (story, user_id, content_id),
    )
    connection.execute(
        "insert into story_items (user_id, content_id, story_id, distance) values (%s, %s, %s, 0)",
        (user_id, content_id, story),
    )
    connection.execute(
        "insert into score_profiles (user_id, id, model_version, recipe, interests, vectors, details)"
        " values (%s, %s, 'm', 'r', 'adas-interest', '', '{}')",
        (user_id, new_id()),
    )
    for job_type, row_id in (("score_user", user_id), ("cluster_user", content_id)):
        connection.execute(
            "insert into set_aside (job_type, row_id, kind, reason_code, detail) values (%s, %s, 'user', 'x', 'x')",
            (job_type, row_id),
        )


def _told(connection: Connection, user_id: UUID, briefing_id: UUID, content_id: UUID) -> None:
    edition = new_id()
    connection.execute(
        "insert into editions (id, briefing_id, user_id, period_key, due_at, window_from, window_until, stories,"
        " document, html, plain, read_token)"
        " values (%s, %s, %s, '2026-11-28', now(), now(), now(), 1, %s, 'adas-note', 'adas-note', 'r3ad')",
        (
            edition,
            briefing_id,
            user_id,
            '{"briefing": {"name": "adas-briefing"}, "links": {"page": "https://siftline.example/v1/read/r3ad"}}',
        ),
    )
    connection.execute(
        "insert into edition_items (edition_id, briefing_id, content_id, story_key, site, place, lead)"
        " values (%s, %s, %s, %s, 's', 1, true)",
        (edition, briefing_id, content_id, content_id),
    )
    connection.execute(
        "insert into briefing_likeness values (%s, %s, 'd', 1, 'adas-interest')", (briefing_id, content_id)
    )
    delivery = new_id()
    connection.execute(
        "insert into deliveries (id, edition_id, user_id, channel, destination)"
        " values (%s, %s, %s, 'email', 'adas-other@post.example')",
        (delivery, edition, user_id),
    )
    connection.execute(
        "insert into jobs (id, job_type, queue, subject_id, group_key, state, finished_at, error_message)"
        " values (%s, 'deliver_briefing', 'briefing', %s, %s, 'completed', now(), 'to adas-other@post.example')",
        (new_id(), delivery, f"user:{user_id}"),
    )
    for address in ("ada.mail@post.example", "adas-other@post.example"):
        connection.execute("insert into mail_suppressions (address, reason) values (%s, 'bounced')", (address,))
        connection.execute(
            "insert into mail_asks (id, address, user_id, asked_at) values (%s, %s, %s, now())",
            (new_id(), address, user_id),
        )
    connection.execute(
        "insert into mail_events (id, event) values (%s, %s)", (new_id(), '{"to": ["Ada <Ada.Mail@post.example>"]}')
    )


def _listed(connection: Connection, user_id: UUID, shared_feed: UUID, own_feed: UUID, own: UUID, shared: UUID) -> None:
    for source, content in ((shared_feed, shared), (own_feed, own)):
        connection.execute(
            "insert into source_entries (source_id, entry_key, content_sha256, content_id, url_key)"
            " select %s, 'e', '', id, url_key from contents where id = %s",
            (source, content),
        )
        connection.execute(
            "update items set source_id = %s where content_id = %s and user_id = %s", (source, content, user_id)
        )
    connection.execute("insert into item_tombstones (url_key, user_id) values ('adas-note', %s)", (user_id,))
    connection.execute(
        "insert into page_asks (content_id, source_id, asks, error_code, error_detail) values (%s, %s, 1, 'x', 'x')",
        (own, own_feed),
    )
    connection.execute(
        "insert into feed_orders (id, user_id, digest, at, item_ids, places) values (%s, %s, '', now(), '', '')",
        (new_id(), user_id),
    )
    connection.execute(
        "insert into feed_states (token_id, kind, digest, changed_at) select id, 'feed', '', now() from feed_tokens"
        " where user_id = %s",
        (user_id,),
    )


def _booked(connection: Connection, user_id: UUID, shared: UUID) -> None:
    """What was spent for her, and work of others that is in her turn."""
    connection.execute(
        "insert into spendings (id, kind, day, subject_id, state, micro_usd, ended_at, user_id)"
        " values (%s, 'llm', '2026-11-28', %s, 'settled', 700, now(), %s)",
        (new_id(), shared, user_id),
    )
    for payer in (None, user_id):
        connection.execute(
            "insert into spending_days (kind, day, user_id, micro_usd) values ('llm', '2026-11-28', %s, 700)", (payer,)
        )
    elsewhere = make_content(connection, status="READY")
    job = new_id()
    connection.execute(
        "insert into jobs (id, job_type, queue, subject_id, group_key, again_for, payload, state, finished_at)"
        " values (%s, 'analyze_content', 'analysis', %s, %s, %s, %s, 'completed', now())",
        (job, elsewhere, f"follower:{user_id}", f"user:{user_id}", '{"url": "https://pages.example/SpeltByAda"}'),
    )
    connection.execute(
        "insert into credit_entries (id, user_id, kind, job_id, content_id, content_version, amount, state, settled_at)"
        " values (%s, %s, 'analysis', %s, %s, 1, -1, 'settled', now())",
        (new_id(), user_id, job, elsewhere),
    )
    connection.execute("update users set credits = credits - 1 where id = %s", (user_id,))


def tables(connection: Connection) -> list[str]:
    """Return the names of all tables of ours."""
    found = connection.execute(
        "select tablename from pg_tables where schemaname = 'public' and tablename not like '%%yoyo%%'"
        " order by tablename"
    )
    return [name for (name,) in found]


def filled(connection: Connection) -> set[str]:
    """Return the tables that hold anything."""
    return {
        table
        for table in tables(connection)
        if connection.execute(sql.SQL("select from {} limit 1").format(sql.Identifier(table))).fetchone() is not None
    }


def traces(connection: Connection, marks: Collection[str]) -> list[tuple[str, str]]:
    """Return where one of these words stands, in any column of any table, whatever its case: (table, row)."""
    found = []
    for table in tables(connection):
        rows = connection.execute(
            sql.SQL("select lower(whole::text) from {} as whole where lower(whole::text) like any(%s)").format(
                sql.Identifier(table)
            ),
            ([f"%{mark.lower()}%" for mark in marks],),
        )
        found += [(table, row) for (row,) in rows]
    return found


def own_ids(connection: Connection, user_id: UUID) -> set[str]:
    """Return the ids of all rows that are a user's."""
    ids = {str(user_id)}
    for (table,) in connection.execute(
        "select c.table_name from information_schema.columns c join information_schema.columns i"
        " on i.table_name = c.table_name and i.table_schema = c.table_schema and i.column_name = 'id'"
        " where c.table_schema = 'public' and c.column_name = 'user_id' and c.table_name not in ('content_payers',"
        " 'credit_entries', 'spendings')"
    ).fetchall():
        rows = connection.execute(
            sql.SQL("select id from {} where user_id = %s").format(sql.Identifier(table)), (user_id,)
        )
        ids |= {str(id_) for (id_,) in rows}
    return ids
