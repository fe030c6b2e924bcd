"""What one token may ask in a minute, what one user may have, and what becomes of more; wrong tokens are slowed."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from siftline.api.http.authorize import Authorizer, WrongTokens
from siftline.api.http.limits import RequestLimit
from siftline.api.http.problems import ProblemError
from siftline.api.http.resolver import HttpApi
from siftline.api.search_routes import SearchRoutes
from siftline.kit.db import Database, SingleConnection
from siftline.kit.ids import new_id
from siftline.kit.log import logger
from tests.api_client import Answered, ApiClient, World, sent
from tests.fakes import FakeClock
from tests.http_events import authorizer_event, http_event


def limited(database: Database, **limits: int) -> World:
    settings: dict[str, Any] = {f"{name}_per_user": most for name, most in limits.items()}
    return World(database, **settings)


# Requests of a token ----------------------------------------------------------------------------------------------


def test_a_token_asks_so_often_in_a_minute_and_then_is_told_when_again(database: Database) -> None:
    world = World(database, requests_per_minute=5)
    user, beside = world.user(), world.user()
    world.clock.move(20)
    answers = [user.get("/v1/me") for _ in range(7)]
    assert [answer.status for answer in answers] == [200] * 5 + [429] * 2
    assert answers[-1].code == "too_many_requests"
    assert answers[-1].headers["retry-after"] == "40"
    assert world.client(user.user_id).get("/v1/me").status == 200  # another token of theirs
    assert beside.get("/v1/me").status == 200
    assert sent(world.api, http_event("GET", "/health")).status == 200
    world.clock.move(39)
    assert user.get("/v1/me").status == 429
    world.clock.move(1)
    assert user.get("/v1/me").status == 200


def test_what_is_refused_counts_too_and_an_unknown_route_as_well(database: Database) -> None:
    world = World(database, requests_per_minute=3)
    user = world.user()
    answers = [user.post("/v1/items", {"url": "x"}), user.get("/v1/nothing"), user.get("/v1/me"), user.get("/v1/me")]
    assert [answer.status for answer in answers] == [422, 404, 200, 429]


def test_functions_and_processes_count_together_and_never_beyond(database: Database) -> None:
    clock = FakeClock()
    limits = [RequestLimit(database, clock, per_minute=600) for _ in range(3)]
    token, taken = new_id(), []

    def ask(limit: RequestLimit) -> None:
        try:
            limit.take(token)
        except ProblemError:
            return
        taken.append(limit)

    for number in range(900):
        ask(limits[number % 3])
    assert len(taken) == 600
    assert {id(limit) for limit in taken} == {id(limit) for limit in limits}


def test_requests_at_once_are_counted_one_by_one(database: Database) -> None:
    limit, token = RequestLimit(database, FakeClock(), per_minute=7), new_id()

    def ask(_: int) -> bool:
        try:
            limit.take(token)
        except ProblemError:
            return False
        return True

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(ask, range(40))) == 7


def test_a_clock_that_is_behind_does_not_begin_the_minute_anew(database: Database) -> None:
    ahead, behind = FakeClock(), FakeClock()
    ahead.move(60)
    token = new_id()
    first, second = (RequestLimit(database, clock, per_minute=2) for clock in (ahead, behind))
    first.take(token)
    second.take(token)
    for limit in (first, second):
        with pytest.raises(ProblemError):
            limit.take(token)


def test_search_counts_with_the_rest_and_a_feed_by_its_own_token(database: Database) -> None:
    world = World(database, requests_per_minute=2)
    user = world.user()
    limit = RequestLimit(database, world.clock, per_minute=2)
    search = ApiClient(HttpApi([SearchRoutes(None)], logger("search"), limit=limit), user.user_id)
    search._context = user._context
    feed = user.post("/v1/feed-tokens", {"name": "phone", "kind": "feed"}).json["token"]
    assert search.get("/v1/search", q="x").status == 404  # no finder here: counted all the same
    assert search.get("/v1/search", q="x").status == 429
    read = http_event("GET", "/v1/feed.atom", query={"token": feed})
    assert [sent(world.api, read).status for _ in range(3)] == [200, 200, 429]


def test_a_body_in_a_wrong_form_is_counted_and_told_only_to_who_has_an_account(database: Database) -> None:
    world = World(database, requests_per_minute=2)
    user, gone = world.user(), world.user(name="gone")
    form = {"content-type": "text/plain"}

    def wrong(who: ApiClient) -> int:
        return who.send("POST", "/v1/items", body="a", headers=form).status

    assert [wrong(user) for _ in range(3)] == [415, 415, 429]
    assert gone.send("DELETE", "/v1/me", body={"name": "gone"}).status == 202
    assert wrong(gone) == 403


def test_without_a_database_nothing_is_counted_and_nobody_is_refused_for_it() -> None:
    away = RequestLimit(
        SingleConnection("postgresql://127.0.0.1:1/none", connect_timeout_s=2), FakeClock(), per_minute=5
    )
    api = HttpApi([SearchRoutes(None)], logger("search"), limit=away)
    assert ApiClient(api, new_id()).get("/v1/search", q="x").code == "not_found"  # no finder here
    assert ApiClient(api, new_id()).post("/v1/search").code == "method_not_allowed"


# What a user has --------------------------------------------------------------------------------------------------


def test_a_user_has_so_many_live_tokens(database: Database) -> None:
    user = limited(database, tokens=3).user()

    def make() -> Answered:
        return user.post("/v1/tokens", {"name": "x", "scopes": ["read"]})

    made = [make(), make()]
    assert (make().status, make().code) == (409, "too_many_tokens")
    assert user.delete(f"/v1/tokens/{made[0].json['id']}").status == 204
    assert make().status == 201


def test_a_user_saves_so_many_pages_and_holds_what_they_have(database: Database) -> None:
    world = limited(database, saved_items=2)
    user, beside = world.user(), world.user()

    def save(client: ApiClient, name: str) -> Answered:
        return client.post("/v1/items", {"url": f"https://news.example/{name}"})

    assert [save(user, name).status for name in "ab"] == [202, 202]
    refused = save(user, "c")
    assert (refused.status, refused.code) == (409, "too_many_items")
    assert save(user, "a").status == 200
    assert save(beside, "c").status == 202
    assert world.sql("select count(*) from items where user_id = %s", user.user_id) == [(2,)]
    [first, *_] = user.get("/v1/items").json["items"]
    assert user.delete(f"/v1/items/{first['id']}").status == 204
    assert save(user, "c").status == 202


def test_of_a_batch_what_there_is_room_for_is_saved_and_the_rest_is_told(database: Database) -> None:
    user = limited(database, saved_items=3).user()
    assert user.post("/v1/items", {"url": "https://news.example/0"}).status == 202
    body = {"items": [{"url": "ftp://x"}, *({"url": f"https://news.example/{number}"} for number in range(1, 5))]}
    headers = {"Idempotency-Key": "k1"}
    for round_ in range(2):
        answers = user.post("/v1/items/batch", body, headers=headers).json["items"]
        told = [(one["status_code"], (one["error"] or {}).get("code")) for one in answers]
        refused = (409, "too_many_items")
        saved = [(202, None)] * 2 if round_ == 0 else [refused] * 2
        assert told == [(422, "unsupported_scheme"), *saved, refused, refused]


def test_a_user_follows_so_many_sources(database: Database) -> None:
    world = limited(database, sources=2)
    user = world.user()

    def follow(name: str) -> Answered:
        return user.post("/v1/sources", {"url": f"https://news.example/{name}.xml"})

    assert [follow(name).status for name in "ab"] == [202, 202]
    refused = follow("c")
    assert (refused.status, refused.code) == (409, "too_many_sources")
    assert follow("a").status == 200
    assert world.sql("select count(*) from sources") == [(2,)]


def test_of_a_list_as_much_is_followed_as_there_is_room_for(database: Database) -> None:
    world = limited(database, sources=3)
    user = world.user()
    assert user.post("/v1/sources", {"url": "https://news.example/0.xml"}).status == 202
    outlines = "".join(f'<outline xmlUrl="https://news.example/{number}.xml"/>' for number in (1, 0, 2, 3, 3, 4))
    body = f'<opml version="2.0"><body>{outlines}</body></opml>'
    answer = user.send("POST", "/v1/opml", body=body, headers={"content-type": "text/x-opml"}).json
    told = [(one["outcome"], (one["error"] or {}).get("code")) for one in answer["outlines"]]
    refused = ("refused", "too_many_sources")
    assert told == [("subscribed", None), ("already", None), ("subscribed", None), refused, refused, refused]
    assert world.sql("select count(*) from subscriptions") == [(3,)]


def _page(user: ApiClient, number: int) -> object:
    return user.post("/v1/items", {"url": f"https://news.example/{number}"})


def _pages(user: ApiClient, number: int) -> object:
    pages = [{"url": f"https://news.example/{number}/{place}"} for place in range(5)]
    return user.post("/v1/items/batch", {"items": pages})


def _source(user: ApiClient, number: int) -> object:
    return user.post("/v1/sources", {"url": f"https://feeds.example/{number}.xml"})


def _list(user: ApiClient, number: int) -> object:
    outlines = "".join(f'<outline xmlUrl="https://feeds.example/{number}/{place}.xml"/>' for place in range(5))
    file = f'<opml version="2.0"><body>{outlines}</body></opml>'
    return user.send("POST", "/v1/opml", body=file, headers={"content-type": "text/x-opml"})


@pytest.mark.parametrize(
    ("ask", "path"),
    [(_page, "/v1/items"), (_pages, "/v1/items"), (_source, "/v1/sources"), (_list, "/v1/sources")],
    ids=["pages", "batches of pages", "sources", "lists of sources"],
)
def test_requests_at_once_give_a_user_no_more_than_one_after_the_other(
    database: Database, ask: Callable[[ApiClient, int], object], path: str
) -> None:
    user = limited(database, saved_items=7, sources=7).user()
    together = threading.Barrier(8)

    def begin(number: int) -> None:
        together.wait(60)
        ask(user, number)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(begin, range(24)))
    assert len(user.get(path, limit=200).json["items"]) == 7


def test_a_user_has_so_many_folders(database: Database) -> None:
    world = limited(database, folders=2)
    user = world.user()
    assert user.post("/v1/folders", {"name": "News"}).status == 201

    def imported(*names: str) -> Answered:
        outlines = "".join(
            f'<outline text="{name}"><outline xmlUrl="https://{name}.example/feed"/></outline>' for name in names
        )
        body = f'<opml version="2.0"><body>{outlines}</body></opml>'
        return user.send("POST", "/v1/opml", body=body, headers={"content-type": "text/x-opml"})

    refused = imported("news", "sea", "air")
    assert (refused.status, refused.code) == (409, "too_many_folders")
    assert world.sql("select name from folders") == [("News",)]
    assert world.sql("select count(*) from sources") == world.sql("select count(*) from jobs") == [(0,)]
    assert imported("news", "sea").json["subscribed"] == 2
    refused = user.post("/v1/folders", {"name": "More"})
    assert (refused.status, refused.code) == (409, "too_many_folders")
    assert user.post("/v1/folders", {"name": "NEWS"}).code == "folder_exists"
    # What needs no new folder goes on, also where a lower limit was set since.
    user = limited(database, folders=1).client(user.user_id)
    assert imported("SEA", "News").json["already"] == 2
    assert user.post("/v1/sources", {"url": "https://x.example/feed", "folder_ids": []}).status == 202


# Wrong tokens -----------------------------------------------------------------------------------------------------


class Waits:
    """Notes how long would have been waited."""

    def __init__(self) -> None:
        self.waits: list[float] = []
        self.meanwhile: Callable[[], object] = lambda: None

    def __call__(self, seconds: float) -> None:
        self.waits.append(round(seconds, 3))
        self.meanwhile()


def asked(header: str, source_ip: str) -> dict[str, Any]:
    event = authorizer_event(header)
    event["requestContext"]["http"]["sourceIp"] = source_ip
    return event


def warnings(caplog: pytest.LogCaptureFixture) -> list[tuple[str, int]]:
    told = [vars(record) for record in caplog.records if record.getMessage() == "wrong_token"]
    return [(one["network"], one["tokens_this_minute"]) for one in told]


def wrong(number: int) -> str:
    return f"Bearer sl_{number:043}"


def test_wrong_tokens_of_a_network_are_answered_ever_more_slowly_and_right_ones_at_once(
    database: Database, caplog: pytest.LogCaptureFixture
) -> None:
    waits, clock = Waits(), FakeClock()
    authorizer = Authorizer(database, WrongTokens(logger("wrong_tokens_test"), clock, per_minute=3, sleep=waits))
    world = World(database)
    made = world.user().post("/v1/tokens", {"name": "x", "scopes": ["read"]}).json
    for number in range(6):
        assert authorizer(asked(wrong(number), f"203.0.113.{number}"))["isAuthorized"] is False
    assert waits.waits == [0.1, 0.2, 0.3]
    assert authorizer(asked(f"Bearer {made['token']}", "203.0.113.7"))["isAuthorized"] is True
    authorizer(asked(wrong(1), "198.51.100.1"))
    authorizer(asked("Basic x", "203.0.113.200"))
    assert waits.waits == [0.1, 0.2, 0.3, 0.4]
    for _ in range(50):
        authorizer(asked(wrong(1), "203.0.113.1"))
    assert max(waits.waits) == 2.0
    clock.move(60)
    authorizer(asked(wrong(1), "203.0.113.1"))
    assert len(waits.waits) == 54
    told = warnings(caplog)
    assert ("203.0.113.0/24", 32) in told
    assert ("203.0.113.0/24", 33) not in told
    written = str([vars(record) for record in caplog.records])
    assert "sl_" not in written
    assert "203.0.113.1'" not in written


def test_who_waits_for_a_wrong_token_keeps_only_two_threads(database: Database) -> None:
    waits, together = Waits(), threading.Barrier(3)
    waits.meanwhile = together.wait
    wrong_tokens = WrongTokens(logger("wrong_tokens_test"), FakeClock(), per_minute=1, sleep=waits)
    wrong_tokens.note("203.0.113.1")
    threads = [threading.Thread(target=wrong_tokens.note, args=("203.0.113.1",)) for _ in range(2)]
    for thread in threads:
        thread.start()
    while together.n_waiting < 2:
        pass
    wrong_tokens.note("203.0.113.1")  # at once: it would wait at the barrier, too
    assert len(waits.waits) == 2
    together.wait()
    for thread in threads:
        thread.join()


def test_wrong_feed_tokens_and_those_of_the_deep_health_check_count_too(
    database: Database, caplog: pytest.LogCaptureFixture
) -> None:
    world = World(database)
    sent(world.api, http_event("GET", "/v1/feed.atom", query={"token": "sf_" + "a" * 43}))
    sent(world.api, http_event("GET", "/health", query={"deep": 1}, headers={"authorization": wrong(1)}))
    assert warnings(caplog) == [("192.0.2.0/24", 1), ("192.0.2.0/24", 2)]
