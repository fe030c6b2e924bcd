"""Whatever the database lets stand in a column of lists, objects, times or addresses: no request ends in an error."""

import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg import sql

from siftline.kit.db import Database, open_database
from siftline.operate.migrate import MIGRATIONS, migrate
from tests.accounts import Household, household, tables
from tests.api_client import World, sent
from tests.http_events import http_event

JSON = ('"x"', "{}", "[]", '{"x": 1}', "null", "[null]", "7", '[{"id": 1e400}]')
LISTS = ("{{%s,%s},{%s,%s}}", "{NULL}", "{NULL,%s}", "{}", "[0:1]={%s,%s}")
ELEMENTS = {"_text": "read", "_uuid": "0190b6c0-0000-7000-8000-000000000001", "_int2": "7", "_int4": "7"}
HOSTILE = {
    "jsonb": JSON,
    "time": ("24:00", "23:59:59.999999"),
    "date": ("infinity", "-infinity", "4000-01-01 BC", "99999-01-01"),
    "text": ("http://[", "::", "", "x", "http://a b/", "http://\u202e/", "javascript:x"),
    **{kind: tuple(one.replace("%s", element) for one in LISTS) for kind, element in ELEMENTS.items()},
}
"""Values by the type of a column; of texts, for those that hold addresses."""
_COLUMNS = """
select column_name, udt_name from information_schema.columns
where table_schema = 'public' and table_name = %s and (udt_name = any(%s) or column_name ~ '(^|_)url$')
"""
_OPML = '<opml version="2.0"><body><outline text="a" xmlUrl="https://feeds.example/{}.xml"/></body></opml>'


@pytest.fixture
def world(database: Database) -> World:
    return World(database)


def furnished(world: World) -> Household:
    """Make a household in which the columns that a request reads hold something."""
    house = household(world)
    owner = house.ada.user_id
    world.sql(
        "insert into topic_sets (id, user_id, source_id, only_topics) values (gen_random_uuid(), %s, %s, '{energy}')",
        *(owner, house.shared_feed),
    )
    world.sql(
        "insert into readings (user_id, content_id, made_at) values (%s, %s, now())"
        " on conflict (user_id, content_id) do update set made_at = now()",
        *(owner, house.own_page),
    )
    world.sql("insert into fetch_hosts (scope) values ('pages.example')")
    for change in (
        "sources set feed_url = url, adopted_url = url, resolved_url = url, site_url = url",
        "sources set wished_minutes = 60, refresh_min_minutes = 60, refresh_max_minutes = 60",
        "subscriptions set url = 'https://feeds.example/' || id",
        "items set url = 'https://pages.example/' || id, score = 0.5, score_reasons = '[]'",
        "contents set topics = '[]', media = '{}', image_url = url",
        "source_entries set told = '{}'",
        "jobs set result = '{}'",
        "idempotency_keys set item_ids = '{}'",
    ):
        world.sql(f"update {change}")
    return house


def paths(world: World, house: Household) -> list[str]:
    """Return the paths of all GETs of the document, each with an id of what the user has."""
    ids = {"source_id": house.shared_feed}
    for name, table in (
        ("item_id", "items"), ("cluster_id", "clusters"), ("briefing_id", "briefings"), ("edition_id", "editions"),
    ):  # fmt: skip
        [[ids[name]], *_] = world.sql(f"select id from {table} where user_id = %s order by id", house.ada.user_id)
    document = house.ada.get("/v1/openapi.json").json
    found = [path for path, methods in document["paths"].items() if "get" in methods and path.startswith("/v1/")]
    found.remove("/v1/openapi.json")
    return [re.sub(r"{(\w+)}", lambda match: str(ids.get(match[1], ids["source_id"])), path) for path in found]


def hostile(world: World, names: list[str]) -> Iterator[str]:
    """Put one hostile value after another into all columns at once, and yield them; then put back what was there.

    What the database refuses in a column stays out of that one.
    """
    columns = [
        (table, *column) for table in names for column in world.sql(_COLUMNS, table, list(HOSTILE.keys() - {"text"}))
    ]

    def run(statement: str, table: str, column: str, *values: Any) -> None:
        parts = (sql.Identifier(one) for one in (table, column, f"{column}_kept"))
        with world.database.transaction() as connection:
            connection.execute(sql.SQL(statement).format(*parts), values)

    for table, column, kind in columns:
        run(f"alter table {{0}} add column {{2}} {kind}", table, column)
        run("update {0} set {2} = {1}", table, column)
    for place in range(max(map(len, HOSTILE.values()))):
        put = []
        for number, (table, column, kind) in enumerate(columns):
            value = HOSTILE[kind][(place + number) % len(HOSTILE[kind])]
            try:
                run(f"update {{0}} set {{1}} = %s::{kind} where {{2}} is not null", table, column, value)
            except psycopg.IntegrityError:
                continue
            put.append(f"{table}.{column} = {value}")
        yield ", ".join(put)
        for table, column, _ in columns:
            run("update {0} set {1} = {2} where {2} is not null", table, column)


