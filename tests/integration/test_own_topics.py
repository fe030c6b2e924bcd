"""Topics of one's own: said through the API, compared by the real job over real PostgreSQL, seen by nobody else."""

import json
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest

from siftline.analyze.topics.anchors import AnchorCache
from siftline.analyze.topics.labelling import LabelUser, subject_of
from siftline.analyze.topics.own_topics import OwnTopics
from siftline.analyze.topics.topic_scoring import MeanRule, PullRule, TopicRule
from siftline.api.search_routes import Wanted
from siftline.catalog import reading_profile_store
from siftline.catalog.reading_profile_store import ReadingProfile
from siftline.contracts import JobType, Queue, Tick
from siftline.jobs.consume import BatchConsumer
from siftline.jobs.publish import Publisher
from siftline.kit.clock import SystemClock
from siftline.kit.ids import new_id
from siftline.rank import held_store, scores_store
from siftline.settings.functions import JobSettings
from tests.api_client import ApiClient, World
from tests.factories import FakeContext, embed, make_content, make_item, make_source, sqs_event
from tests.fakes import FakeSender
from tests.models import WordEmbedder
from tests.reading import LABELS, NEWS
from tests.ticks import make_schedule

MATCH = "The team won the match by one goal and the coach smiled"
RATES = "The bank fears inflation, money is dear and rates rise"
FERRY = "Two ferries collided in the harbour and the port was shut"
SEA = {"id": "seafaring", "descriptions": {"en": "ferries, harbour, port"}}
GOAL = {"id": "goals", "descriptions": {"en": "goal, coach"}, "examples": {"en": ["A goal for the team."]}}


class House(World):
    """The API, and the function that compares."""

    def __init__(self, database: Any, folder: Any, *, work_s: float = 60.0) -> None:
        super().__init__(database)
        self.embedder = WordEmbedder()
        anchor_cache = AnchorCache(self.embedder, LABELS, NEWS, lambda: [folder])
        own = OwnTopics(self.embedder, anchor_cache, TopicRule(), MeanRule(), PullRule())
        settings = JobSettings()
        self.consumer = BatchConsumer(
            queues={"siftline-local-analysis-queue": Queue.ANALYSIS},
            database=database,
            publisher=Publisher(database, FakeSender(), settings),
            sender=self.sender,
            processors=[LabelUser(database, lambda: own, SystemClock(), work_s=work_s)],
            subjects={JobType.LABEL_USER: subject_of},
            settings=settings,
            clock=SystemClock(),
        )

    def content(self, text: str, **columns: Any) -> UUID:
        """Store a content that was read, with its vector."""
        vector = self.embedder.embed_passage(text)
        values = {"status": "READY", "title": text, "text": text, "lang": "en", "topics": "[]", **columns}
        with self.database.transaction() as connection:
            content_id = make_content(connection, **values)
            embed(connection, content_id, vector, self.embedder.model_version)
        return content_id

    def hold(self, user: ApiClient, content_id: UUID, source_id: UUID | None = None) -> str:
        """Let a user hold a content; returns the item's id."""
        with self.database.transaction() as connection:
            item_id = make_item(connection, user.user_id, content_id)
            connection.execute("update items set source_id = %s where id = %s", (source_id, item_id))
        return str(item_id)

    def follow(self, user: ApiClient) -> UUID:
        """Let a user follow a new source."""
        with self.database.transaction() as connection:
            source_id = make_source(connection)
            connection.execute(
                "insert into subscriptions (id, user_id, source_id) values (%s, %s, %s)",
                (new_id(), user.user_id, source_id),
            )
        return source_id

    def compare(self) -> int:
        """Work off every job of comparing, one after the other; returns how many there were."""
        done = 0
        while rows := self.sql("select id, subject_id from jobs where job_type = 'label_user' and state = 'pending'"):
            for job_id, user_id in rows:
                message = {"job_type": "label_user", "job_id": job_id, "user_id": user_id}
                answer = self.consumer.handle(sqs_event("analysis", message), FakeContext())
                assert answer == {"batchItemFailures": []}
                done += 1
        assert self.sql("select state from jobs where state not in ('completed', 'cancelled')") == []
        return done

    def tick(self) -> int:
        """Let the clock look for what is to be compared."""
        schedule, _ = make_schedule(self.database)
        return schedule.run(Tick.BACKGROUND)["labellings"]


