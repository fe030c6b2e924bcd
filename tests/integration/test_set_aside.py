"""One bad value stops nothing: bad rows beside good ones in a real PostgreSQL, through every job over many rows."""

from typing import Any
from uuid import UUID

import numpy as np
import pytest

from siftline.contracts import JobType
from siftline.jobs import credits_store, set_aside_store
from siftline.jobs.set_aside import checked, tell
from siftline.jobs.sweep import resume_waiting
from siftline.models import embedding_store, vectors_store
from siftline.models.embedding_store import Version
from siftline.rank.briefing_likeness import compare
from tests.api_client import ApiClient, World
from tests.factories import make_content, make_item, make_user
from tests.integration.test_cluster import MODEL, bunch, clusters, hold, run
from tests.integration.test_own_topics import FERRY, SEA, House, own
from tests.integration.test_story_joining import NOW, join, news, stories
from tests.scoring import MODEL as SCORED_BY
from tests.scoring import AxisDirections, Reader

NAN = np.full(32, np.nan, dtype=np.float32)
BAD_VECTORS = {
    "no number": NAN,
    "an infinite number": np.full(32, np.inf, dtype=np.float32),
    "not finite": np.full(32, 3e38, dtype=np.float32),
    "no direction": np.zeros(32, dtype=np.float32),
    "other dimensions": np.eye(31, dtype=np.float32)[0],
}
BAD_INSTANTS = ["0001-01-01", "0044-03-15 BC", "9999-12-31 23:59:59", "infinity", "-infinity"]
BAD_JSON = ["null", "3", '"sea"', "{}", '{"topic": "sea"}', '[null, 3, "sea", {"topic": 7}, {"score": 1}, [[]]]']


@pytest.fixture
def user(database):
    with database.transaction() as connection:
        return make_user(connection)


def aside(database: Any, job_type: str) -> dict[UUID, str]:
    """The rows that a job type has set aside, with their reasons."""
    with database.transaction() as connection:
        rows = set_aside_store.newest(connection, limit=200)
    return {row.row_id: row.reason_code for row in rows if row.job_type == job_type}


def revector(database: Any, content_id: UUID, vector: np.ndarray) -> None:
    with database.transaction() as connection:
        connection.execute(
            "update embeddings set vector = %s, dimensions = %s where content_id = %s",
            (vector.astype("<f4").tobytes(), vector.size, content_id),
        )


@pytest.mark.parametrize("bad", BAD_VECTORS.values(), ids=BAD_VECTORS.keys())
def test_what_has_a_bad_vector_is_set_aside_and_the_others_join_their_stories(database, user, bad):
    for centre in range(20, 30):
        news(database, user, centre)
    good = news(database, user, 0, 3)
    [broken] = hold(database, user, [bad], sort_at=NOW)

    assert join(database, user).result["set_aside"] == 1

    assert set(good) in stories(database, user).values()
    assert aside(database, "join_stories") == {broken: "unusable_vector"}
    assert join(database, user).result == {"joined": 0, "stories": 0}  # passed over, while it is as it was

    revector(database, broken, bunch(0, 1, seed=3)[0])
    join(database, user)
    assert {*good, broken} in stories(database, user).values()
    assert aside(database, "join_stories") == {}


def test_bad_rows_beyond_a_batch_keep_nothing_waiting(database, user):
    for centre in range(20, 30):
        news(database, user, centre)
    good = news(database, user, 0, 3, hours=-5)
    hold(database, user, [NAN] * 7)  # the newest, and more than one batch takes
    while join(database, user, batch=5).follow:
        pass
    assert set().union(*stories(database, user).values()) >= set(good)
    assert len(aside(database, "join_stories")) == 7


@pytest.mark.parametrize("bad", BAD_VECTORS.values(), ids=BAD_VECTORS.keys())
def test_what_has_a_bad_vector_is_set_aside_and_the_others_are_grouped(database, user, bad):
    bank = hold(database, user, bunch(0, 6), title="Central bank raises interest rates")
    derby = hold(database, user, bunch(1, 5), title="Late goal wins the derby")
    [broken] = hold(database, user, [bad])

    assert run(database, user)["set_aside"] == 1

    assert sorted(map(len, clusters(database, user).values())) == [5, 6]
    assert set().union(*clusters(database, user).values()) == {*bank, *derby}
    assert aside(database, "cluster_user") == {broken: "unusable_vector"}
    revector(database, broken, bunch(0, 1, seed=4)[0])
    run(database, user)
    assert aside(database, "cluster_user") == {}


