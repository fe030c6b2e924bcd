"""Temporary ids become canonical: real PostgreSQL, the real batch loop, providers in their documented shapes."""

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from urllib.parse import parse_qs, urlsplit
from uuid import UUID

import pytest
from psycopg.rows import dict_row

from siftline.contracts import JobType, Queue, Tick
from siftline.jobs import jobs_store as jobs
from siftline.jobs.consume import BatchConsumer
from siftline.jobs.job_model import NewJob
from siftline.jobs.publish import Publisher
from siftline.kit.clock import SystemClock
from siftline.kit.db import Database
from siftline.kit.ids import new_id
from siftline.net.http_model import HttpLimits
from siftline.resolve.providers import (
    Asking,
    CsvNames,
    Gleif,
    GleifRefusedError,
    Provider,
    RequestBudget,
    Wikidata,
    WikidataRefusedError,
)
from siftline.resolve.resolve_service import ResolveEntity, subject_of
from siftline.schedule import schedule_service
from siftline.settings.functions import JobSettings
from siftline.text.names import normalise, temporary_id
from tests.factories import FakeContext, make_content, sqs_event
from tests.fakes import FakeSender
from tests.open_client import OpenClient
from tests.servers import Answer, LoopbackServer, Request
from tests.ticks import make_schedule


def lei_record(lei: str, name: str, country: str = "US", others: tuple[str, ...] = ()) -> dict[str, Any]:
    """Return a record as GLEIF's API documents it, shortened."""
    return {
        "type": "lei-records",
        "id": lei,
        "attributes": {
            "lei": lei,
            "entity": {
                "legalName": {"name": name, "language": "en"},
                "otherNames": [
                    {"name": other, "language": "en", "type": "TRADING_OR_OPERATING_NAME"} for other in others
                ],
                "transliteratedOtherNames": [],
                "legalAddress": {"language": "en", "city": "X", "country": country},
                "legalForm": {"id": "XTIQ", "other": None},
                "status": "ACTIVE",
            },
            "registration": {"status": "ISSUED"},
        },
        "links": {"self": f"/api/v1/lei-records/{lei}"},
    }


class Register(LoopbackServer):
    """GLEIF and Wikidata on loopback: answer what a test says for a name."""

    def __init__(self) -> None:
        super().__init__()
        self.client = OpenClient(limits=HttpLimits(total_s=60, read_s=60, retries=0))
        self.records: dict[str, list[dict[str, Any]]] = {}
        self.status = 200
        self.headers: dict[str, str] = {}
        self.questions: list[dict[str, list[str]]] = []

    def answer(self, request: Request) -> Answer:
        """Answer as the provider whose path was asked."""
        self.requests.append(request)
        parts = urlsplit(request.path)
        query = parse_qs(parts.query)
        self.questions.append(query)
        if self.status != 200:
            return Answer(b"{}", self.status, self.headers)
        if parts.path == "/api/v1/lei-records":
            name = query["filter[entity.legalName]"][0]
            body = {"meta": {"pagination": {"total": 1}}, "data": self.records.get(name, [])}
            return Answer(json.dumps(body).encode(), 200, {"Content-Type": "application/vnd.api+json"})
        return Answer(json.dumps(self._wikidata(query)).encode(), 200, {"Content-Type": "application/json"})

    def _wikidata(self, query: dict[str, list[str]]) -> dict[str, Any]:
        human = [{"mainsnak": {"snaktype": "value", "datavalue": {"value": {"id": "Q5"}, "type": "wikibase-entityid"}}}]
        place = [{"mainsnak": {"snaktype": "somevalue"}}]
        items = {
            "Q312": {"labels": {"en": {"language": "en", "value": "Acme Inc."}}, "claims": {"P159": place}},
            "Q89": {"labels": {"en": {"language": "en", "value": "acme"}}, "claims": {"P31": place}},
            "Q7": {"labels": {"en": {"language": "en", "value": "Acme"}}, "claims": {"P31": human, "P452": place}},
        }
        if query["action"] == ["wbsearchentities"]:
            found = [{"id": id_, "label": "Acme", "match": {"type": "label"}} for id_ in items]
            return {"searchinfo": {"search": query["search"][0]}, "search": found, "success": 1}
        return {"entities": {id_: {"type": "item", "id": id_, "aliases": {}, **item} for id_, item in items.items()}}