@pytest.fixture
def house(database, tmp_path):
    return House(database, tmp_path)


def own(user: ApiClient, item_id: str) -> list[str] | None:
    found = user.get(f"/v1/items/{item_id}").json["own_topics"]
    return None if found is None else [topic["topic"] for topic in found]


def listed(user: ApiClient, topic: str) -> set[str]:
    return {item["id"] for item in user.get("/v1/items", topic=topic).json["items"]}


def test_ones_own_topics_are_found_in_what_one_holds_and_by_the_filter(house):
    user = house.user()
    ferry, match = (house.hold(user, house.content(text)) for text in (FERRY, MATCH))
    assert own(user, ferry) is None

    answer = user.put("/v1/topics", {"topics": [SEA]})

    assert (answer.status, answer.json["pending"]) == (200, 2)
    assert user.get("/v1/topics").json["pending"] == 2
    assert len(house.sender.sent[Queue.ANALYSIS]) == 1
    assert house.compare() == 1
    assert (own(user, ferry), own(user, match)) == (["seafaring"], [])
    assert listed(user, "seafaring") == {ferry}
    shown = user.get("/v1/topics").json
    assert shown["pending"] == 0
    assert [topic["id"] for topic in shown["own"]] == ["seafaring"]
    assert shown["own"][0]["descriptions"] == SEA["descriptions"]


def test_nobody_else_sees_them_and_shared_rows_say_nothing_of_them(house):
    user, other = house.user(), house.user()
    content_id = house.content(FERRY)
    item, others = house.hold(user, content_id), house.hold(other, content_id)
    before = house.sql("select to_jsonb(contents) - 'updated_at' from contents")

    user.put("/v1/topics", {"topics": [SEA]})
    house.compare()

    assert (own(user, item), own(other, others)) == (["seafaring"], None)
    assert listed(other, "seafaring") == set()
    assert other.get("/v1/topics").json["own"] == []
    assert house.sql("select to_jsonb(contents) - 'updated_at' from contents") == before
    assert house.sql("select user_id from readings") == [(user.user_id,)]


def test_two_users_topics_of_the_same_id_are_each_ones_own(house):
    user, other = house.user(), house.user()
    content_id = house.content(FERRY)
    item, others = house.hold(user, content_id), house.hold(other, content_id)
    user.put("/v1/topics", {"topics": [SEA]})
    other.put("/v1/topics", {"topics": [{"id": "seafaring", "descriptions": {"en": "poems, verse"}}]})
    house.compare()

    assert (own(user, item), own(other, others)) == (["seafaring"], [])


def test_a_topic_is_embedded_once_and_no_text_again(house):
    user = house.user()
    house.hold(user, house.content(FERRY))
    user.put("/v1/topics", {"topics": [SEA, GOAL]})
    house.compare()
    house.embedder.texts.clear()

    user.put("/v1/topics", {"topics": [SEA, {**GOAL, "descriptions": {"en": "goal, striker"}}]})
    house.compare()

    assert sorted(house.embedder.texts) == ["goal", "striker"]
    assert house.sql("select topic, lang from topic_set_vectors order by topic, lang") == [
        ("goals", ""),
        ("goals", "en"),
        ("seafaring", "en"),
    ]


def test_what_comes_later_is_compared_too_whichever_comes_first(house):
    user = house.user()
    user.put("/v1/topics", {"topics": [SEA]})
    house.compare()
    saved = house.hold(user, house.content(FERRY))  # somebody's before
    with house.database.transaction() as connection:
        unread = make_content(connection, status="READY", title=FERRY, text=FERRY, lang="en", topics="[]")
    analysed = house.hold(user, unread)
    assert house.tick() == 1
    assert house.tick() == 0
    house.compare()
    assert (own(user, saved), own(user, analysed)) == (["seafaring"], None)

    vector = house.embedder.embed_passage(FERRY)
    house.sql(
        "insert into embeddings (content_id, model_version, dimensions, vector) values (%s, %s, %s, %s)",
        *(unread, house.embedder.model_version, vector.size, vector.astype("<f4").tobytes()),
    )
    assert house.tick() == 1
    house.compare()
    assert own(user, analysed) == ["seafaring"]
    assert house.tick() == 0


