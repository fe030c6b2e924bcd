import threading
import time
import uuid
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pytest

from siftline.cluster.cluster_service import ClusterUser, subject_of
from siftline.cluster.language_means import shipped
from siftline.cluster.layout import PALETTE
from siftline.cluster.space import Recipe
from siftline.contracts import AnalyzeContent, JobType
from siftline.contracts import ClusterUser as ClusterUserMessage
from siftline.jobs.job_model import Done
from siftline.kit.db import Database
from siftline.kit.ids import new_id
from tests.factories import claimed, embed, make_content, make_item, make_user

MODEL = "tiny-1"
WAITING = "select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'"


def bunch(centre: int, count: int, *, spread: float = 0.04, seed: int = 0) -> list[np.ndarray]:
    """``count`` unit vectors of 32 dimensions around one axis."""
    rng = np.random.default_rng((seed, centre))
    rows = np.eye(32)[centre] + rng.normal(scale=spread, size=(count, 32))
    return list((rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32))


def hold(
    database: Database,
    user_id: uuid.UUID,
    vectors: Sequence[np.ndarray],
    *,
    title: str = "Untold",
    model: str = MODEL,
    **columns: Any,
) -> list[uuid.UUID]:
    """Make READY contents with these vectors, held by the user."""
    ids = []
    with database.transaction() as connection:
        for vector in vectors:
            values: dict[str, Any] = {"status": "READY", "lang": "en", "title": title, "text": title, **columns}
            content_id = make_content(connection, **values)
            make_item(connection, user_id, content_id)
            embed(connection, content_id, vector, model)
            ids.append(content_id)
    return ids


def write(database: Database, done: Done) -> None:
    with database.transaction() as connection:
        done.write(connection)


def run(database: Database, user_id: uuid.UUID, recipe: Recipe | None = None, **options: Any) -> dict:
    done = ClusterUser(database, recipe or Recipe(), **options).process(claimed(user_id, JobType.CLUSTER_USER))
    write(database, done)
    return dict(done.result)


def clusters(database: Database, user_id: uuid.UUID) -> dict[uuid.UUID, set[uuid.UUID]]:
    with database.transaction() as connection:
        rows = connection.execute(
            "select c.id, array_agg(m.content_id) from clusters c join cluster_memberships m on m.cluster_id = c.id"
            " where c.user_id = %s group by c.id",
            (user_id,),
        ).fetchall()
    return {cluster_id: set(members) for cluster_id, members in rows}


def whereabouts(database: Database) -> dict[uuid.UUID, tuple[str, float, float]]:
    """The colour of each cluster and the middle of its members on the map."""
    with database.transaction() as connection:
        rows = connection.execute(
            "select k.id, k.colour, avg(m.x), avg(m.y)"
            " from clusters k join cluster_memberships m on m.cluster_id = k.id group by k.id"
        ).fetchall()
    return {cluster_id: (colour, x, y) for cluster_id, colour, x, y in rows}


def column(database: Database, statement: str, *values: object) -> list:
    with database.transaction() as connection:
        return [row[0] for row in connection.execute(statement, values).fetchall()]


@pytest.fixture
def user(database):
    with database.transaction() as connection:
        return make_user(connection)


def test_a_users_contents_become_clusters_with_labels_centroids_and_quality(database, user):
    bank = hold(database, user, bunch(0, 6), title="Central bank raises interest rates")
    derby = hold(database, user, bunch(1, 5), title="Late goal wins the derby")

    result = run(database, user)

    assert sorted(clusters(database, user).values(), key=len) == [set(derby), set(bank)]
    with database.transaction() as connection:
        labels = dict(connection.execute("select size, label from clusters").fetchall())
        run_row = connection.execute("select model_version, contents, parameters, quality from cluster_runs").fetchone()
        centroid = connection.execute("select centroid from clusters where size = 6").fetchone()[0]
    assert labels[6].startswith("Central bank")
    assert labels[5] == "goal · derby"
    assert run_row[0:2] == (MODEL, 11)
    assert run_row[2]["recipe"]["dimensions"] == Recipe().dimensions
    assert run_row[3]["stories"] == result["stories"] == 2
    assert run_row[3]["unclustered"] == 0
    assert np.linalg.norm(np.frombuffer(centroid, "<f4")) == pytest.approx(1.0)


@pytest.mark.parametrize("count", [0, 1, 2])
def test_a_user_with_hardly_any_contents_gets_an_empty_run(database, user, count):
    """Case C01."""
    hold(database, user, bunch(0, count))

    result = run(database, user)

    assert (result["stories"], result["unclustered"]) == (0, count)
    assert clusters(database, user) == {}
    assert column(database, "select contents from cluster_runs") == [count]