@pytest.fixture
def register() -> Iterator[Register]:
    """A register that runs as long as the test."""
    server = Register()
    server.start()
    yield server
    server.client.close()
    server.stop()


class Bench:
    """The resolve function's consumer with chosen providers, and its database at hand."""

    def __init__(self, database: Database, providers: list[Provider]) -> None:
        self.database = database
        self.sender = FakeSender()
        settings = JobSettings()
        self.publisher = Publisher(database, self.sender, settings)
        self.work = ResolveEntity(database, providers, salt="pepper")
        self.consumer = BatchConsumer(
            queues={"siftline-local-resolution-queue": Queue.RESOLUTION},
            database=database,
            publisher=self.publisher,
            sender=self.sender,
            processors=[self.work],
            subjects={JobType.RESOLVE_ENTITY: subject_of},
            settings=settings,
            clock=SystemClock(),
        )

    def entity(self, name: str, *contents: UUID, lang: str = "en") -> UUID:
        entity_id, key = new_id(), temporary_id(name, "pepper")
        with self.database.transaction() as connection:
            connection.execute(
                "insert into entities (id, kind, name, temporary_id) values (%s, 'ORG', %s, %s)", (entity_id, name, key)
            )
            connection.execute(
                "insert into entity_aliases (kind, temporary_id, entity_id, name, normalised)"
                " values ('ORG', %s, %s, %s, %s)",
                (key, entity_id, name, normalise(name)),
            )
            for content_id in contents or (make_content(connection, lang=lang),):
                connection.execute("insert into content_entities values (%s, %s, 2)", (content_id, entity_id))
        return entity_id

    def resolve(self, *entity_ids: UUID) -> None:
        for entity_id in entity_ids:
            with self.database.transaction() as connection:
                job = NewJob(JobType.RESOLVE_ENTITY, entity_id, f"entity:{entity_id}")
                job_id = jobs.enqueue(connection, [job])[0]
            message = {"job_type": "resolve_entity", "job_id": job_id, "entity_id": entity_id}
            assert self.consumer.handle(sqs_event("resolution", message), FakeContext()) == {"batchItemFailures": []}

    def rows(self, statement: str) -> list[dict[str, Any]]:
        with self.database.transaction() as connection, connection.cursor(row_factory=dict_row) as cursor:
            return cursor.execute(statement).fetchall()


def asking(database: Database, register: Register, refused: Any, *, per_run: int = 100, per_day: int = 100) -> Asking:
    budget = RequestBudget(database, SystemClock(), per_run=per_run, per_day=per_day)
    return Asking(register.client, budget, refused)


def gleif(database: Database, register: Register, **more: int) -> Gleif:
    return Gleif(asking(database, register, GleifRefusedError, **more), register.url(""))


ONE = "select * from entities"
JOB = "select state, error_code, attempts, due_at > now() + interval '20 s' as later, parked_at, result from jobs"


def test_a_known_name_gets_its_canonical_id_and_the_registers_spelling(database, register):
    register.records["Acme Inc"] = [lei_record("5493001KJTIIGC8Y1R12", "ACME INC."), lei_record("X2", "Other Inc.")]
    bench = Bench(database, [gleif(database, register)])
    entity_id = bench.entity("Acme Inc")

    bench.resolve(entity_id)

    (entity,) = bench.rows(ONE)
    assert (entity["canonical_id"], entity["provider"], entity["name"]) == (
        "lei:5493001KJTIIGC8Y1R12",
        "gleif",
        "ACME INC.",
    )
    assert (entity["temporary_id"], entity["reason"]) == (temporary_id("Acme", "pepper"), None)
    (job,) = bench.rows(JOB)
    assert (job["state"], job["result"]) == ("completed", {"outcome": "resolved", "provider": "gleif"})
    assert register.requests[0].headers["accept"] == "application/vnd.api+json"
    assert "Acme" not in json.dumps(job["result"])