def test_a_new_vector_is_compared_anew(house):
    user = house.user()
    content_id = house.content(FERRY)
    item = house.hold(user, content_id)
    user.put("/v1/topics", {"topics": [SEA]})
    house.compare()

    vector = house.embedder.embed_passage(MATCH)
    house.sql("update embeddings set vector = %s", vector.astype("<f4").tobytes())
    assert house.tick() == 1
    house.compare()

    assert own(user, item) == []


def test_without_any_nothing_is_left_of_them(house):
    user = house.user()
    item = house.hold(user, house.content(FERRY))
    user.put("/v1/topics", {"topics": [SEA]})
    house.compare()

    assert user.put("/v1/topics", {"topics": []}).json["own"] == []

    assert own(user, item) is None
    assert house.sql("select from topic_sets") == house.sql("select from topic_set_vectors") == []
    assert (house.tick(), listed(user, "seafaring")) == (0, set())


def test_deleting_an_item_takes_what_was_found_with_it(house):
    user = house.user()
    item = house.hold(user, house.content(FERRY))
    user.put("/v1/topics", {"topics": [SEA]})
    house.compare()

    assert user.delete(f"/v1/items/{item}").status == 204
    assert house.sql("select from readings") == []


def test_the_same_set_again_compares_nothing(house):
    user = house.user()
    house.hold(user, house.content(FERRY))
    user.put("/v1/topics", {"topics": [SEA]})
    house.compare()
    user.put("/v1/topics", {"topics": [SEA]})
    assert house.compare() == 0


def test_a_set_that_changes_while_it_is_compared_is_compared_anew(house):
    user = house.user()
    item = house.hold(user, house.content(FERRY))
    user.put("/v1/topics", {"topics": [GOAL]})
    embed = house.embedder.embed_passage

    def embed_and_change(text: str) -> Any:
        if text == "coach":
            house.embedder.embed_passage = embed
            user.put("/v1/topics", {"topics": [SEA]})
        return embed(text)

    house.embedder.embed_passage = embed_and_change
    house.compare()

    assert own(user, item) == ["seafaring"]
    assert house.sql("select topic from topic_set_vectors") == [("seafaring",)]


def test_a_long_run_stops_in_time_and_the_next_one_goes_on(database, tmp_path):
    house = House(database, tmp_path, work_s=0.0)
    user = house.user()
    item = house.hold(user, house.content(FERRY))
    user.put("/v1/topics", {"topics": [SEA]})
    message = house.sql("select id, subject_id from jobs")[0]

    house.consumer.handle(
        sqs_event("analysis", {"job_type": "label_user", "job_id": message[0], "user_id": message[1]}), FakeContext()
    )

    results = house.sql("select state, result from jobs order by created_at")
    assert [state for state, _ in results] == ["completed", "pending"]
    assert results[0][1] == {"compared": 0, "goes_on": True}
    assert own(user, item) is None


def test_a_page_that_says_too_little_is_about_nothing(house):
    user = house.user()
    item = house.hold(user, house.content(FERRY, notice_code="insufficient_content"))
    user.put("/v1/topics", {"topics": [SEA]})
    house.compare()
    assert own(user, item) == []


def test_a_source_may_have_topics_of_its_own(house):
    user = house.user()
    source, another = house.follow(user), house.follow(user)
    there, elsewhere = house.hold(user, house.content(FERRY), source), house.hold(user, house.content(FERRY), another)

    answer = user.put(f"/v1/sources/{source}/topics", {"topics": [SEA]})

    assert (answer.status, answer.json["only"]) == (200, None)
    house.compare()
    assert (own(user, there), own(user, elsewhere)) == (["seafaring"], [])


def test_a_source_may_be_kept_to_some_topics_which_then_stand_for_the_shared_ones(house):
    with house.database.transaction() as connection:
        topics = [{"id": "sport", "descriptions": {"en": "team"}}, {"id": "economy", "descriptions": {"en": "bank"}}]
        reading_profile_store.tell(connection, ReadingProfile(topics, {}))
    user, other = house.user(), house.user()
    source = house.follow(user)
    shared = json.dumps([{"topic": "economy", "score": 0.9}])
    match, rates = house.content(MATCH, topics=shared), house.content(RATES, topics=shared)
    kept, left = house.hold(user, match, source), house.hold(user, rates, source)
    others = house.hold(other, rates)

    assert user.put(f"/v1/sources/{source}/topics", {"only": ["sport"]}).status == 200
    house.compare()

    assert (own(user, kept), own(user, left)) == (["sport"], [])
    assert user.get(f"/v1/items/{left}").json["topics"] == []
    assert (listed(user, "sport"), listed(user, "economy")) == ({kept}, set())
    assert listed(other, "economy") == {others}
    assert other.get(f"/v1/items/{others}").json["topics"] == json.loads(shared)

    assert user.delete(f"/v1/sources/{source}").status == 204
    assert (own(user, left), listed(user, "economy")) == (None, {kept, left})