def test_no_value_in_any_column_fails_a_request(world: World) -> None:
    house = furnished(world)
    ada = house.ada
    asked = paths(world, house)
    atom: dict[str, Any] = {"query": {"token": ada.post("/v1/feed-tokens", {"name": "all"}).json["token"]}}
    with world.database.transaction() as connection:
        names = tables(connection)
    failed = []
    for number, put in enumerate(hostile(world, names)):
        answers = {f"GET {path}": ada.get(path) for path in asked}
        for path in ("/v1/feed.atom", "/v1/editions.atom"):
            answers[f"GET {path} with a token"] = sent(world.api, http_event("GET", path, **atom))
        answers["POST source"] = ada.post("/v1/sources", {"url": f"https://feeds.example/{number}"})
        opml = {"body": _OPML.format(number), "headers": {"content-type": "text/x-opml"}}
        answers["POST opml"] = ada.send("POST", "/v1/opml", **opml)
        answers["POST run"] = ada.post(next(path for path in asked if "/briefings/" in path) + "/run")
        failed += [
            f"{answered.status} {what} with {put}"
            for what, answered in answers.items()
            if answered.status >= 500 or (what.startswith("POST") and answered.status >= 400)
        ]
    assert not failed, "\n".join(failed)


UNREADABLE = (
    ("briefings", "at", ("24:00",), "00:00:00"),
    ("editions", "document", ('"x"', "[]", "7", "null"), "{}"),
    ("editions", "looked_at", (f"{{{ELEMENTS['_uuid']},NULL}}",), f"{{{ELEMENTS['_uuid']}}}"),
    ("clusters", "keywords", ("{a,NULL,b}", "{{a},{b}}"), "{a,b}"),
    ("topic_sets", "only_topics", ("{a,NULL,b}", "{{a},{b}}"), "{a,b}"),
    ("access_tokens", "scopes", ("{read,NULL}", "{{read}}"), "{read}"),
    ("sources", "wished_minutes", ("-1",), "5"),
    ("sources", "refresh_min_minutes", ("2147483647",), "10080"),
    ("sources", "refresh_max_minutes", ("0",), "5"),
    ("fetch_hosts", "in_work", ("[]", "null"), "{}"),
    ("fetch_hosts", "refused", ("7",), "{}"),
    ("idempotency_keys", "item_ids", (f"{{{{{ELEMENTS['_uuid']}}}}}",), f"{{{ELEMENTS['_uuid']}}}"),
)
"""Columns that hold no value that cannot be read: such values, and what a migration makes of each."""


@pytest.mark.parametrize(("table", "column", "values", "_"), UNREADABLE)
def test_the_database_takes_no_value_that_no_program_can_read(
    world: World, table: str, column: str, values: tuple[str, ...], _: str
) -> None:
    furnished(world)
    for value in values:
        with pytest.raises(psycopg.errors.CheckViolation):
            world.sql(f"update {table} set {column} = %s where {column} is not null", value)
    [[left]] = world.sql("select count(*) from pg_constraint where conname like %s and not convalidated", f"{table}_%")
    assert left, "existing rows are not read while the table is locked"


@pytest.mark.parametrize("place", range(4))
def test_rows_from_before_are_put_right(make_database: Callable[..., str], tmp_path: Path, place: int) -> None:
    url = make_database(migrated=False)
    before = tmp_path / "migrations"
    before.mkdir()
    for path in MIGRATIONS.glob("000[12]_*.sql"):
        shutil.copy(path, before)
    migrate(url, before)
    with closing(open_database(url, 2)) as database:
        world = World(database)
        furnished(world)
        world.sql("update briefings set frequency = 'WEEKLY', weekday = 7, next_due_at = now()")
        for table, column, values, _ in UNREADABLE:
            world.sql(f"update {table} set {column} = %s where {column} is not null", values[place % len(values)])

        assert migrate(url) == len(list(MIGRATIONS.glob("*.sql"))) - 2

        for table, column, _, put_right in UNREADABLE:
            found = world.sql(f"select distinct {column}::text from {table} where {column} is not null")
            assert found == [(put_right,)], table
        assert world.sql("select distinct weekday, next_due_at from briefings") == [(1, None)]
        constraints = world.sql(
            "select conrelid::regclass::text, conname from pg_constraint where not convalidated and contype = 'c'"
        )
        for table, name in constraints:  # every row holds to it
            world.sql(f"alter table {table} validate constraint {name}")
    assert len(constraints) == 14
