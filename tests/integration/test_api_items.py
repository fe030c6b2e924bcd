"""The items resource, through API Gateway's events and on a real PostgreSQL."""

import threading
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest
from psycopg.types.json import Jsonb

from siftline.api.items.item_models import TAGS_MAX
from siftline.contracts import JobType, Queue
from siftline.ingest.ingest_store import OWN_TAGS_MAX
from siftline.jobs import lease_store
from siftline.kit.db import Database
from siftline.kit.errors import TransientError
from siftline.kit.ids import new_id
from tests.api_client import Answered, ApiClient, World
from tests.factories import make_content, make_item, make_job, make_source

URL = "https://news.example/story?id=7"


@pytest.fixture
def world(database: Database) -> World:
    return World(database)


def save(user: ApiClient, url: str = URL, **more: Any) -> dict[str, Any]:
    answer = user.post("/v1/items", {"url": url, **more})
    assert answer.status in {200, 202}, answer.text
    return dict(answer.json)


def hold(world: World, user: ApiClient, **columns: Any) -> tuple[UUID, UUID]:
    """Return an item and its content."""
    with world.database.transaction() as connection:
        content_id = make_content(connection, **columns)
        return make_item(connection, user.user_id, content_id), content_id


def test_a_saved_url_is_accepted_with_its_job_and_a_message(world: World) -> None:
    user = world.user()
    answer = user.post("/v1/items", {"url": URL, "tags": ["energy"], "note": "later"})
    assert answer.status == 202
    assert answer.headers["location"] == f"/v1/items/{answer.json['id']}"
    assert set(answer.json) == {"id", "content_id", "status", "waiting"}
    assert answer.json["status"] == "PENDING"
    [envelope] = world.sender.sent[Queue.CONTENT_PROCESSING]
    assert answer.json["content_id"] in envelope.body
    item = user.get(answer.headers["location"]).json
    assert (item["url"], item["own_tags"], item["note"], item["saved"]) == (URL, ["energy"], "later", True)


def test_a_deleted_account_is_told_so_while_its_token_is_still_believed(world: World) -> None:
    user = world.user()
    world.sql("delete from users where id = %s", user.user_id)
    answer = user.post("/v1/items", {"url": URL})
    assert (answer.status, answer.code) == (403, "unknown_user")
    assert world.sql("select count(*) from contents") == [(0,)]


def test_the_same_url_again_is_the_same_item(world: World) -> None:
    user = world.user()
    first = save(user)
    again = user.post("/v1/items", {"url": URL + "&utm_source=mail"})
    assert (again.status, again.json["id"]) == (200, first["id"])
    assert again.headers["location"] == f"/v1/items/{first['id']}"
    assert world.sql("select count(*) from jobs") == [(1,)]


def test_two_users_hold_one_content_by_items_of_their_own(world: World) -> None:
    first, second = save(world.user()), save(world.user())
    assert first["id"] != second["id"]
    assert first["content_id"] == second["content_id"]


@pytest.mark.parametrize(
    ("url", "code"),
    [
        ("", "invalid_url"),
        ("not an address", "invalid_url"),
        ("http://[::g]/", "invalid_url"),
        ("https://" + "a" * 9000, "invalid_url"),
        ("ftp://example.org/file", "unsupported_scheme"),
        ("javascript:alert(1)", "unsupported_scheme"),
        ("http://127.0.0.1/", "address_refused"),
        ("http://localhost:8080/", "address_refused"),
        ("http://app.localhost./", "address_refused"),
        ("http://0x7f.1/", "address_refused"),
        ("http://2130706433/", "address_refused"),
        ("http://[::ffff:a9fe:a9fe]/", "address_refused"),
        ("http://192.168.0.1/router", "address_refused"),
    ],
)
def test_an_address_that_cannot_be_read_is_refused_at_once(world: World, url: str, code: str) -> None:
    answer = world.user().post("/v1/items", {"url": url})
    assert (answer.status, answer.code) == (422, code)
    assert answer.json["errors"] == [{"code": code, "detail": answer.json["detail"], "pointer": "#/url"}]
    assert world.sql("select count(*) from contents") == [(0,)]