def test_two_names_of_one_become_one_with_all_their_contents_once(database, register):
    record = lei_record("L1", "Acme Incorporated", others=("Acme Robotics",))
    register.records |= {"Acme Inc": [record], "Acme Robotics": [record]}
    bench = Bench(database, [gleif(database, register)])
    with database.transaction() as connection:
        shared, own = make_content(connection, lang="en"), make_content(connection, lang="en")
    one, other = bench.entity("Acme Inc", shared), bench.entity("Acme Robotics", shared, own)

    bench.resolve(one, other)

    assert [row["id"] for row in bench.rows(ONE)] == [one]
    told = bench.rows("select content_id, mentions from content_entities order by mentions desc")
    assert told == [{"content_id": shared, "mentions": 4}, {"content_id": own, "mentions": 2}]
    aliases = bench.rows("select distinct entity_id from entity_aliases")
    assert aliases == [{"entity_id": one}]
    assert {row["temporary_id"] for row in bench.rows("select temporary_id from entity_aliases")} == {
        temporary_id("Acme", "pepper"),
        temporary_id("Acme Robotics", "pepper"),
    }


def test_two_workers_who_resolve_to_the_same_at_once_leave_one(database, register):
    names = [f"Acme {number}" for number in range(6)]
    register.records |= {name: [lei_record("L1", "Acme Incorporated", others=tuple(names))] for name in names}
    bench = Bench(database, [gleif(database, register)])
    with database.transaction() as connection:
        content_id = make_content(connection, lang="en")
    entities = [bench.entity(name, content_id) for name in names]

    with ThreadPoolExecutor(6) as pool:
        list(pool.map(bench.resolve, entities))

    assert len(bench.rows(ONE)) == 1
    assert bench.rows("select mentions from content_entities") == [{"mentions": 12}]
    assert {row["state"] for row in bench.rows(JOB)} == {"completed"}


def test_who_is_unknown_or_one_of_several_stays_temporary_with_the_reason(database, register):
    register.records["Twin"] = [lei_record("L1", "Twin Inc."), lei_record("L2", "Twin LLC")]
    bench = Bench(database, [gleif(database, register)])
    twin, nobody = bench.entity("Twin"), bench.entity("Nobody")

    bench.resolve(twin, nobody)

    reasons = bench.rows("select name, reason, canonical_id from entities order by name desc")
    assert [(row["name"], row["reason"], row["canonical_id"]) for row in reasons] == [
        ("Twin", "ambiguous", None),
        ("Nobody", "unknown_to_providers", None),
    ]


@pytest.mark.parametrize("status", [401, 403])
def test_a_provider_that_does_not_let_us_in_is_switched_off_and_jobs_wait(database, register, status):
    register.status = status
    bench = Bench(database, [gleif(database, register)])
    first, second = bench.entity("Acme"), bench.entity("Foo")

    bench.resolve(first, second)

    assert len(register.questions) == 1
    assert [(job["state"], job["attempts"], job["later"]) for job in bench.rows(JOB)] == [("pending", 0, True)] * 2
    assert bench.rows("select provider, error_code from breakers") == [
        {"provider": "gleif", "error_code": "provider_refused"}
    ]


def test_a_provider_that_asks_for_time_gets_it_and_no_attempt_is_used(database, register):
    register.status, register.headers = 429, {"Retry-After": "120"}
    bench = Bench(database, [gleif(database, register)])

    bench.resolve(bench.entity("Acme"))

    assert [(job["state"], job["attempts"], job["later"]) for job in bench.rows(JOB)] == [("pending", 0, True)]


def test_a_provider_in_trouble_is_tried_again_and_parked_in_the_end(database, register):
    register.status = 500
    bench = Bench(database, [gleif(database, register)])
    entity_id = bench.entity("Acme")

    for _ in range(4):
        with database.transaction() as connection:
            connection.execute("update jobs set due_at = now()")
        bench.resolve(entity_id)

    (job,) = bench.rows(JOB)
    assert (job["state"], job["attempts"], job["error_code"]) == ("failed", 4, "http_500")
    assert len(bench.sender.dead[Queue.RESOLUTION]) == 1
    assert bench.rows("select reason from entities") == [{"reason": "http_500"}]


