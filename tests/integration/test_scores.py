"""Scores on a real PostgreSQL: made, made anew when due, shown and sorted by; one tenant never moves another's."""

import threading
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import numpy as np
import pytest
from psycopg.types.json import Jsonb

from siftline.contracts import JobType, Queue
from siftline.contracts import ScoreUser as ScoreUserMessage
from siftline.jobs.publish import Publisher
from siftline.jobs.sweep import Sweep
from siftline.kit.db import Database
from siftline.kit.ids import new_id
from siftline.rank.scoring import ScoringRule, subject_of
from siftline.settings.functions import JobSettings
from tests.api_client import ApiClient, World
from tests.factories import embed, make_item, make_user
from tests.fakes import FakeSender
from tests.scoring import MODEL, AxisDirections, Reader, vector


@pytest.fixture
def world(database: Database) -> World:
    return World(database)


@pytest.fixture
def user(world: World) -> ApiClient:
    return world.user()


@pytest.fixture
def reader(database: Database, user: ApiClient) -> Reader:
    return Reader(database, user.user_id)


def listed(user: ApiClient, **query: Any) -> list[UUID]:
    """Return all items by score, page after page."""
    found: list[UUID] = []
    following = None
    while True:
        page = user.get("/v1/items", sort="score", **query, **({"next": following} if following else {})).json
        found += [UUID(item["id"]) for item in page["items"]]
        following = page["next"]
        if following is None:
            return found


def jobs(reader: Reader) -> list[tuple[str, str]]:
    return reader.run("select queue, state from jobs where job_type = 'score_user' and subject_id = %s", reader.user_id)


def test_interests_lift_what_is_near_to_them_in_whichever_language_and_changing_them_reorders(reader, user):
    solar, chess, rain = (
        reader.hold(about, lang) for about, lang in (("solar", "fr"), ("chess", "ja"), ("rain", "en"))
    )
    reader.interested_in("solar")
    assert reader.score() == {"scored": 3, "all": True, "done": True}
    assert listed(user)[0] == solar
    scores = reader.scores()
    assert scores[solar] > scores[chess]
    assert scores[solar] > scores[rain]

    answer = user.patch("/v1/me", {"interests": "\u00e9checs, opera"})

    assert answer.status == 200
    assert jobs(reader) == [(Queue.ANALYSIS, "pending")]
    reader.score()
    assert listed(user)[0] == chess


def test_a_star_lifts_what_is_like_it_in_another_language(reader, user):
    starred = reader.hold("chess", "en")
    alike, other = reader.hold("chess", "fr"), reader.hold("banks", "fr")
    reader.score()
    before = reader.scores()
    assert before[alike] == before[other]

    user.patch(f"/v1/items/{starred}", {"starred": True})
    reader.score()

    after = reader.scores()
    assert after[alike] > 1.5 * after[other]
    assert reader.reason(alike, "history")["liked"] == 1


def test_another_tenant_changes_nothing_and_is_changed_by_nothing(database, world, reader):
    other = Reader(database, world.user().user_id)
    mine = reader.hold("solar")
    with database.transaction() as connection:
        ((content_id,),) = connection.execute("select content_id from items where id = %s", (mine,)).fetchall()
        theirs = make_item(connection, other.user_id, content_id)
    shared = "select to_jsonb(contents) from contents"
    before = reader.run(shared)
    reader.interested_in("solar")
    reader.star(mine)

    reader.score()
    other.score()
    alone = other.scores()
    reader.interested_in("opera")
    reader.score()
    other.score()

    assert other.scores() == alone
    assert reader.scores()[mine] != alone[theirs]
    assert reader.run(shared) == before


