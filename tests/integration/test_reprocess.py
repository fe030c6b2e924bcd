"""What other versions read is read again: counted and priced first, in slices, at nobody's cost, within a budget."""

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest
from psycopg.types.json import Jsonb

from siftline.analyze.analyze_wiring import profile_of
from siftline.catalog import reading_profile_store
from siftline.catalog.reading_profile_store import LlmProfile, ReadingProfile
from siftline.contracts import JobType, Tick
from siftline.jobs import credits_store, jobs_store
from siftline.jobs.job_model import NewJob
from siftline.kit.ids import new_id
from siftline.models import spending_store
from siftline.operate.reprocess_command import main, plan_lines, run_line
from siftline.reprocess.reprocess import Reprocess
from siftline.reprocess.reprocess_store import Order
from tests.api_client import World
from tests.factories import make_content, make_item
from tests.integration.test_analyze import Bench
from tests.reading import TEXT
from tests.reindexing import QUEUES
from tests.ticks import make_schedule

PATH = "/v1/ops/reprocess"
POLISH = (
    "Drużyna gospodarzy wygrała mecz golem w ostatniej minucie. Trener drużyny pochwalił swoich zawodników. "
    "Nikt na stadionie nie spodziewał się takiego gola. Następny mecz drużyna rozegra w sobotę wieczorem."
)
NOW = {kind: ["m-2"] for kind in ("language", "topics", "summary", "tags", "entities")}
LLM = LlmProfile("gpt", "always", usd_per_million_in=1.0, usd_per_million_out=2.0, usd_per_day=1.0)


class Shelf(World):
    """Contents that were read by one version or another."""

    def told(self, llm: LlmProfile | None = None, digests: tuple[str, ...] = ()) -> None:
        with self.database.transaction() as connection:
            reading_profile_store.tell(connection, ReadingProfile([], NOW, digests, llm))

    def content(
        self, version: str = "m-1", *, user_id: UUID | None = None, kind: str = "topics", **details: Any
    ) -> UUID:
        with self.database.transaction() as connection:
            content_id = make_content(connection, status="READY", title="t", text="x", topics="[]")
            connection.execute(
                "insert into derivations (content_id, kind, model_id, model_version, input_sha256, details, made_at)"
                " values (%s, %s, 'm', %s, '', %s, now() - interval '1 day')",
                (content_id, kind, version, Jsonb(details)),
            )
            if user_id is not None:
                make_item(connection, user_id, content_id)
        return content_id

    def tick(self, **settings: Any) -> int:
        schedule, _ = make_schedule(self.database, **settings)
        return schedule.run(Tick.BACKGROUND)["reprocess"]

    def finish(self, version: str = "m-2") -> None:
        """Let the jobs that wait end well, as the present version would."""
        self.sql("update derivations set model_version = %s, made_at = clock_timestamp() where content_id in"
                 " (select subject_id from jobs where state = 'pending')", version)  # fmt: skip
        self.sql("update contents set status = 'READY'")
        self.sql("update jobs set state = 'completed', finished_at = now() where state = 'pending'")


@pytest.fixture
def shelf(database):
    return Shelf(database)


def run_of(ops: Any) -> Any:
    return ops.get(PATH).json["run"]


def test_a_plan_counts_what_other_versions_made_and_changes_nothing(shelf):
    shelf.told()
    for version in ("m-1", "m-1", "m-0", "m-2"):
        shelf.content(version)
    shelf.content("e-1", kind="entities")
    ops = shelf.user("ops")

    plan = ops.post(PATH, {"dry_run": True}).json

    assert [(one["kind"], one["version"], one["contents"]) for one in plan["by"]] == [
        ("entities", "e-1", 1),
        ("topics", "m-0", 1),
        ("topics", "m-1", 2),
    ]
    assert (plan["contents"], plan["credits"], plan["usd"], plan["measured"]) == (4, 0, 0.0, False)
    assert plan["work_s"] == pytest.approx(1.2)
    assert ops.post(PATH, {"dry_run": True, "kind": "entities"}).json["contents"] == 1
    assert ops.post(PATH, {"dry_run": True, "version": "m-2"}).json["contents"] == 1
    assert ops.post(PATH, {"dry_run": True, "limit": 2}).json["contents"] == 2
    old = (datetime.now(UTC) - timedelta(days=2)).isoformat()
    assert ops.post(PATH, {"dry_run": True, "older_than": old}).json["contents"] == 0
    assert (run_of(ops), shelf.sql("select from jobs"), shelf.tick()) == (None, [], 0)


