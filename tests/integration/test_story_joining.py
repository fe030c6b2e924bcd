"""Stories at once: what comes for a user joins what tells of the same, and what goes leaves no trace."""

import threading
import uuid
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from siftline.cluster.joining import Rule
from siftline.cluster.story_service import JoinUserStories, StoriesChangedError, subject_of
from siftline.contracts import AnalyzeContent, JobType
from siftline.contracts import JoinStories as JoinStoriesMessage
from siftline.kit.errors import SiftlineError
from siftline.kit.ids import new_id
from tests.factories import claimed, embed, make_user
from tests.integration.test_cluster import bunch, column, hold, write

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)


@pytest.fixture
def user(database):
    with database.transaction() as connection:
        return make_user(connection)


def news(database, user_id, centre, count=1, *, hours=0.0, seed=0, **columns):
    """Contents about one thing; several centres have nothing in common."""
    at = NOW + timedelta(hours=hours)
    return hold(database, user_id, bunch(centre, count, seed=seed), sort_at=at, **columns)


def join(database, user_id, **options):
    done = JoinUserStories(database, Rule(), **options).process(claimed(user_id, JobType.JOIN_STORIES))
    write(database, done)
    return done


def stories(database, user_id):
    """The members of each story, by its id."""
    with database.transaction() as connection:
        rows = connection.execute(
            "select story_id, array_agg(content_id) from story_items where user_id = %s group by story_id", (user_id,)
        ).fetchall()
        sizes = dict(connection.execute("select id, size from stories where user_id = %s", (user_id,)).fetchall())
    found = {story_id: set(members) for story_id, members in rows}
    assert sizes == {story_id: len(members) for story_id, members in found.items()}
    return found


def background(database, user_id):
    """A few stories of other things, so that a mean of what is at hand says little of any one of them."""
    for centre in range(20, 30):
        news(database, user_id, centre)
    join(database, user_id)


def test_what_tells_of_the_same_becomes_one_story_with_its_times_centroid_and_lead(database, user):
    background(database, user)
    first, last = news(database, user, 0, 2), news(database, user, 0, 1, hours=5, seed=1)

    done = join(database, user)

    [story_id] = [story for story, members in stories(database, user).items() if len(members) > 1]
    assert stories(database, user)[story_id] == {*first, *last}
    assert done.result == {"joined": 3, "stories": 1}
    with database.transaction() as connection:
        row = connection.execute(
            "select first_at, last_at, model_version, lead_id, centroid from stories where id = %s", (story_id,)
        ).fetchone()
        distances = [
            r[0] for r in connection.execute("select distance from story_items where story_id = %s", (story_id,))
        ]
    assert row[:3] == (NOW, NOW + timedelta(hours=5), "tiny-1")
    assert row[3] in {*first, *last}
    assert np.linalg.norm(np.frombuffer(row[4], "<f4")) == pytest.approx(1.0)
    assert all(0 <= distance < 0.1 for distance in distances)


def test_what_comes_later_joins_its_story_which_keeps_its_id_and_lead(database, user):
    background(database, user)
    news(database, user, 0, 2)
    join(database, user)
    before = stories(database, user)
    lead = column(database, "select lead_id from stories where size = 2")
    [added] = news(database, user, 0, 1, hours=20, seed=3)

    join(database, user)

    after = stories(database, user)
    assert set(after) == set(before)
    assert [members - before[story] for story, members in after.items() if members != before[story]] == [{added}]
    assert column(database, "select lead_id from stories where size = 3") == lead


def test_what_comes_after_a_long_silence_begins_a_story(database, user):
    background(database, user)
    news(database, user, 0, 2)
    join(database, user)
    news(database, user, 0, 1, hours=100, seed=3)

    join(database, user)

    assert sorted(map(len, stories(database, user).values()))[-3:] == [1, 1, 2]


def test_nothing_new_changes_nothing_and_no_contents_are_no_error(database, user):
    assert join(database, user).result == {"joined": 0, "stories": 0}
    news(database, user, 0, 2)
    join(database, user)
    before = column(database, "select id::text || updated_at from stories order by 1")

    assert join(database, user).result == {"joined": 0, "stories": 0}
    assert column(database, "select id::text || updated_at from stories order by 1") == before


def test_only_what_is_ready_and_embedded_is_joined(database, user):
    news(database, user, 0, 2, status="PENDING")
    with database.transaction() as connection:
        stranger = make_user(connection)
    news(database, stranger, 0, 2)

    join(database, user)

    assert stories(database, user) == {}


def test_a_flood_is_joined_in_batches_the_newest_first(database, user):
    background(database, user)
    newest = news(database, user, 0, 2, hours=30)
    news(database, user, 1, 2)

    done = join(database, user, batch=2)

    assert set(newest) in stories(database, user).values()
    assert [(job.job_type, job.subject_id) for job in done.follow] == [(JobType.JOIN_STORIES, user)]
    assert join(database, user, batch=3).follow == []
    assert sorted(map(len, stories(database, user).values()))[-2:] == [2, 2]


def test_a_duplicate_belongs_to_the_story_of_its_original_whatever_its_vector(database, user):
    background(database, user)
    [original] = news(database, user, 0)
    join(database, user)
    [copy] = news(database, user, 1, hours=400, duplicate_of=original)

    join(database, user)

    assert {original, copy} in stories(database, user).values()
    assert column(database, "select lead_id from stories where size = 2") == [original]