@pytest.mark.parametrize("budget", [{"per_run": 2}, {"per_day": 2}], ids=["run", "day"])
def test_nobody_is_asked_more_often_than_the_budget_says_and_the_rest_waits_its_turn(database, register, budget):
    bench = Bench(database, [gleif(database, register, **budget)])
    entities = [bench.entity(f"Company {number}") for number in range(4)]

    bench.resolve(*entities)

    assert len(register.questions) == 2
    states = sorted((job["state"], job["attempts"]) for job in bench.rows(JOB))
    assert states == [("completed", 1), ("completed", 1), ("pending", 0), ("pending", 0)]


def test_wikidata_offers_organisations_and_neither_people_nor_fruit(database, register):
    provider = Wikidata(asking(database, register, WikidataRefusedError), register.url(""))
    bench = Bench(database, [provider])

    bench.resolve(bench.entity("ACME", lang="de"))

    assert bench.rows("select canonical_id, name from entities") == [
        {"canonical_id": "wikidata:Q312", "name": "Acme Inc."}
    ]
    assert register.questions[0]["language"] == ["de"]
    assert register.questions[1]["ids"] == ["Q312|Q89|Q7"]


def test_ones_own_list_is_asked_first_and_its_aliases_are_known_from_then_on(database, register, tmp_path):
    file = tmp_path / "names.csv"
    file.write_text("name,id,aliases\nAcme Inc.,org-1,Acme Robotics|Acme Labs\n", encoding="utf-8")
    bench = Bench(database, [CsvNames(file), gleif(database, register)])

    bench.resolve(bench.entity("ACME LABS"))

    assert register.questions == []
    assert bench.rows("select canonical_id, provider, name from entities") == [
        {"canonical_id": "org-1", "provider": "csv", "name": "Acme Inc."}
    ]
    known = {row["normalised"] for row in bench.rows("select normalised from entity_aliases")}
    assert known == {"acme", "acme robotics", "acme labs"}


def test_who_is_known_or_gone_by_now_is_not_asked_about(database, register):
    bench = Bench(database, [gleif(database, register)])
    entity_id = bench.entity("Acme")
    with database.transaction() as connection:
        connection.execute("update entities set canonical_id = 'x', provider = 'csv' where id = %s", (entity_id,))

    bench.resolve(entity_id, new_id())

    assert register.questions == []
    assert {job["result"]["outcome"] for job in bench.rows(JOB)} == {"known", "gone"}


def test_an_answer_of_another_shape_is_tried_again(database, register):
    register.records["Acme"] = [{"type": "lei-records"}]
    bench = Bench(database, [gleif(database, register)])

    bench.resolve(bench.entity("Acme"))

    (job,) = bench.rows(JOB)
    assert (job["state"], job["error_code"], job["attempts"]) == ("pending", "provider_answer_unreadable", 1)


def test_the_hourly_run_alone_hands_organisations_out_a_hundred_at_most(database, register, monkeypatch):
    monkeypatch.setattr(schedule_service, "RESOLUTIONS_PER_TICK", 5)
    bench = Bench(database, [gleif(database, register)])
    entities = [bench.entity(f"Company {number}") for number in range(7)]
    with database.transaction() as connection:
        jobs.enqueue(connection, [NewJob(JobType.RESOLVE_ENTITY, one, f"entity:{one}") for one in entities])
    schedule, sender = make_schedule(database)

    assert schedule.run(Tick.SWEEP)["handed_out"] == 0
    assert schedule.run(Tick.RESOLUTIONS) == {"handed_out": 5}
    assert len(sender.sent[Queue.RESOLUTION]) == 5
    schedule, sender = make_schedule(database, extra_run_pending=1)
    assert schedule.run(Tick.EXTRA_RUN) == {"handed_out": 2}