@pytest.mark.parametrize("instant", BAD_INSTANTS)
def test_whatever_instant_stands_in_a_row_the_others_are_joined_and_grouped(database, user, instant):
    for centre in range(20, 30):
        news(database, user, centre)
    good = news(database, user, 0, 3)
    hold(database, user, bunch(5, 1), sort_at=instant, published_at=instant)

    join(database, user)
    run(database, user)

    assert set(good) in stories(database, user).values()


def held(reader: Reader, item_id: UUID) -> UUID:
    [(content_id,)] = reader.run("select content_id from items where id = %s", item_id)
    assert isinstance(content_id, UUID)
    return content_id


@pytest.mark.parametrize("stored", BAD_JSON)
def test_whatever_stands_for_topics_all_are_scored(database, user, stored):
    reader = Reader(database, user)
    reader.interested_in("solar")
    good, odd = reader.hold("solar"), reader.hold("chess")
    reader.run("update contents set topics = %s::jsonb where id = %s", stored, held(reader, odd))

    assert reader.score()["done"] is True

    scores = reader.scores()
    assert scores[good] is not None
    assert scores[odd] is not None
    assert aside(database, "score_user") == ({} if stored == "null" else {held(reader, odd): "unusable_row"})
    reader.run("update contents set topics = '[]' where id = %s", held(reader, odd))
    reader.score()
    assert aside(database, "score_user") == {}


def test_what_has_a_bad_vector_is_scored_by_all_else_and_listed(database, user):
    reader = Reader(database, user)
    reader.interested_in("solar")
    good, odd = reader.hold("solar"), reader.hold("solar")
    content = held(reader, odd)
    size = AxisDirections().mean(None).size
    revector(database, content, np.full(size, np.nan, dtype=np.float32))

    assert reader.score()["done"] is True

    assert None not in (reader.scores()[good], reader.scores()[odd])
    assert aside(database, "score_user") == {content: "unusable_vector"}


def test_a_profile_that_cannot_be_read_is_made_anew(database, user):
    reader = Reader(database, user)
    reader.interested_in("solar")
    item = reader.hold("solar")
    reader.score()
    for broken in (
        "details = '{}'",
        "details = '[]'",
        "vectors = 'x'",
        "vectors = decode(repeat('ff', 96 * 3), 'hex')",
    ):
        reader.run(f"update score_profiles set {broken} where user_id = %s", user)
        reader.run("update items set score_wanted = score_wanted + 1, score = null where user_id = %s", user)
        assert reader.score()["scored"] == 1
        assert reader.scores()[item] is not None


@pytest.mark.parametrize("stored", BAD_JSON)
def test_whatever_a_source_is_said_to_write_about_its_items_are_scored(database, user, stored):
    reader = Reader(database, user)
    source = reader.source({"energy": 0.5})
    item = reader.hold(None, source_id=source)
    reader.run("update sources set granular_topics = %s::jsonb where id = %s", stored, source)
    reader.run("update subscriptions set topics = %s::jsonb where source_id = %s", stored, source)

    reader.score()

    assert reader.scores()[item] is not None


class HalfDeaf(AxisDirections):
    """Directions whose model has no number for one phrase."""

    def phrase(self, text: str) -> Any:
        """Return what is no direction at all for one phrase."""
        if text == "broken":
            return np.zeros(3, dtype=np.float32), {}
        return super().phrase(text)


def test_a_briefing_with_broken_interests_keeps_no_other_from_being_compared(database, user):
    reader = Reader(database, user)
    reader.hold("chess")
    with database.transaction() as connection:
        for name, interests in (("a", "broken, chess"), ("b", "chess"), ("c", ",;\n")):
            connection.execute(
                "insert into briefings (id, user_id, name, interests, frequency, at, unsubscribe_token)"
                " values (gen_random_uuid(), %s, %s, %s, 'DAILY', '7:00', %s)",
                (user, name, interests, name),
            )
        broken = connection.execute("select id from briefings where name = 'a'").fetchone()
    assert compare(database, HalfDeaf(SCORED_BY), user, interests_max=20) == 1
    assert broken is not None
    assert aside(database, "score_user") == {broken[0]: "unusable_row"}


def test_what_cannot_be_compared_with_own_topics_keeps_no_other_from_it(database, tmp_path):
    house = House(database, tmp_path)
    user = house.user()
    good, odd = (house.hold(user, house.content(FERRY)) for _ in range(2))
    [content] = [row[0] for row in house.sql("select content_id from items where id = %s", odd)]
    revector(database, content, np.full(house.embedder.dimensions, np.nan, dtype=np.float32))
    assert user.put("/v1/topics", {"topics": [SEA]}).status == 200
    house.compare()

    assert own(user, good) == ["seafaring"]
    assert not own(user, odd)
    assert aside(database, "label_user") == {content: "unusable_vector"}