def test_what_a_source_is_kept_to_may_be_ones_own(house):
    user = house.user()
    source = house.follow(user)
    item = house.hold(user, house.content(FERRY), source)
    user.put("/v1/topics", {"topics": [SEA, GOAL]})
    assert user.put(f"/v1/sources/{source}/topics", {"only": ["seafaring"]}).status == 200
    house.compare()
    assert own(user, item) == ["seafaring"]
    assert user.put(f"/v1/sources/{source}/topics", {}).json["only"] is None
    house.compare()
    assert user.get(f"/v1/sources/{source}/topics").json == {
        "only": None,
        "topics": [],
        "unknown": [],
        "notice": None,
        "updated_at": None,
    }


def test_a_topic_that_a_source_is_kept_to_does_not_go_before_the_source_is_let_go(house):
    user = house.user()
    source = house.follow(user)
    user.put("/v1/topics", {"topics": [SEA, GOAL]})
    user.put(f"/v1/sources/{source}/topics", {"only": ["seafaring"]})

    answer = user.put("/v1/topics", {"topics": [GOAL]})

    [fault] = answer.json["errors"]
    assert (answer.status, fault["code"], fault["pointer"]) == (422, "topic_in_use", "#/topics")
    assert f"The source {source} is limited to the topic seafaring" in fault["detail"]
    assert user.put(f"/v1/sources/{source}/topics", {"only": ["seafaring"], "topics": [SEA]}).status == 200
    assert user.put("/v1/topics", {"topics": []}).status == 200


def test_another_users_source_has_no_topics_to_show_or_set(house):
    user, other = house.user(), house.user()
    source = house.follow(user)
    assert other.get(f"/v1/sources/{source}/topics").status == 404
    assert other.put(f"/v1/sources/{source}/topics", {"topics": [SEA]}).status == 404
    assert house.sql("select from topic_sets") == []


@pytest.mark.parametrize(
    ("topics", "pointer", "code"),
    [
        ([{"id": "Sea!", "descriptions": {"en": "sea"}}], "#/topics/0/id", "string_pattern_mismatch"),
        ([{"id": "sea", "descriptions": {}}], "#/topics/0/descriptions", "too_short"),
        ([{"id": "sea", "descriptions": {"en": " "}}], "#/topics/0/descriptions/en", "string_too_short"),
        ([{"id": "sea", "descriptions": {"en": "x" * 501}}], "#/topics/0/descriptions/en", "string_too_long"),
        ([{"id": "sea", "descriptions": {"english": "s"}}], "#/topics/0/descriptions/english", "invalid_language"),
        ([{"id": "sea", "descriptions": {"en": ", , ,"}}], "#/topics/0/descriptions/en", "no_letter"),
        ([{"id": "sea", "descriptions": {"en": "\u200b\u200b"}}], "#/topics/0/descriptions/en", "no_letter"),
        ([{"id": "sea", "descriptions": {"en": "\U0001f6a2"}}], "#/topics/0/descriptions/en", "no_letter"),
        ([SEA, SEA], "#/topics/1/id", "duplicate_topic"),
        ([{**SEA, "examples": {"en": ["x"] * 9}}], "#/topics/0/examples", "too_many_examples"),
        ([{**SEA, "name": "Sea"}], "#/topics/0/name", "extra_forbidden"),
        ([{**SEA, "id": f"sea-{number}"} for number in range(31)], "#/topics", "too_long"),
    ],
    ids=[
        "id",
        "no language",
        "blank",
        "long",
        "language",
        "commas",
        "nothing seen",
        "emoji",
        "twice",
        "examples",
        "unknown",
        "many",
    ],
)
def test_a_wrong_set_is_refused_with_its_place(house, topics, pointer, code):
    answer = house.user().put("/v1/topics", {"topics": topics})
    assert answer.status == 422
    assert [(fault["pointer"], fault["code"]) for fault in answer.json["errors"]] == [(pointer, code)]
    assert house.sql("select from topic_sets") == []