def test_what_turns_out_to_be_a_duplicate_moves_to_its_originals_story(database, user):
    background(database, user)
    [original], [other] = news(database, user, 0), news(database, user, 1)
    join(database, user)
    with database.transaction() as connection:
        connection.execute("update contents set duplicate_of = %s where id = %s", (original, other))

    join(database, user)

    assert {original, other} in stories(database, user).values()
    assert column(database, "select count(*) from story_items where stale") == [0]


def test_an_edit_that_makes_another_matter_of_it_is_joined_anew(database, user):
    background(database, user)
    held = news(database, user, 0, 3)
    join(database, user)
    with database.transaction() as connection:
        vector = bunch(5, 1)[0].astype("<f4").tobytes()
        connection.execute("update embeddings set vector = %s where content_id = %s", (vector, held[0]))

    assert join(database, user).result["joined"] == 1
    assert {held[0]} in stories(database, user).values()
    assert set(held[1:]) in stories(database, user).values()


def test_an_edit_that_changes_little_leaves_a_content_where_it_is(database, user):
    background(database, user)
    held = news(database, user, 0, 3)
    join(database, user)
    before = stories(database, user)
    with database.transaction() as connection:
        vector = bunch(0, 1, seed=8)[0].astype("<f4").tobytes()
        connection.execute("update embeddings set vector = %s where content_id = %s", (vector, held[0]))

    join(database, user)

    assert stories(database, user) == before
    assert column(database, "select count(*) from story_items where stale") == [0]


def test_what_is_deleted_is_gone_from_its_story_and_the_last_one_takes_it_along(database, user):
    background(database, user)
    held = news(database, user, 0, 3, hours=0)
    [alone] = news(database, user, 1)
    join(database, user)
    [lead] = column(database, "select lead_id from stories where size = 3")

    with database.transaction() as connection:
        connection.execute("delete from items where content_id = any(%s)", ([lead, alone],))

    assert {*held} - {lead} in stories(database, user).values()
    assert column(database, "select count(*) from stories where lead_id = any(%s)", [lead, alone]) == [0]
    assert column(database, "select lead_id from stories where size = 2")[0] in {*held} - {lead}


def test_what_is_deleted_while_a_run_is_under_way_does_not_come_back(database, user):
    background(database, user)
    held, [alone] = news(database, user, 0, 3), news(database, user, 1)
    done = JoinUserStories(database, Rule()).process(claimed(user, JobType.JOIN_STORIES))
    with database.transaction() as connection:
        connection.execute("delete from items where content_id = any(%s)", ([held[0], alone],))

    write(database, done)

    assert set(held[1:]) in stories(database, user).values()
    assert column(database, "select count(*) from story_items where content_id = any(%s)", [held[0], alone]) == [0]


def test_a_user_deleted_meanwhile_leaves_nothing(database, user):
    news(database, user, 0, 3)
    done = JoinUserStories(database, Rule()).process(claimed(user, JobType.JOIN_STORIES))
    with database.transaction() as connection:
        connection.execute("delete from users where id = %s", (user,))

    write(database, done)

    assert column(database, "select id from stories") == []


def test_of_two_runs_at_once_one_counts_and_the_other_begins_anew(database, user):
    background(database, user)
    held = news(database, user, 0, 4)
    runs = [JoinUserStories(database, Rule()).process(claimed(user, JobType.JOIN_STORIES)) for _ in range(2)]
    refused = []

    def finish(done):
        try:
            write(database, done)
        except SiftlineError as error:
            refused.append(error)

    threads = [threading.Thread(target=finish, args=(done,)) for done in runs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert [type(error) for error in refused] == [StoriesChangedError]
    assert [members for members in stories(database, user).values() if len(members) > 1] == [set(held)]
    assert join(database, user).result == {"joined": 0, "stories": 0}


def test_stories_live_on_when_another_model_takes_over(database, user):
    background(database, user)
    held = news(database, user, 0, 3)
    join(database, user)
    before = stories(database, user)
    with database.transaction() as connection:
        rows = connection.execute("select content_id from embeddings order by content_id").fetchall()
        for seed, (content_id,) in enumerate(rows):
            embed(connection, content_id, bunch(9 if content_id in held else 10 + seed % 20, 1, seed=seed)[0], "tiny-2")
        connection.execute("delete from embeddings where model_version = 'tiny-1'")
    [added] = news(database, user, 9, 1, hours=3, seed=50, model="tiny-2")

    join(database, user)

    after = stories(database, user)
    assert set(before) <= set(after)
    assert {*held, added} in after.values()
    assert column(database, "select model_version from stories where size = 4") == ["tiny-2"]


def test_users_have_stories_of_their_own(database, user):
    shared = news(database, user, 0, 2)
    with database.transaction() as connection:
        other = make_user(connection)
        for content_id in shared:
            connection.execute(
                "insert into items (id, user_id, content_id) values (%s, %s, %s)", (uuid.uuid4(), other, content_id)
            )
    join(database, user)
    before = stories(database, user)

    join(database, other)

    assert stories(database, user) == before
    assert not set(stories(database, other)) & set(before)


def test_a_message_without_a_job_names_a_user_that_exists(database, user):
    with database.transaction() as connection:
        assert subject_of(connection, JoinStoriesMessage(user_id=user)) == user
        assert subject_of(connection, JoinStoriesMessage(user_id=new_id())) is None
        assert subject_of(connection, AnalyzeContent(shared_content_id=new_id())) is None