def test_topics_of_another_set_of_topics_are_outdated_too(shelf):
    shelf.told(digests=("new-en", "new-fr"))
    for labels in ("old-en", "new-en", "new-fr"):
        shelf.content("m-2", labels=labels)
    assert shelf.user("ops").post(PATH, {"dry_run": True}).json["contents"] == 1


@pytest.mark.parametrize("text", [TEXT, POLISH], ids=["en", "pl"])
def test_what_was_just_read_is_not_outdated_in_whichever_language(shelf, tmp_path, text):
    """Nothing is shipped for Polish: its texts are sorted with the anchors of all other languages, and say so."""
    reading = Bench(shelf.database, tmp_path)
    content_id = reading.content(text=text)
    reading.analyze(content_id)
    with shelf.database.transaction() as connection:
        reading_profile_store.tell(connection, profile_of(reading.setup.reader, None, None))

    assert reading.row("contents", content_id)["lang"] == ("pl" if text == POLISH else "en")
    assert shelf.user("ops").post(PATH, {"dry_run": True}).json["by"] == []


def test_a_run_reads_everything_again_in_slices_behind_all_others(shelf):
    shelf.told()
    stale = {shelf.content() for _ in range(5)}
    shelf.content("m-2")
    ops = shelf.user("ops")

    assert ops.post(PATH, {}).json["contents"] == 5
    sizes = []
    while run_of(ops)["state"] == "running":
        sizes.append(shelf.tick(reprocess_live_max=2))
        assert run_of(ops)["live"] <= 2
        shelf.finish()

    assert sizes == [2, 2, 1, 0]
    jobs = shelf.sql("select subject_id, priority, group_key from jobs")
    assert {row[0] for row in jobs} == stale
    assert {row[1:] for row in jobs} == {(-1, "reprocess")}
    run = run_of(ops)
    assert (run["state"], run["planned"], run["enqueued"], run["done"], run["failed"]) == ("completed", 5, 5, 5, 0)


def test_no_more_than_so_many_are_on_their_way_at_a_time(shelf):
    shelf.told()
    for _ in range(4):
        shelf.content()
    shelf.user("ops").post(PATH, {})
    assert [shelf.tick(reprocess_live_max=3) for _ in range(2)] == [3, 0]


def test_a_limit_is_kept(shelf):
    shelf.told()
    for _ in range(4):
        shelf.content()
    ops = shelf.user("ops")
    ops.post(PATH, {"limit": 3})
    sizes = []
    while run_of(ops)["state"] == "running":
        sizes.append(shelf.tick(reprocess_live_max=2))
        shelf.finish()
    assert sizes == [2, 1, 0]


def test_one_run_is_going_at_a_time_and_can_be_ended(shelf):
    shelf.told()
    shelf.content()
    ops = shelf.user("ops")
    assert ops.delete(PATH).code == "no_run"
    assert ops.post(PATH, {}).status == 200
    assert ops.post(PATH, {}).code == "reprocess_running"

    assert ops.delete(PATH).status == 204

    assert (run_of(ops)["state"], shelf.tick()) == ("cancelled", 0)
    assert ops.post(PATH, {}).status == 200
    assert shelf.tick() == 1