def test_items_that_were_never_read_are_scored_by_what_their_source_writes_about_and_none_is_left_out(reader, user):
    energy, sport, silent = reader.source({"energy": 0.8}), reader.source({"sport": 0.9}), reader.source()
    wanted, other, unsaid = (reader.hold(None, source_id=each) for each in (energy, sport, silent))
    reader.interested_in("solar")

    reader.score()

    scores = reader.scores()
    assert None not in scores.values()
    assert scores[wanted] > scores[other]
    assert listed(user)[0] == wanted
    assert set(listed(user)) == {wanted, other, unsaid}
    reasons = {reason["code"]: reason for reason in user.get(f"/v1/items/{wanted}").json["reasons"]}
    assert reasons["topics"]["detail"] == "Its source mostly writes about energy, which is one of your interests."
    assert "cannot be compared" in reasons["interest"]["detail"]


def test_what_a_follower_says_a_source_is_about_counts_and_so_does_what_is_learnt_first(reader):
    source_id = reader.source()
    item = reader.hold(None, source_id=source_id)
    reader.interested_in("chess")
    reader.score()
    unsaid = reader.scores()[item]

    reader.run("update subscriptions set topics = %s where source_id = %s", Jsonb(["Sport"]), source_id)
    reader.score()
    said = reader.scores()[item]
    reader.run("update subscriptions set topics = '[]' where source_id = %s", source_id)
    learnt = Jsonb([{"topic": "sport", "score": 0.5}])
    reader.run("update sources set granular_topics = %s where id = %s", learnt, source_id)
    reader.score()

    assert said > reader.scores()[item] > unsaid


def test_a_source_that_is_read_lifts_what_else_it_brings(reader, user):
    often, never = reader.source(), reader.source()
    read = [reader.hold("rain", source_id=often) for _ in range(6)]
    fresh, other = reader.hold("banks", source_id=often), reader.hold("banks", source_id=never)
    for item_id in read:
        user.patch(f"/v1/items/{item_id}", {"read": True})

    reader.score()

    assert reader.reason(fresh, "source")["read"] == 6
    assert reader.reason(fresh, "source")["value"] > 0.5 > reader.reason(other, "source")["value"]


def test_the_shown_score_is_the_sum_of_its_reasons_freshness_included(reader, user):
    now = datetime.now(UTC)
    item = reader.hold("solar", sort_at=now - timedelta(hours=72), first_seen_at=now - timedelta(hours=72))
    reader.interested_in("solar")
    reader.score()

    shown = user.get(f"/v1/items/{item}").json

    assert sum(reason["points"] for reason in shown["reasons"]) == pytest.approx(shown["score"], abs=1e-4)
    assert sum(reason["weight"] for reason in shown["reasons"]) == pytest.approx(1, abs=1e-3)
    assert all(
        reason["points"] == pytest.approx(reason["weight"] * reason["value"], abs=1e-4) for reason in shown["reasons"]
    )
    assert [reason["code"] for reason in shown["reasons"]] == ["interest", "topics", "source", "freshness"]
    freshness = shown["reasons"][-1]
    assert (freshness["weight"], freshness["value"]) == (0.15, pytest.approx(0.5, abs=1e-3))
    assert freshness["detail"] == "It is 3 days old; its freshness halves every 3 days."
    assert shown["reasons"][0]["detail"] == 'Close to your interest "solar".'
    ((listed_one,),) = ((item for item in user.get("/v1/items").json["items"]),)
    assert listed_one["score"] == pytest.approx(shown["score"], abs=1e-3)
    assert "reasons" not in listed_one


def test_what_is_dated_in_the_future_is_no_fresher_than_fresh(reader, user):
    now = datetime.now(UTC)
    future = reader.hold("rain", sort_at=now + timedelta(days=400))
    good = reader.hold("solar", sort_at=now)
    reader.interested_in("solar")
    reader.score()

    assert listed(user) == [good, future]
    assert user.get(f"/v1/items/{future}").json["reasons"][-1]["value"] == 1.0
    assert user.get(f"/v1/items/{future}").json["score"] <= 1