def test_a_source_is_kept_to_topics_that_there_are_only(house):
    user = house.user()
    source = house.follow(user)
    answer = user.put(f"/v1/sources/{source}/topics", {"only": ["seafaring", "moon"], "topics": [SEA]})
    assert [fault["pointer"] for fault in answer.json["errors"]] == ["#/only/1"]


def test_a_reader_may_not_change_topics(house):
    reader = house.user("read")
    assert reader.get("/v1/topics").status == 200
    assert reader.put("/v1/topics", {"topics": []}).status == 403


OTHER_SPORT = {"id": "sport", "descriptions": {"en": "ferry, harbour, ship"}}


def test_a_replaced_default_topic_is_looked_for_in_ones_own_sense_alone(house):
    user, other = house.user(), house.user()
    match, ferry = (house.content(text, topics='[{"topic": "sport", "score": 0.9}]') for text in (MATCH, FERRY))
    items = {content_id: house.hold(user, content_id) for content_id in (match, ferry)}
    others = {house.hold(other, content_id) for content_id in (match, ferry)}
    user.put("/v1/topics", {"topics": [OTHER_SPORT]})
    assert listed(user, "sport") == set()
    house.compare()

    assert listed(user, "sport") == {items[ferry]}
    assert listed(other, "sport") == others
    found = user.get("/v1/items", sort="score", topic="sport").json["items"]
    assert [one["id"] for one in found] == [items[ferry]]
    feed = user.get("/v1/feed", topic="sport").json["items"]
    assert [one["id"] for one in feed] == [items[ferry]]
    assert user.get(f"/v1/items/{items[match]}").json["topics"] == []
    with house.database.transaction() as connection:
        newest = held_store.newest(connection, user.user_id, Wanted(topic="sport"), limit=9)
        evidence = scores_store.evidence(
            *(connection, user.user_id, "m"), window=timedelta(days=9), liked_max=9, held_max=9
        )
    assert newest == [ferry]
    assert evidence.topics["sport"].brought == 1


def test_a_default_topic_that_is_replaced_for_a_source_is_so_for_what_it_brings_alone(house):
    user = house.user()
    source_id = house.follow(user)
    brought, saved = (house.content(text, topics='[{"topic": "sport", "score": 0.9}]') for text in (MATCH, MATCH))
    house.hold(user, brought, source_id)
    item = house.hold(user, saved)
    user.put(f"/v1/sources/{source_id}/topics", {"topics": [OTHER_SPORT]})
    house.compare()

    assert listed(user, "sport") == {item}


def test_a_topic_that_is_no_default_one_any_more_is_said_and_empties_no_source(house):
    user = house.user()
    source = house.follow(user)
    told(house, "sport", "culture")
    item = house.hold(user, house.content(MATCH, topics='[{"topic": "sport", "score": 0.9}]'), source)
    place = f"/v1/sources/{source}/topics"
    assert user.put(place, {"only": ["culture"]}).json["unknown"] == []

    told(house, "sport")
    house.compare()

    shown = user.get(place).json
    assert (shown["only"], shown["unknown"], shown["notice"]["code"]) == (["culture"], ["culture"], "unknown_topic")
    assert [topic["topic"] for topic in user.get(f"/v1/items/{item}").json["topics"]] == ["sport"]


def test_it_is_said_where_own_topics_find_nothing_because_an_api_makes_the_vectors(house):
    user = house.user()
    user.put("/v1/topics", {"topics": [SEA]})
    assert user.get("/v1/topics").json["notice"] is None
    house.sql(
        "insert into embedding_versions (model_version, uri, dimensions, state, activated_at)"
        " values ('api-m-8', 'api:m', 8, 'active', now())"
    )
    assert user.get("/v1/topics").json["notice"]["code"] == "own_topics_not_compared"


def told(house: House, *topics: str) -> None:
    """Let analysis tell these default topics."""
    shown = [{"id": topic, "descriptions": {"en": topic}} for topic in topics]
    with house.database.transaction() as connection:
        reading_profile_store.tell(connection, ReadingProfile(shown, {}))