def test_loopback_is_accepted_where_the_setting_opens_it(database: Database) -> None:
    user = World(database, http_allow_loopback=True).user()
    assert user.post("/v1/items", {"url": "http://127.0.0.1:9/page"}).status == 202
    assert user.post("/v1/items", {"url": "http://localhost:9/page"}).status == 202
    assert user.post("/v1/items", {"url": "http://10.0.0.1/"}).code == "address_refused"


def test_an_item_is_accepted_though_the_queue_is_away(world: World) -> None:
    def refuse(_: object) -> bool:
        raise TransientError("The queue is away.", code="queue_unavailable")

    world.sender.refuse = refuse
    assert world.user().post("/v1/items", {"url": URL}).status == 202
    assert world.sql("select state from jobs") == [("pending",)]


def test_a_repeated_idempotency_key_makes_nothing_new(world: World) -> None:
    user = world.user()
    headers = {"Idempotency-Key": "k-1"}
    first = user.post("/v1/items", {"url": URL}, headers)
    again = user.post("/v1/items", {"url": URL}, headers)
    assert (first.status, again.status) == (202, 200)
    assert first.json["id"] == again.json["id"]


def test_an_item_keeps_its_newest_fifty_tags_however_often_it_is_saved(world: World) -> None:
    user = world.user()
    for start in range(0, 200, 25):
        answer = user.post("/v1/items", {"url": URL, "tags": [f"t{number}" for number in range(start, start + 25)]})
        assert answer.status in (200, 202)
    item = user.get(f"/v1/items/{answer.json['id']}").json
    assert item["own_tags"] == [f"t{number}" for number in range(150, 200)]
    user.post("/v1/items", {"url": URL, "tags": ["t150", "new"]})
    item = user.get(f"/v1/items/{answer.json['id']}").json
    assert item["own_tags"] == ["t150", *(f"t{number}" for number in range(152, 200)), "new"]
    entries = [{"url": URL, "tags": [f"{start}-{number}" for number in range(50)]} for start in range(3)]
    user.post("/v1/items/batch", {"items": entries})
    item = user.get(f"/v1/items/{answer.json['id']}").json
    assert item["own_tags"] == [f"2-{number}" for number in range(50)]
    assert TAGS_MAX == OWN_TAGS_MAX == 50


def test_an_idempotency_key_cannot_be_used_for_another_request(world: World) -> None:
    user = world.user()
    headers = {"Idempotency-Key": "k-1"}
    user.post("/v1/items", {"url": URL}, headers)
    answer = user.post("/v1/items", {"url": URL, "tags": ["other"]}, headers)
    assert (answer.status, answer.code) == (422, "idempotency_key_reused")
    assert world.user().post("/v1/items", {"url": "https://news.example/other"}, headers).status == 202


def test_an_idempotency_key_is_free_again_once_its_item_is_gone(world: World) -> None:
    user = world.user()
    headers = {"Idempotency-Key": "k-1"}
    first = user.post("/v1/items", {"url": URL}, headers).json["id"]
    user.delete(f"/v1/items/{first}")
    again = user.post("/v1/items", {"url": URL}, headers)
    assert again.status == 202
    assert again.json["id"] != first


def test_of_two_requests_at_once_with_one_key_only_one_is_served(world: World) -> None:
    user = world.user()
    answers: list[str] = []
    with world.database.transaction() as connection:
        # GIVEN another request with this key that has not been committed yet
        connection.execute(
            "insert into idempotency_keys (user_id, key, request_sha256, item_id) values (%s, 'k-1', '', %s)",
            (user.user_id, new_id()),
        )
        headers = {"Idempotency-Key": "k-1"}
        thread = threading.Thread(target=lambda: answers.append(user.post("/v1/items", {"url": URL}, headers).code))
        thread.start()
        thread.join(0.3)
        assert thread.is_alive()
    thread.join(60)
    # THEN nothing of the second one stays
    assert answers == ["idempotency_key_reused"]
    assert world.sql("select count(*) from items") == [(0,)]