def test_of_two_that_are_as_relevant_the_fresher_one_comes_first_without_being_scored_again(reader, user):
    now = datetime.now(UTC)
    old, fresh, ancient = (
        reader.hold(None, sort_at=at)
        for at in (now - timedelta(days=9), now - timedelta(days=1), datetime(1, 1, 2, tzinfo=UTC))
    )
    reader.score()

    assert listed(user) == [fresh, old, ancient]
    reader.run("update contents set sort_at = now() where title is null and sort_at < '2000-01-01'")
    assert listed(user) == [ancient, fresh, old]


def test_pages_by_score_hold_everything_once_though_scores_are_equal_and_time_passes(reader, user):
    read = [reader.hold(None) for _ in range(11)] + [reader.hold("solar") for _ in range(5)]
    reader.score()
    unread = [reader.hold("solar", status="PENDING") for _ in range(3)]
    failed = reader.hold(None, status="FAILED", error_code="gone", error_detail="It is gone.")

    for limit in (1, 4, 200):
        found = listed(user, limit=limit)
        assert sorted(found) == sorted([*read, *unread, failed])
        assert found[-4:] == sorted([*unread, failed], reverse=True)
    assert user.get("/v1/items", sort="score", status="PENDING").json["items"][0]["score"] is None
    assert set(listed(user, limit=2, status="PENDING")) == set(unread)


def test_what_failed_stands_last_without_a_score_also_where_it_was_read_once(reader, user):
    source = reader.source({"energy": 1.0})
    failed = reader.hold(None, source_id=source, status="FAILED", error_code="gone", error_detail="It is gone.")
    later, plain = reader.hold("solar", source_id=source), reader.hold("rain")
    reader.interested_in("solar")
    reader.score()
    assert reader.scores()[later] is not None
    reader.run(
        "update contents set status = 'FAILED', error_code = 'gone', error_detail = 'x' from items"
        " where items.content_id = contents.id and items.id = %s",
        later,
    )
    reader.run("update items set score_wanted = score_wanted + 1 where id = %s", later)
    reader.score()

    assert [reader.scores()[each] for each in (failed, later)] == [None, None]
    assert listed(user)[0] == plain
    assert user.get(f"/v1/items/{failed}").json["reasons"] == []


@pytest.mark.parametrize(
    "word",
    ["!", "WyIyMDI2LTAxLTAxVDAwOjAwOjAwKzAwOjAwIiwiYWIiXQ", "WzEsMiwzXQ", "WyIyMDI2LTAxLTAxVDAwOjAwOjAwIiwxLCJhIl0"],
)
def test_a_cursor_of_another_order_is_refused(user: ApiClient, word: str) -> None:
    answer = user.get("/v1/items", sort="score", next=word)
    assert (answer.status, answer.code) == (422, "invalid_cursor")


def test_an_item_that_is_not_scored_yet_says_so(reader, user):
    item = reader.hold("solar")

    shown = user.get(f"/v1/items/{item}").json

    assert (shown["score"], shown["reasons"]) == (None, [])


def test_only_what_changed_is_scored_again(reader):
    kept, changed = reader.hold("solar"), reader.hold("chess")
    reader.score()
    assert reader.score() == {"scored": 0, "all": False, "done": True}

    reader.run("update contents set topics = %s where title = 'chess'", Jsonb([{"topic": "energy", "score": 0.9}]))

    assert reader.score() == {"scored": 1, "all": False, "done": True}
    reader.hold("rain")
    assert reader.score()["scored"] == 1
    assert {kept, changed} <= set(reader.scores())


def test_a_vector_that_comes_later_counts_and_one_of_another_model_does_not(reader):
    reader.interested_in("solar")
    item = reader.hold("rain", topics=None)
    reader.run("delete from embeddings")
    reader.score()
    ((content_id,),) = reader.run("select content_id from items where id = %s", item)
    with reader.database.transaction() as connection:
        embed(connection, content_id, vector("solar"), "other-1")
    assert reader.score()["scored"] == 0

    with reader.database.transaction() as connection:
        embed(connection, content_id, vector("solar"), MODEL)

    assert reader.score()["scored"] == 1
    assert reader.reason(item, "interest")["about"] == "solar"