def test_what_fails_is_not_sent_again_by_the_same_run(shelf):
    shelf.told()
    shelf.content()
    ops = shelf.user("ops")
    ops.post(PATH, {})
    shelf.tick()
    shelf.sql("update contents set status = 'READY'")
    shelf.sql("update jobs set state = 'failed', finished_at = now()")
    assert shelf.tick() == 0
    run = run_of(ops)
    assert (run["state"], run["failed"], run["done"]) == ("completed", 1, 0)


def test_what_is_on_its_way_already_is_left_alone(shelf):
    shelf.told()
    content_id = shelf.content()
    with shelf.database.transaction() as connection:
        connection.execute(
            "insert into jobs (id, job_type, queue, subject_id, group_key)"
            " values (%s, 'ingest_content', 'content-processing', %s, 'user:a')",
            (new_id(), content_id),
        )
    shelf.user("ops").post(PATH, {})
    assert shelf.tick() == 0


def test_users_are_not_charged_even_for_a_text_that_nobody_paid_for(shelf):
    shelf.told()
    user = shelf.user()
    with shelf.database.transaction() as connection:
        credits_store.grant(connection, user.user_id, 3)
    content_id = shelf.content(user_id=user.user_id)
    shelf.sql("update contents set version = 7")

    shelf.user("ops").post(PATH, {})
    assert shelf.tick() == 1

    assert shelf.sql("select kind, amount, user_id from credit_entries where job_id is not null") == [
        ("repeat", 0, None)
    ]
    assert shelf.sql("select credits from users where id = %s", user.user_id) == [(3,)]
    [(job_id,)] = shelf.sql("select id from jobs")
    with shelf.database.transaction() as connection:
        assert spending_store.payer(connection, content_id=content_id, job_id=job_id) is None


def test_a_text_that_changed_since_is_paid_for_as_any_other(shelf):
    shelf.told()
    user = shelf.user()
    with shelf.database.transaction() as connection:
        credits_store.grant(connection, user.user_id, 3)
    content_id = shelf.content(user_id=user.user_id)
    shelf.user("ops").post(PATH, {})
    shelf.tick()
    with shelf.database.transaction() as connection:
        connection.execute("update contents set version = version + 1")
        job = NewJob(JobType.ANALYZE_CONTENT, content_id, f"user:{user.user_id}")
        jobs_store.enqueue(connection, [job])
    assert shelf.sql("select credits from users where id = %s", user.user_id) == [(2,)]


def test_money_is_planned_by_what_was_measured_and_the_run_rests_when_the_days_is_spent(shelf):
    shelf.told(LLM)
    for _ in range(3):
        shelf.content()
    ops = shelf.user("ops")
    shelf.sql(
        "insert into spendings (id, kind, day, subject_id, micro_usd, state, ended_at, job_id, model, tokens_in,"
        " tokens_out) values (%s, 'llm', current_date - 1, %s, 1, 'settled', now(), %s, 'gpt', 100000, 50000)",
        *(new_id(), new_id(), new_id()),
    )
    assert ops.post(PATH, {"dry_run": True}).json["usd"] == pytest.approx(0.6)
    ops.post(PATH, {})

    assert shelf.tick(reprocess_usd_per_day=0.45) == 2
    assert shelf.tick(reprocess_usd_per_day=0.1, reprocess_live_max=9) == 0
    assert run_of(ops)["waits_for"] == "budget"
    assert shelf.tick(reprocess_usd_per_day=9.0, reprocess_live_max=9) == 1
    assert run_of(ops)["waits_for"] is None