@pytest.mark.parametrize("key", ["", "a b", "x" * 256, "ä"])
def test_a_malformed_idempotency_key_is_refused(world: World, key: str) -> None:
    answer = world.user().post("/v1/items", {"url": URL}, {"Idempotency-Key": key})
    assert (answer.status, answer.json["errors"][0]["parameter"]) == (422, "idempotency-key")


def test_each_entry_of_a_batch_is_answered_on_its_own(world: World) -> None:
    user = world.user()
    held = save(user, "https://news.example/held")
    entries = [
        {"url": "https://news.example/new"},
        {"url": "https://news.example/held"},
        {"url": "ftp://news.example/"},
        {"url": "https://news.example/bad-tags", "tags": [""]},
        {"link": "https://news.example/misspelt"},
        "https://news.example/bare",
    ]
    answer = user.post("/v1/items/batch", {"items": entries})
    assert answer.status == 200
    found = [(one["status_code"], (one["error"] or {}).get("code")) for one in answer.json["items"]]
    bad = (422, "invalid_request")
    assert found == [(202, None), (200, None), (422, "unsupported_scheme"), bad, bad, bad]
    assert answer.json["items"][1]["item"]["id"] == held["id"]
    assert len(world.sender.sent[Queue.CONTENT_PROCESSING]) == 2


def test_a_page_named_twice_in_a_batch_is_one_item_with_the_marks_of_both(world: World) -> None:
    user = world.user()
    url = "https://news.example/a"
    entries = [
        {"url": f"{url}?utm_source=x", "tags": ["b", "a"], "note": "first"},
        {"url": "https://news.example/c"},
        {"url": url, "tags": ["c", "a"], "note": "second"},
        {"url": url},
    ]
    answers = user.post("/v1/items/batch", {"items": entries}).json["items"]
    assert [answer["status_code"] for answer in answers] == [202, 202, 200, 200]
    assert len({answer["item"]["id"] for answer in answers}) == 2
    item = user.get(f"/v1/items/{answers[0]['item']['id']}").json
    assert (item["own_tags"], item["note"], item["url"]) == (["b", "a", "c"], "second", f"{url}?utm_source=x")
    again = user.post("/v1/items/batch", {"items": [{"url": url, "tags": ["d"]}, {"url": "nonsense"}]}).json["items"]
    assert [answer["status_code"] for answer in again] == [200, 422]
    item = user.get(f"/v1/items/{answers[0]['item']['id']}").json
    assert (item["own_tags"], item["note"]) == (["b", "a", "c", "d"], "second")


def test_a_batch_of_nothing_usable_saves_nothing(world: World) -> None:
    answers = (
        world.user().post("/v1/items/batch", {"items": ["nonsense", {"url": "ftp://news.example/"}]}).json["items"]
    )
    assert [answer["status_code"] for answer in answers] == [422, 422]
    assert world.sql("select count(*) from contents") == [(0,)]


def test_a_batch_holds_at_most_500_entries(world: World) -> None:
    user = world.user()
    entries = [{"url": f"https://news.example/{place}"} for place in range(501)]
    answer = user.post("/v1/items/batch", {"items": entries})
    assert (answer.status, answer.json["errors"][0]["pointer"]) == (422, "#/items")
    assert user.post("/v1/items/batch", {"items": []}).status == 422
    assert user.post("/v1/items/batch", {"items": entries[:500]}).status == 200
    assert world.sql("select count(*) from items") == [(500,)]


