"""A database is brought up to date, once, and one that another schema made is left alone."""

import re
import shutil
import threading
from contextlib import closing

import psycopg
import pytest

from siftline.api.http.authorize import Authorizer
from siftline.kit.db import SingleConnection
from siftline.operate.migrate import MIGRATIONS, migrate
from siftline.operate.set_up_error import SetUpError
from siftline.operate.user_command import make_user

_TABLES = "select tablename from pg_tables where schemaname = 'public' and tablename not like '%yoyo%' order by 1"


def _tables(url: str) -> list[str]:
    with psycopg.connect(url) as connection:
        return [name for (name,) in connection.execute(_TABLES)]


def test_migrating_twice_changes_nothing_the_second_time(make_database):
    url = make_database(migrated=False)
    assert migrate(url) >= 1
    tables = _tables(url)
    assert {"users", "contents", "jobs"} <= set(tables)
    assert migrate(url) == 0
    assert _tables(url) == tables


def test_the_short_name_of_the_scheme_does_as_well(make_database):
    assert migrate(make_database(migrated=False).replace("postgresql://", "postgres://", 1)) > 0


def test_of_several_hosts_one_that_answers_is_migrated(make_database):
    assert migrate(make_database(migrated=False).replace("@", "@127.0.0.1:1,", 1)) > 0


def test_two_migrations_at_once_apply_each_file_once(make_database):
    url = make_database(migrated=False)
    applied = []
    threads = [threading.Thread(target=lambda: applied.append(migrate(url))) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(applied)[:2] == [0, 0]
    assert len(applied) == 3


def test_a_migration_killed_before_its_end_does_not_lock_out_the_next(make_database):
    url = make_database(migrated=False)
    migrate(url)
    with psycopg.connect(url, autocommit=True) as connection:  # what yoyo's own lock leaves behind
        connection.execute("insert into yoyo_lock (locked, ctime, pid) values (1, now(), 1)")
    assert migrate(url) == 0


@pytest.mark.parametrize(
    ("history", "maker"),
    [
        (["0001_house", "0062_payloads"], "an older, unreleased schema (0062_payloads)"),
        (["0001_schema", "0002_tomorrow", "0003_later"], "a newer release (0003_later)"),
    ],
)
def test_a_database_with_migrations_that_are_not_ours_is_refused_and_left_alone(make_database, history, maker):
    url = make_database(migrated=False)
    with psycopg.connect(url) as connection:
        connection.execute("create table _yoyo_migration (migration_hash text, migration_id text)")
        connection.cursor().executemany("insert into _yoyo_migration values (md5(%s), %s)", [(n, n) for n in history])
    with pytest.raises(SetUpError, match=re.escape(f"This database was created by {maker}. Use a new folder")):
        migrate(url)
    assert _tables(url) == []


def test_whoever_goes_back_works_on_what_a_newer_release_only_added_to(make_database, tmp_path):
    url = make_database(migrated=False)
    newer = shutil.copytree(MIGRATIONS, tmp_path / "newer")
    (newer / "0998_more.sql").write_text(
        "set local lock_timeout = '5s'; alter table users add column motto text; create table mottos (id int);"
    )
    ours = len(list(MIGRATIONS.glob("*.sql")))
    assert migrate(url, newer) == ours + 1
    assert migrate(url) == 0
    with closing(SingleConnection(url)) as database:
        assert Authorizer(database).identify(f"Bearer {make_user(database, 'Ada').token}")
    assert migrate(url, newer) == 0

    (newer / "0999_contract_less.sql").write_text("set local lock_timeout = '5s'; drop table mottos;")
    assert migrate(url, newer) == 1
    with pytest.raises(
        SetUpError, match=re.escape("created by a newer release (0999_contract_less). Use a new folder")
    ):
        migrate(url)


def test_every_test_begins_with_empty_tables(database):
    with database.transaction() as connection:
        assert connection.execute("select count(*) from users").fetchone() == (0,)
        connection.execute("insert into users (id, name) values (gen_random_uuid(), 'left behind')")


def test_every_test_begins_with_empty_tables_again(database):
    test_every_test_begins_with_empty_tables(database)
