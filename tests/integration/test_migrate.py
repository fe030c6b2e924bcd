"""The schema can be made, undone and made again."""

import threading

import psycopg

from infra.local.migrate import migrate, roll_back

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


def test_rolling_back_leaves_no_table_and_migrating_again_brings_all_back(make_database):
    url = make_database()
    tables = _tables(url)
    assert roll_back(url) >= 1
    assert _tables(url) == []
    migrate(url)
    assert _tables(url) == tables


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


def test_every_test_begins_with_empty_tables(database):
    with database.transaction() as connection:
        assert connection.execute("select count(*) from users").fetchone() == (0,)
        connection.execute("insert into users (id, name) values (gen_random_uuid(), 'left behind')")


def test_every_test_begins_with_empty_tables_again(database):
    test_every_test_begins_with_empty_tables(database)
