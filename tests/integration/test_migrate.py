"""The schema can be made, undone and made again."""

import threading

import psycopg

from infra.local.migrate import MIGRATIONS, migrate, roll_back
from siftline.kit.ids import new_id

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


def test_addresses_that_were_saved_before_are_their_first_savers_alone(make_database):
    with psycopg.connect(make_database()) as connection:
        connection.execute((MIGRATIONS / "0049_addresses.rollback.sql").read_text())
        users = [new_id(), new_id()]
        connection.cursor().executemany(
            "insert into users (id, name) values (%s, %s::text)", [(id_, id_) for id_ in users]
        )
        before = {
            "https://a.example/1?mc_eid=SECRET#:~:text=x": "https://a.example/1",
            "https://a.example/2?id=7&utm_source=SECRET&amp;fbclid=SECRET&x=1#SECRET": "https://a.example/2?id=7&x=1",
            "https://a.example/3?MKT_TOK=SECRET#!/route": "https://a.example/3#!/route",
            "https://a.example/4?utm_medium=SECRET&b=2": "https://a.example/4?b=2",
            "https://a.example/5?idutm_source=7&a&b=": "https://a.example/5?idutm_source=7&a&b=",
            "http://127.0.0.1:8099/6#SECRET": "http://127.0.0.1:8099/6",
        }
        for url, clean in before.items():
            content_id = new_id()
            connection.execute("insert into contents (id, url, url_key) values (%s, %s, %s)", (content_id, url, clean))
            for user_id in users:
                connection.execute(
                    "insert into items (id, user_id, content_id, saved) values (%s, %s, %s, true)",
                    (new_id(), user_id, content_id),
                )
        connection.execute((MIGRATIONS / "0049_addresses.sql").read_text())
        shown = connection.execute(
            "select i.user_id, i.url, c.url, c.typed_origin from items i join contents c on c.id = i.content_id"
            " order by c.url_key, i.created_at, i.id"
        ).fetchall()
    assert [row[2] for row in shown[::2]] == sorted(before.values())
    assert {row[0]: row[1] for row in shown[1::2]} == {users[1]: None}
    assert [row[1] for row in shown[::2]] == [
        url if url != clean else None for url, clean in sorted(before.items(), key=lambda one: one[1])
    ]
    assert {row[2]: row[3] for row in shown if row[3]} == {"http://127.0.0.1:8099/6": "http://127.0.0.1:8099"}