@pytest.mark.parametrize("stored", BAD_JSON[1:])
def test_a_set_of_topics_that_cannot_be_read_stops_no_other(database, tmp_path, stored):
    house = House(database, tmp_path)
    user = house.user()
    source = house.follow(user)
    item = house.hold(user, house.content(FERRY))
    assert user.put("/v1/topics", {"topics": [SEA]}).status == 200
    assert user.put(f"/v1/sources/{source}/topics", {"topics": [SEA]}).status == 200
    house.sql("update topic_sets set topics = %s::jsonb where source_id = %s returning id", stored, source)
    house.compare()

    assert own(user, item) == ["seafaring"]


def test_a_vector_that_is_none_has_no_point_and_the_others_have_theirs(database, user):
    good, bad = hold(database, user, [*bunch(0, 1), NAN])
    with database.transaction() as connection:
        embedding_store.begin(connection, Version(MODEL, "", 1, 32))
        connection.execute("update contents set topics = '{}' where id = %s", [good])
        page = vectors_store.page(connection, MODEL, after=UUID(int=0), limit=10)
    points, found = checked(page, vectors_store.Kept.point, row_id=lambda one: one.id, kind="content")
    assert [one.point()[0] for one in points] == [good]
    assert points[0].point()[2] == {"lang": "en", "topics": []}
    assert [one.row_id for one in found] == [bad]


def test_a_content_that_cannot_go_on_keeps_no_other_from_its_credit(database, user):
    """Its job breaks a rule of the database that no code of ours knows of."""
    with database.transaction() as connection:
        waiting = []
        for _ in range(2):
            content_id = make_content(connection, status="NEW", notice_code="no_credit", text="Text.")
            make_item(connection, user, content_id)
            waiting.append(content_id)
        credits_store.grant(connection, user, 5)
        connection.execute(f"alter table jobs add constraint no_luck check (subject_id <> '{waiting[0]}')")
    try:
        assert resume_waiting(database, limit=10, max_attempts=4) == 1
    finally:
        with database.transaction() as connection:
            connection.execute("alter table jobs drop constraint no_luck")
    assert aside(database, "resume") == {waiting[0]: "unusable_row"}
    assert resume_waiting(database, limit=10, max_attempts=4) == 1
    assert aside(database, "resume") == {}


def test_operators_see_what_was_set_aside_by_reason_with_the_newest_rows(database, user, capsys, caplog):
    [broken] = hold(database, user, [NAN])
    for centre in range(3):
        news(database, user, centre)
    run(database, user)
    run(database, user)

    api = World(database).api
    answer = ApiClient(api, user, ("ops",)).get("/v1/ops/set-aside", limit=1)

    assert answer.status == 200, answer.text
    assert answer.json["counts"] == [
        {"job_type": "cluster_user", "kind": "content", "reason_code": "unusable_vector", "rows": 1}
    ]
    [row] = answer.json["items"]
    assert (row["id"], row["times"], row["detail"]) == (
        str(broken),
        2,
        "The vector contains a value that is not a number.",
    )
    assert ApiClient(api, user, ("read",)).get("/v1/ops/set-aside").status == 403
    assert '"RowsSetAside":[1.0]' in capsys.readouterr().out.replace(" ", "")
    assert "rows_set_aside" in caplog.messages


def test_what_no_job_met_for_long_is_listed_no_more(database):
    [(_, bad)] = [checked([1], lambda _: 1 / 0, row_id=lambda row: UUID(int=row), kind="content")]
    with database.transaction() as connection:
        tell(connection, JobType.CLUSTER_USER, bad, [])
        assert set_aside_store.clean_up(connection, age_s=60, limit=10) == 0
        connection.execute("update set_aside set last_at = now() - interval '2 minutes'")
        assert set_aside_store.clean_up(connection, age_s=60, limit=10) == 1


@pytest.mark.parametrize("instant", BAD_INSTANTS)
@pytest.mark.parametrize("binary", [True, False])
def test_an_instant_that_python_has_no_word_for_is_read_as_the_nearest(database, instant, binary):
    with database.transaction() as connection, connection.cursor(binary=binary) as cursor:
        [(read, other)] = cursor.execute("select %s::timestamptz, 7", (instant,)).fetchall()
    assert (read.year, other) == (9999 if instant.startswith(("9999", "infinity")) else 1, 7)