def test_only_what_is_ready_held_and_embedded_counts(database, user):
    held = [set(hold(database, user, bunch(centre, 5))) for centre in (0, 1)]
    hold(database, user, bunch(0, 5, seed=1), status="PENDING")
    with database.transaction() as connection:
        make_item(connection, user, make_content(connection, status="READY"))
        stranger = make_user(connection)
    hold(database, stranger, bunch(0, 5, seed=2))

    run(database, user)

    assert sorted(clusters(database, user).values(), key=min) == held
    assert clusters(database, stranger) == {}


def test_after_one_more_item_every_content_keeps_its_cluster_and_label(database, user):
    """Case C03."""
    for centre in range(4):
        hold(database, user, bunch(centre, 8, spread=0.12), title=f"Story number {'abcd'[centre] * 4}")
    run(database, user)
    before = clusters(database, user)
    labels = set(column(database, "select id::text || label || first_seen_at from clusters"))
    hold(database, user, bunch(9, 1))

    result = run(database, user)

    after = clusters(database, user)
    kept = sum(len(members & after.get(cluster_id, set())) for cluster_id, members in before.items())
    assert kept >= 0.95 * sum(map(len, before.values()))
    assert result["anew"] is False
    assert set(column(database, "select id::text || label || first_seen_at from clusters")) == labels
    assert column(database, "select count(distinct run_id) from clusters") == [1]


def test_a_title_that_stands_for_a_cluster_goes_with_its_content(database, user):
    def told() -> list:
        return column(database, "select array[label, titled_by::text] from clusters where label <> 'Derby'")

    titles = ("Glacier", "Otter", "Whale", "Orchid", "Comet", "Quarry")
    hold(database, user, bunch(1, 6), title="Derby")
    for vector, title in zip(bunch(0, 6), titles, strict=True):
        hold(database, user, [vector], title=title, text=f"{title}.")
    run(database, user)
    [[label, titled_by]] = before = told()
    assert label in titles
    assert column(database, "select title from contents where id = %s", titled_by) == [label]
    run(database, user)
    assert told() == before
    with database.transaction() as connection:
        connection.execute("delete from items where content_id = %s", (titled_by,))

    run(database, user)

    [[renamed, by]] = told()
    assert renamed in set(titles) - {label}
    assert by != titled_by


def test_a_label_that_an_earlier_version_gave_is_not_kept(database, user):
    hold(database, user, bunch(0, 6), title="Central bank raises interest rates")
    run(database, user)
    named = column(database, "select label from clusters")
    with database.transaction() as connection:
        connection.execute("update clusters set label = 'nine · vier · levy'")
        connection.execute("update cluster_runs set parameters = parameters - 'labels'")

    assert run(database, user)["anew"] is False
    assert column(database, "select label from clusters") == named
    assert column(database, "select count(distinct parameters->>'labels') from cluster_runs") == [1]


def test_a_cluster_keeps_its_colour_and_its_place_on_the_map_when_one_more_item_comes(database, user):
    for centre in range(10):
        hold(database, user, bunch(centre, 6))
    run(database, user)
    before = whereabouts(database)
    hold(database, user, bunch(0, 1, seed=7))

    run(database, user)

    after = whereabouts(database)
    assert set(after) == set(before)
    assert len({colour for colour, _, _ in before.values()}) == len(PALETTE)
    for cluster_id, (colour, x, y) in before.items():
        assert after[cluster_id][0] == colour
        assert np.hypot(after[cluster_id][1] - x, after[cluster_id][2] - y) < 0.15
    assert column(database, "select count(*) from cluster_memberships where x is null or y is null") == [0]


def test_few_contents_of_the_shipped_model_are_grouped_by_their_likeness(database, user):
    first, second = bunch(0, 4), bunch(1, 3)
    news = np.tile(shipped()["e5-small-int8-1/en"], (7, 1))
    news[:, :32] += 0.5 * np.array([*first, *second])
    news /= np.linalg.norm(news, axis=1, keepdims=True)
    ids = hold(database, user, list(news), model="e5-small-int8-1")

    run(database, user)

    assert sorted(clusters(database, user).values(), key=len) == [set(ids[4:]), set(ids[:4])]


def test_great_change_another_recipe_or_much_time_groups_everything_anew(database, user):
    hold(database, user, bunch(0, 10))
    assert run(database, user)["anew"] is True
    assert run(database, user)["anew"] is False
    assert run(database, user, Recipe(min_size=4))["anew"] is True
    assert run(database, user, Recipe(min_size=4))["anew"] is False
    assert run(database, user, Recipe(min_size=4), regroup_after=timedelta(0))["anew"] is True
    hold(database, user, bunch(1, 3))
    assert run(database, user, Recipe(min_size=4))["anew"] is True