def test_a_list_is_paged_newest_first_and_without_gaps(world: World) -> None:
    user = world.user()
    start = datetime(2026, 1, 1, tzinfo=UTC)
    made = [hold(world, user, sort_at=start + timedelta(hours=place // 2))[0] for place in range(7)]
    hold(world, world.user())
    seen, following = [], None
    for _ in range(4):
        answer = user.get("/v1/items", limit=2, **({"next": following} if following else {}))
        seen += [item["id"] for item in answer.json["items"]]
        following = answer.json["next"]
    assert following is None
    assert seen == [str(item) for item in reversed(made)]


def test_items_can_be_filtered(world: World) -> None:
    user = world.user()
    with world.database.transaction() as connection:
        source = make_source(connection)
    energy = Jsonb([{"topic": "energy", "score": 0.5}])
    old = hold(world, user, sort_at=datetime(2026, 1, 1, tzinfo=UTC), topics=energy, tags=["solar"], status="READY")[0]
    new = hold(world, user, sort_at=datetime(2026, 2, 1, tzinfo=UTC))[0]
    world.sql("update items set source_id = %s, tags = '{own}' where id = %s", source, new)
    assert user.patch(f"/v1/items/{old}", {"read": True, "starred": True}).status == 200

    def found(**query: Any) -> list[str]:
        return [item["id"] for item in user.get("/v1/items", **query).json["items"]]

    only_old, only_new = [str(old)], [str(new)]
    assert found() == [str(new), str(old)]
    assert found(status="READY") == found(topic="energy") == found(tag="solar") == only_old
    assert found(unread=False) == found(starred=True) == found(until="2026-01-15T00:00:00Z") == only_old
    assert found(tag="own") == found(source_id=source) == found(unread=True) == found(starred=False) == only_new
    assert found(since="2026-02-01T01:00:00+01:00") == only_new
    assert found(topic="\u202eenergy ") == only_old
    assert found(topic="other") == found(status="FAILED") == found(tag="solar", unread=True) == []
    assert found(sort="recent", limit=1) == only_new


@pytest.mark.parametrize(
    ("query", "parameter"),
    [
        ({"limit": 0}, "limit"),
        ({"limit": 201}, "limit"),
        ({"limit": "many"}, "limit"),
        ({"next": "!"}, "next"),
        ({"status": "DONE"}, "status"),
        ({"since": "2026-01-01"}, "since"),
        ({"since": "2026-01-01T00:00:00"}, "since"),
        ({"since": "2026-01-02T00:00:00Z", "until": "2026-01-01T00:00:00Z"}, "since"),
        ({"unread": "perhaps"}, "unread"),
        ({"source_id": "1"}, "source_id"),
        ({"sort": "best"}, "sort"),
        ({"tag": "a\x00b"}, "tag"),
        ({"topic": ""}, "topic"),
        ({"tag": ""}, "tag"),
        ({"entity": ""}, "entity"),
        ({"topic": " "}, "topic"),
        ({"tag": "\u200b"}, "tag"),
        ({"entity": "\t"}, "entity"),
    ],
)
def test_a_bad_filter_is_named(world: World, query: dict[str, Any], parameter: str) -> None:
    answer = world.user().get("/v1/items", **query)
    assert (answer.status, answer.json["errors"][0]["parameter"]) == (422, parameter)


def test_a_ready_item_shows_all_that_is_known(world: World) -> None:
    user = world.user()
    item_id, content_id = hold(
        world,
        user,
        status="READY",
        title="Sun & wind",
        text="A long text.",
        summary="Short.",
        lang="en",
        tags=["solar", "own"],
        notice_code="insufficient_content",
        topics=Jsonb([{"topic": "energy", "score": 0.62}]),
    )
    world.sql(
        "insert into derivations (content_id, kind, model_id, model_version, input_sha256)"
        " values (%s, 'summary', 'extractive', '1', '\\x00')",
        content_id,
    )
    world.sql("insert into embeddings values (%s, 'm-1', 2, '\\x0000000000000000')", content_id)
    user.patch(f"/v1/items/{item_id}", {"tags": ["own"]})
    item = user.get(f"/v1/items/{item_id}").json
    assert (item["text"], item["summary"], item["lang"]) == ("A long text.", "Short.", "en")
    assert item["topics"] == [{"topic": "energy", "score": 0.62}]
    assert (item["tags"], item["own_tags"]) == (["own", "solar"], ["own"])
    assert item["notice"]["code"] == "insufficient_content"
    assert item["vector"] == {"model_version": "m-1", "dimensions": 2}
    assert [(made["kind"], made["model_id"]) for made in item["derivations"]] == [("summary", "extractive")]
    assert (item["error"], item["waiting_until"], item["duplicates"]) == (None, None, [])


def test_a_failed_item_says_why(world: World) -> None:
    user = world.user()
    item_id, _ = hold(world, user, status="FAILED", error_code="http_404", error_detail="There is no such page.")
    item = user.get(f"/v1/items/{item_id}").json
    assert item["error"] == {"code": "http_404", "detail": "There is no such page."}


def test_duplicates_are_the_callers_own_only(world: World) -> None:
    user, other = world.user(), world.user()
    first, original = hold(world, user)
    second, _ = hold(world, user, duplicate_of=original)
    hold(world, other, duplicate_of=original)
    [later], [earlier] = (user.get(f"/v1/items/{one}").json["duplicates"] for one in (first, second))
    assert (later["id"], later["original"]) == (str(second), False)
    assert (earlier["id"], earlier["original"]) == (str(first), True)


def test_a_retried_item_says_until_when_it_waits_and_why(world: World) -> None:
    user = world.user()
    saved = save(user)
    [(job_id,)] = world.sql("select id from jobs")
    with world.database.transaction() as connection:
        job = lease_store.claim(connection, job_id, JobType.INGEST_CONTENT, lease_s=60, grace_s=1)
        assert job is not None
    item = user.get(f"/v1/items/{saved['id']}").json
    assert (item["waiting_until"], item["waiting_reason"]) == (None, "It is being processed now.")
    with world.database.transaction() as connection:
        error = TransientError("The site answered 503.", code="http_503")
        lease_store.retry(connection, job, error, delay_s=60, duration_ms=12)
    item = user.get(f"/v1/items/{saved['id']}").json
    assert item["status"] == "PENDING"
    assert item["waiting_until"].endswith("Z")
    assert item["waiting_reason"] == "The site answered 503."
    timeline = user.get(f"/v1/items/{saved['id']}/timeline").json
    assert timeline["waiting"]["reason"] == "The site answered 503."
    assert [step["event"] for step in timeline["steps"]] == ["enqueued", "claimed", "retry"]
    assert timeline["steps"][2]["error"] == {"code": "http_503", "detail": "The site answered 503."}
    assert (timeline["steps"][2]["attempt"], timeline["steps"][2]["duration_ms"]) == (1, 12)


def put_off(world: World, job_type: JobType, error: TransientError, *, deferred: bool) -> None:
    """Let a try of the only job of its type fail."""
    [(job_id,)] = world.sql("select id from jobs where job_type = %s", job_type)
    again = lease_store.defer if deferred else lease_store.retry
    with world.database.transaction() as connection:
        job = lease_store.claim(connection, job_id, job_type, lease_s=60, grace_s=0)
        assert job is not None
        again(connection, job, error, delay_s=600, duration_ms=1)


def ask_again(user: ApiClient, item_id: str, how: str) -> Answered:
    """Ask for a page that is held already."""
    if how == "reprocess":
        return user.post(f"/v1/items/{item_id}/reprocess")
    if how == "save":
        return user.post("/v1/items", {"url": URL})
    return user.post("/v1/items/batch", {"items": [{"url": URL}]})


@pytest.mark.parametrize("how", ["reprocess", "save", "batch"])
def test_a_retry_that_waits_is_brought_forward_by_who_asks_for_the_page(world: World, how: str) -> None:
    user = world.user()
    item_id = save(user)["id"]
    put_off(world, JobType.INGEST_CONTENT, TransientError("The site answered 500.", code="http_500"), deferred=False)
    answer = ask_again(user, item_id, how)
    saved = answer.json["items"][0]["item"] if how == "batch" else answer.json
    assert (saved["status"], saved["waiting"]) == ("PENDING", None)
    assert len(world.sender.sent[Queue.CONTENT_PROCESSING]) == 2
    assert world.sql("select due_at <= now(), attempts, state from jobs") == [(True, 0, "pending")]
    assert user.get(f"/v1/items/{item_id}/timeline").json["waiting"]["code"] == "handed_out"


@pytest.mark.parametrize("how", ["reprocess", "save", "batch"])
def test_asking_often_uses_up_no_retry(world: World, how: str) -> None:
    user = world.user()
    item_id = save(user)["id"]
    error = TransientError("The site answered 500.", code="http_500")
    for _ in range(6):
        put_off(world, JobType.INGEST_CONTENT, error, deferred=False)
        assert ask_again(user, item_id, how).status < 300
    put_off(world, JobType.INGEST_CONTENT, error, deferred=False)
    assert world.sql("select due_at > now(), attempts, state from jobs") == [(True, 1, "pending")]


@pytest.mark.parametrize("how", ["reprocess", "save", "batch"])
def test_what_the_far_side_put_off_waits_on_and_the_answer_says_until_when(world: World, how: str) -> None:
    user = world.user()
    item_id = save(user)["id"]
    error = TransientError("The site asked to be left alone.", code="http_429")
    put_off(world, JobType.INGEST_CONTENT, error, deferred=True)
    answer = ask_again(user, item_id, how)
    saved = answer.json["items"][0]["item"] if how == "batch" else answer.json
    [(due_at, waits)] = world.sql("select due_at, due_at > now() from jobs")
    assert waits
    assert datetime.fromisoformat(saved["waiting"]["until"]) == due_at
    assert (saved["waiting"]["code"], saved["waiting"]["reason"]) == ("http_429", error.detail)


def test_personal_marks_change_only_what_is_named(world: World) -> None:
    user = world.user()
    item_id, _ = hold(world, user)
    path = f"/v1/items/{item_id}"
    marked = user.patch(path, {"read": True, "starred": True, "tags": [" a ", "b", "a"], "note": "x"}).json
    assert (marked["own_tags"], marked["note"]) == (["a", "b"], "x")
    assert marked["read_at"]
    assert marked["starred_at"]
    again = user.patch(path, {"read": True}).json
    assert again["read_at"] == marked["read_at"]
    cleared = user.patch(path, {"read": False, "note": None}).json
    assert (cleared["read_at"], cleared["note"], cleared["own_tags"]) == (None, None, ["a", "b"])
    assert cleared["starred_at"] == marked["starred_at"]


@pytest.mark.parametrize(
    "body", [{}, {"reed": True}, {"tags": ["x" * 65]}, {"tags": ["a"] * 51}, {"read": None}, {"note": "x" * 10_001}]
)
def test_a_change_that_means_nothing_is_refused(world: World, body: dict[str, Any]) -> None:
    user = world.user()
    item_id, _ = hold(world, user)
    assert user.patch(f"/v1/items/{item_id}", body).code == "invalid_request"


def test_a_deleted_page_goes_when_nobody_else_holds_it_and_its_work_is_cancelled(world: World) -> None:
    first, second = world.user(), world.user()
    mine, theirs = save(first), save(second)
    assert first.delete(f"/v1/items/{mine['id']}").status == 204
    assert first.get(f"/v1/items/{mine['id']}").code == "not_found"
    assert world.sql("select state from jobs") == [("pending",)]
    assert second.get(f"/v1/items/{theirs['id']}").status == 200
    assert second.delete(f"/v1/items/{theirs['id']}").status == 204
    assert world.sql("select count(*) from contents") == [(0,)]
    assert world.sql("select state from jobs") == [("cancelled",)]
    assert second.delete(f"/v1/items/{theirs['id']}").code == "not_found"


def test_a_page_that_is_saved_while_it_is_deleted_stays(world: World) -> None:
    first, second = world.user(), world.user()
    mine = save(first)
    answers: list[int] = []
    with world.database.transaction() as connection:
        # GIVEN a save that has written its item and is not committed yet
        connection.execute(
            "insert into items (id, user_id, content_id) values (%s, %s, %s)",
            (new_id(), second.user_id, mine["content_id"]),
        )
        # WHEN the only holder so far deletes theirs
        thread = threading.Thread(target=lambda: answers.append(first.delete(f"/v1/items/{mine['id']}").status))
        thread.start()
        thread.join(0.3)
        assert thread.is_alive()
    thread.join(60)
    # THEN it waits, and the page stays for the other
    assert answers == [204]
    assert world.sql("select count(*) from items") == [(1,)]


def test_reprocessing_queues_the_page_or_only_its_text(world: World) -> None:
    user = world.user()
    item_id, content_id = hold(world, user, status="FAILED", error_code="http_500", error_detail="x")
    path = f"/v1/items/{item_id}/reprocess"
    assert user.post(path, {"from": "analyze"}).code == "no_text"
    answer = user.post(path)
    assert (answer.status, answer.json["status"]) == (202, "PENDING")
    assert len(world.sender.sent[Queue.CONTENT_PROCESSING]) == 1
    world.sql("update contents set text = 'words' where id = %s", content_id)
    assert user.post(path, {"from": "analyze"}).status == 202
    assert len(world.sender.sent[Queue.ANALYSIS]) == 1
    assert user.post(path, {"from": "start"}).code == "invalid_request"
    assert user.get(f"/v1/items/{item_id}").json["error"] is None


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("GET", "", None),
        ("PATCH", "", {"starred": True, "tags": ["mine now"]}),
        ("DELETE", "", None),
        ("GET", "/timeline", None),
        ("POST", "/reprocess", None),
    ],
)
def test_an_id_of_another_user_looks_like_one_that_is_not_there(
    world: World, method: str, path: str, body: dict[str, Any] | None
) -> None:
    owner, stranger = world.user(), world.user()
    item_id, content_id = hold(world, owner)
    make_job(world.database, subject_id=content_id)
    before = owner.get(f"/v1/items/{item_id}").json
    answers = [
        stranger.send(method, f"/v1/items/{wanted}{path}", body=body)
        for wanted in (item_id, new_id(), content_id, "nonsense")
    ]
    assert {(answer.status, answer.code) for answer in answers} == {(404, "not_found")}
    assert {answer.json["detail"] for answer in answers} == {"There is no such item."}
    assert owner.get(f"/v1/items/{item_id}").json == before
    assert stranger.get("/v1/items").json["items"] == []


@pytest.mark.parametrize("body", [[{"url": "https://a.example/"}, {"url": "https://b.example/"}], [None], []])
def test_a_list_is_no_body_and_its_first_entry_is_not_taken_for_it(world: World, body: list[object]) -> None:
    user = world.user()
    refused = user.post("/v1/items", body)
    assert (refused.status, refused.json["errors"][0]["code"]) == (422, "not_an_object")
    assert user.get("/v1/items").json["items"] == []


def test_a_page_without_a_scheme_is_saved_by_https_alone_and_in_a_batch(world: World) -> None:
    user = world.user()
    user.post("/v1/items", {"url": "one.example/a"})
    user.post("/v1/items/batch", {"items": [{"url": "two.example/b"}]})
    assert {one["url"] for one in user.get("/v1/items").json["items"]} == {
        "https://one.example/a",
        "https://two.example/b",
    }


@pytest.mark.parametrize("wrong", [0, 1, "true", None])
def test_only_true_and_false_are_yes_and_no(world: World, wrong: object) -> None:
    user = world.user()
    item = user.post("/v1/items", {"url": "https://one.example/a"}).json["id"]
    refused = user.patch(f"/v1/items/{item}", {"starred": wrong})
    assert (refused.status, refused.json["errors"][0]["pointer"]) == (422, "#/starred")