def test_texts_that_a_slow_model_has_not_been_paid_for_yet_are_held_back_from_the_days_money(shelf):
    shelf.told(LLM)
    for _ in range(9):
        shelf.content()
    ops = shelf.user("ops")
    ops.post(PATH, {})
    spend = (
        "insert into spendings (id, kind, day, subject_id, micro_usd, state, ended_at, job_id, model, tokens_in,"
        " tokens_out) select gen_random_uuid(), 'llm', (now() at time zone 'UTC')::date, subject_id, 4000, 'settled',"
        " now(), id, 'gpt', 3000, 500 from jobs where state = 'pending'"
    )

    sizes = [shelf.tick(reprocess_usd_per_day=0.013) for _ in range(3)]
    assert (sizes, run_of(ops)["waits_for"]) == ([3, 0, 0], "budget")
    shelf.sql(spend)
    assert shelf.tick(reprocess_usd_per_day=0.013) == 0
    shelf.finish()

    assert [shelf.tick(reprocess_usd_per_day=0.021) for _ in range(2)] == [2, 0]
    assert shelf.sql("select count(*) from jobs") == [(5,)]


def test_the_days_cap_of_the_language_model_counts_as_well(shelf):
    shelf.told(LLM)
    shelf.content()
    ops = shelf.user("ops")
    ops.post(PATH, {})
    shelf.sql(
        "insert into spending_days (kind, day, micro_usd) values ('llm', (now() at time zone 'UTC')::date, 999900)"
    )
    assert (shelf.tick(), run_of(ops)["waits_for"]) == (0, "budget")


def test_before_anything_was_analysed_there_is_no_plan(shelf):
    assert shelf.user("ops").post(PATH, {"dry_run": True}).code == "reader_unknown"


def test_only_operators_may(shelf):
    user = shelf.user("read", "write")
    assert {
        user.send(method, PATH, body=body).status for method, body in (("POST", {}), ("GET", None), ("DELETE", None))
    } == {403}


def test_a_wrong_order_is_refused_with_its_place(shelf):
    answer = shelf.user("ops").post(PATH, {"kind": "embedding", "limit": 0})
    assert {fault["pointer"] for fault in answer.json["errors"]} == {"#/kind", "#/limit"}


@pytest.mark.parametrize("older_than", ["2026", 2026, 2026.5, "2026-11-28", "2026-11-28T09:30:00", "1764322200", True])
def test_a_time_without_date_or_offset_is_no_number_of_seconds(shelf, older_than):
    shelf.told()
    answer = shelf.user("ops").post(PATH, {"dry_run": True, "older_than": older_than})
    assert (answer.status, [fault["pointer"] for fault in answer.json["errors"]]) == (422, ["#/older_than"])


def test_the_command_says_the_same_in_lines(shelf):
    shelf.told()
    shelf.content()
    reprocess = Reprocess(shelf.database, max_attempts=4)
    assert run_line(reprocess.run()) == "Nothing has been reprocessed yet."
    lines = plan_lines(reprocess.plan(Order()))
    assert lines[0].split() == ["1", "topics", "m-1"]
    shelf.user("ops").post(PATH, {})
    assert run_line(reprocess.run()) == "running: 0 of 1 reprocessed, 0 in progress, 0 failed"


def test_the_command_goes_by_what_the_worker_told_whatever_its_own_settings_are(
    shelf, database_url, monkeypatch, capsys
):
    shelf.told(LLM, digests=("own",))
    for _ in range(2):
        shelf.content()
    before = shelf.sql("select * from reading_profile")
    environment = {**QUEUES, "database_url": database_url, "qdrant_url": "http://127.0.0.1:1", "model_uri": "/nowhere"}
    environment |= dict.fromkeys(("aws_access_key_id", "aws_secret_access_key", "aws_default_region"), "local")
    for name, value in environment.items():
        monkeypatch.setenv(name.upper(), value)

    assert [main([option]) for option in ("--show", "--cancel", "--dry-run")] == [0, 0, 0]
    told = capsys.readouterr().out
    assert "No run is in progress." in told
    assert "0.01  USD for the language model, for 2 of them" in told
    assert (main([]), shelf.sql("select planned from reprocess_runs")) == (0, [(2,)])
    assert shelf.sql("select * from reading_profile") == before