def test_the_vectors_of_the_model_that_covers_most_contents_count(database, user):
    ids = hold(database, user, bunch(0, 6), model="old")
    with database.transaction() as connection:
        for content_id, vector in zip(ids[:2], bunch(0, 2), strict=True):
            embed(connection, content_id, vector, "new")
    assert run(database, user)["contents"] == 6
    assert column(database, "select model_version from cluster_runs") == ["old"]

    with database.transaction() as connection:
        for content_id, vector in zip(ids[2:], bunch(0, 4, seed=1), strict=True):
            embed(connection, content_id, vector, "new")
    assert run(database, user)["anew"] is True
    assert column(database, "select model_version from cluster_runs order by made_at desc limit 1") == ["new"]


def test_only_the_newest_contents_are_grouped_where_there_are_too_many(database, user):
    hold(database, user, bunch(0, 5), sort_at=datetime(2020, 1, 1, tzinfo=UTC))
    newest = [set(hold(database, user, bunch(centre, 5))) for centre in (1, 2)]

    assert run(database, user, max_contents=10)["contents"] == 10
    assert sorted(clusters(database, user).values(), key=min) == newest


def test_what_is_deleted_while_a_run_is_under_way_is_not_in_its_clusters(database, user):
    """Fault 31."""
    gone = hold(database, user, bunch(0, 4))
    partly = hold(database, user, bunch(1, 5))
    done = ClusterUser(database, Recipe()).process(claimed(user, JobType.CLUSTER_USER))
    with database.transaction() as connection:
        connection.execute("delete from items where content_id = any(%s)", ([*gone, partly[0]],))
        connection.execute("delete from contents where id = any(%s)", (gone[:2],))

    write(database, done)

    assert list(clusters(database, user).values()) == [set(partly[1:])]
    assert column(database, "select size from clusters") == [4]


def test_a_content_that_is_being_deleted_is_waited_for_before_its_memberships_are_taken(database, user):
    gone, *_ = hold(database, user, [*bunch(0, 6), *bunch(1, 6)])
    run(database, user)
    done = ClusterUser(database, Recipe()).process(claimed(user, JobType.CLUSTER_USER))
    with ThreadPoolExecutor(1) as pool:
        with database.transaction() as connection:
            connection.execute("select from contents where id = %s for update", (gone,))
            writing = pool.submit(write, database, done)
            while not column(database, WAITING):
                assert not writing.done(), "nobody waits"
                time.sleep(0.01)
            connection.execute("delete from items where content_id = %s", (gone,))
            connection.execute("delete from contents where id = %s", (gone,))
        writing.result()

    assert sorted(map(len, clusters(database, user).values())) == [5, 6]


def test_two_runs_of_one_user_leave_one_result(database, user):
    """Fault 31."""
    for centre in range(3):
        hold(database, user, bunch(centre, 6))
    results = [ClusterUser(database, Recipe()).process(claimed(user, JobType.CLUSTER_USER)) for _ in range(2)]

    threads = [threading.Thread(target=write, args=(database, done)) for done in results]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert sorted(map(len, clusters(database, user).values())) == [6, 6, 6]
    assert column(database, "select count(*) from cluster_memberships") == [18]
    assert column(database, "select count(distinct run_id) from clusters") == [1]


def test_a_user_deleted_meanwhile_leaves_nothing(database, user):
    hold(database, user, bunch(0, 5))
    done = ClusterUser(database, Recipe()).process(claimed(user, JobType.CLUSTER_USER))
    with database.transaction() as connection:
        connection.execute("delete from users where id = %s", (user,))

    write(database, done)

    assert column(database, "select id from cluster_runs") == []


def test_users_do_not_touch_one_anothers_clusters(database, user):
    with database.transaction() as connection:
        other = make_user(connection)
    hold(database, user, bunch(0, 5))
    hold(database, other, bunch(0, 5, seed=3))
    run(database, user)
    run(database, other)
    before = clusters(database, user)

    run(database, other)

    assert clusters(database, user) == before


def test_only_the_latest_runs_are_kept(database, user):
    hold(database, user, [*bunch(0, 5), *bunch(1, 5)])
    for _ in range(32):
        run(database, user)

    assert column(database, "select count(*) from cluster_runs") == [30]
    assert len(clusters(database, user)) == 2


def test_a_message_without_a_job_names_a_user_that_exists(database, user):
    with database.transaction() as connection:
        assert subject_of(connection, ClusterUserMessage(user_id=user)) == user
        assert subject_of(connection, ClusterUserMessage(user_id=new_id())) is None
        assert subject_of(connection, AnalyzeContent(shared_content_id=new_id())) is None