def test_another_model_makes_another_profile_and_scores_everything_by_its_own_vectors(reader):
    reader.interested_in("solar")
    item = reader.hold("solar")
    reader.score()
    ((content_id,),) = reader.run("select content_id from items where id = %s", item)
    with reader.database.transaction() as connection:
        embed(connection, content_id, vector("opera"), "axes-2")

    reader.directions = AxisDirections("axes-2")

    assert reader.score() == {"scored": 1, "all": True, "done": True}
    assert reader.reason(item, "interest")["value"] < 0.2


def test_reading_counts_once_there_was_enough_of_it_and_waits_for_more(reader, user):
    items = [reader.hold("chess") for _ in range(6)]
    reader.score()
    for item_id in items[:4]:
        user.patch(f"/v1/items/{item_id}", {"read": True})
    assert jobs(reader) == []

    user.patch(f"/v1/items/{items[0]}", {"read": True, "tags": ["again"]})
    assert jobs(reader) == []
    user.patch(f"/v1/items/{items[4]}", {"read": True})
    user.patch(f"/v1/items/{items[5]}", {"starred": True})

    assert jobs(reader) == [(Queue.ANALYSIS, "pending")]
    ((waits,),) = reader.run("select due_at > now() + interval '10 s' from jobs")
    assert waits
    assert reader.score()["all"] is True
    assert reader.run("select evidence from score_profiles") == [(0.0,)]


def test_a_star_that_is_taken_back_is_forgotten(reader, user):
    starred, alike = reader.hold("chess"), reader.hold("chess", "fr")
    user.patch(f"/v1/items/{starred}", {"starred": True})
    reader.score()
    assert reader.reason(alike, "history")["value"] > 0.5

    user.patch(f"/v1/items/{starred}", {"starred": False})
    reader.score()

    ((reasons,),) = reader.run("select score_reasons from items where id = %s", alike)
    assert "history" not in {reason["code"] for reason in reasons}


def test_a_run_that_is_cut_short_goes_on_where_it_ended(reader):
    reader.work = Reader(reader.database, reader.user_id, rule=ScoringRule(work_s=0.0), block=2).work
    for _ in range(5):
        reader.hold("solar")

    assert [reader.score()["scored"] for _ in range(3)] == [2, 2, 1]
    assert None not in reader.scores().values()


def test_runs_at_once_come_to_one_result(reader):
    for about in ("solar", "chess", "rain", None):
        for _ in range(15):
            reader.hold(about)
    reader.interested_in("solar, opera")
    reader.work = Reader(reader.database, reader.user_id, block=7).work
    faults: list[BaseException] = []

    def run() -> None:
        try:
            Reader(reader.database, reader.user_id, block=7).score()
        except BaseException as error:  # noqa: BLE001 - told to the test
            faults.append(error)

    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    reader.score()

    assert faults == []
    together = reader.scores()
    assert reader.run("select count(*) from score_profiles") == [(1,)]
    assert reader.run("select count(distinct scored_with), count(*) from items where score_made = score_wanted") == [
        (1, 60)
    ]
    reader.run("update items set score = null, scored_with = null, score_made = 0")
    reader.run("update score_profiles set applied_at = null")
    reader.score()
    assert reader.scores() == together


class Meanwhile(AxisDirections):
    """Does something as a profile is being made."""

    def __init__(self, what: Any) -> None:
        super().__init__()
        self._what = what

    def phrase(self, text: str) -> Any:
        self._what()
        return super().phrase(text)


def test_items_and_users_that_go_meanwhile_do_no_harm(reader):
    reader.interested_in("solar")
    gone, stays = reader.hold("solar"), reader.hold("chess")
    reader.directions = Meanwhile(lambda: reader.run("delete from items where id = %s", gone))
    assert reader.score()["scored"] == 1
    assert list(reader.scores()) == [stays]

    reader.interested_in("chess")
    reader.directions = Meanwhile(lambda: reader.run("delete from users where id = %s", reader.user_id))
    assert reader.score() == {"scored": 0}
    assert reader.score() == {"scored": 0}
    assert reader.run("select count(*) from score_profiles") == [(0,)]


def test_what_changes_as_it_is_being_scored_stays_due(reader, monkeypatch):
    reader.interested_in("solar")
    item = reader.hold("solar")
    judge_directions = AxisDirections()
    mean = judge_directions.mean

    def changed(language: str | None) -> np.ndarray:
        if reader.run("select applied_at from score_profiles") == [(None,)]:
            reader.run("update contents set topics = %s", Jsonb([{"topic": "culture", "score": 0.9}]))
        return mean(language)

    monkeypatch.setattr(judge_directions, "mean", changed)
    reader.directions = judge_directions
    reader.score()

    assert reader.score()["scored"] == 1
    assert reader.reason(item, "topics")["value"] == 0.0


def test_evidence_that_comes_while_a_profile_is_made_is_not_lost(reader):
    reader.hold("solar")
    reader.score()
    reader.interested_in("chess")
    add = "update score_profiles set evidence = evidence + 1 where user_id = %s"
    reader.directions = Meanwhile(lambda: reader.run(add, reader.user_id))

    reader.score()

    assert reader.run("select evidence from score_profiles") == [(1.0,)]


def test_a_message_without_a_job_means_its_user(database, user):
    with database.transaction() as connection:
        assert subject_of(connection, ScoreUserMessage(user_id=user.user_id)) == user.user_id
        assert subject_of(connection, ScoreUserMessage(user_id=new_id())) is None


def test_the_sweep_has_scored_what_nobody_asked_to_have_scored_one_job_a_user(database, world, reader):
    other = world.user()
    reader.hold("solar", status="PENDING")
    sender = FakeSender()
    sweep = Sweep(database, Publisher(database, sender, JobSettings()), JobSettings())
    assert sweep.run().unscored == 0

    reader.hold("solar")
    reader.hold(None)
    assert [sweep.run().unscored for _ in range(2)] == [1, 0]

    assert jobs(reader) == [(Queue.ANALYSIS_BACKGROUND, "pending")]
    assert len(sender.sent[Queue.ANALYSIS_BACKGROUND]) == 1
    assert reader.run("select count(*) from jobs where subject_id = %s", other.user_id) == [(0,)]


def test_the_sweep_waits_a_day_for_more_where_little_was_read(database, reader):
    item = reader.hold("solar")
    reader.score()
    reader.run("update score_profiles set evidence = 0.2")
    sweep = Sweep(database, Publisher(database, FakeSender(), JobSettings()), JobSettings())
    assert sweep.run().unscored == 0
    reader.run("update items set read_at = now() where id = %s", item)

    reader.run("update score_profiles set made_at = now() - interval '25 hours'")

    assert sweep.run().unscored == 1
    assert reader.score()["all"] is True


def test_the_sweep_has_everything_scored_by_the_vectors_that_count_now(database, reader):
    reader.hold("solar")
    reader.score()
    sweep = Sweep(database, Publisher(database, FakeSender(), JobSettings()), JobSettings())
    active = "insert into embedding_versions (model_version, uri, dimensions, state) values (%s, '', 24, 'active')"
    reader.run(active, MODEL)
    assert sweep.run().unscored == 0

    reader.run("update embedding_versions set model_version = 'axes-2'")

    assert sweep.run().unscored == 1


def test_a_subject_of_a_user_without_items_is_scored_at_no_cost(database):
    with database.transaction() as connection:
        user_id = make_user(connection)

    assert Reader(database, user_id).score() == {"scored": 0, "all": True, "done": True}
    assert JobType.SCORE_USER in JobType
    assert AxisDirections().model_version == MODEL
