"""Search and similar over a real Qdrant engine behind HTTP and a real PostgreSQL."""

import uuid
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from qdrant_client import QdrantClient

from infra.local.ports import free_port
from siftline.kit.db import Database, DatabaseUnavailableError
from siftline.kit.errors import ConfigurationError, SiftlineError, TransientError
from siftline.kit.ids import new_id
from siftline.models.vectors import Point, VectorIndex
from siftline.rank.search import Meaning
from siftline.schedule.reconcile import remove_deleted, remove_from, remove_ghosts
from siftline.settings.functions import VectorSettings
from tests.api_client import ApiClient
from tests.factories import make_source
from tests.models import WordEmbedder
from tests.searching import Library, titles
from tests.vectors import serving_vectors

PORT = "The port is dredged for larger container ships"
RATES = "The central bank raises its interest rates"
GOAL = "A late goal decides the derby"


@pytest.fixture(scope="module")
def qdrant(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with serving_vectors(tmp_path_factory.mktemp("vectors")) as url:
        yield url


@pytest.fixture
def library(database: Database, qdrant: str) -> Iterator[Library]:
    library = Library(database, qdrant)
    yield library
    library.index.close()


def test_what_is_nearest_to_the_query_comes_first_with_what_is_known_of_it(library: Library):
    user = library.user()
    item_ids = library.give(user, PORT, RATES, GOAL, summary="Short.", published_at=datetime(2026, 3, 2, tzinfo=UTC))

    answer = user.get("/v1/search", q="larger ships for the port", limit=2)

    assert titles(answer)[0] == PORT
    assert len(titles(answer)) == 2
    assert (answer.json["mode"], answer.json["degraded"], answer.json["reason"]) == ("hybrid", False, None)
    first = answer.json["items"][0]
    assert first["id"] == str(item_ids[0])
    assert 0 < first["score"] <= 1
    assert (first["lang"], first["summary"], first["published_at"]) == ("en", "Short.", "2026-03-02T00:00:00Z")
    assert set(first) >= {"content_id", "url", "topics", "source_id"}


def test_a_page_that_says_too_little_comes_after_those_that_say_something(library: Library):
    user = library.user()
    library.give(user, PORT, notice_code="insufficient_content")
    library.give(user, RATES)

    assert titles(user.get("/v1/search", q="harbours")) == [RATES, PORT]


@pytest.mark.parametrize(
    ("lang", "title", "query"),
    [
        ("en", "Northern quay camera", None),
        ("en", "Lighthouse", None),
        ("en", "Northern quay camera", '"quay camera"'),
        ("en", "Northern quay camera", "camera northern quay"),
        ("de", "Blick auf den Fischmarkt", None),
        ("de", "Größenübersicht", None),
        ("fr", "L'écluse en direct", None),
        ("es", "Cámara del muelle", None),
        ("pt", "Câmara do cais", None),
        ("ru", "Камера на пристани", None),
        ("el", "Κάμερα στην προβλήτα", None),
        ("tr", "Köprü görüntüsü", None),
        ("ar", "كاميرا الرصيف", None),
        ("he", "מצלמת הרציף", None),
        ("hi", "घाट का कैमरा", None),
        ("ja", "港のライブカメラ", None),
        ("zh", "码头实时画面", None),
        ("zh", "码头实时画面", '"码头实时"'),
        ("ko", "부두 실시간 영상", None),
        ("th", "กล้องท่าเรือ", None),
        (None, "f-16", None),
        (None, "2026", None),
    ],
)
def test_a_short_note_is_first_for_its_own_words(library: Library, lang: str | None, title: str, query: str | None):
    """Case T04: it says too little to be about anything, and yet it is what was asked for."""
    user = library.user()
    [note] = library.give(user, title, lang=lang, notice_code="insufficient_content", text=f"{title}.")
    library.give(user, *(f"{one} {number}" for number in range(16) for one in (PORT, RATES, GOAL)))

    answer = user.get("/v1/search", q=title if query is None else query, limit=50)

    first = answer.json["items"][0]
    assert (first["id"], first["title"]) == (str(note), title)
    assert [item["score"] for item in answer.json["items"]] == sorted(
        (item["score"] for item in answer.json["items"]), reverse=True
    )


def test_a_short_note_is_first_for_its_own_words_without_the_model(library: Library):
    user = library.user()
    library.give(user, "Northern quay camera", notice_code="insufficient_content")
    library.give(user, "The northern lights over a quay", "A camera for the northern sky")
    library.meaning = TransientError("away")

    assert titles(user.get("/v1/search", q="northern quay camera"))[0] == "Northern quay camera"


def test_other_tenants_items_never_appear(library: Library):
    reader, stranger = library.user(), library.user()
    library.give(stranger, PORT)
    library.give(reader, GOAL)

    assert titles(reader.get("/v1/search", q=PORT)) == [GOAL]
    assert titles(library.user().get("/v1/search", q=PORT)) == []


def test_a_content_that_two_hold_is_shown_to_each_under_their_own_item(library: Library):
    reader, other = library.user(), library.user()
    content_id = library.content(PORT)
    item_ids = [library.hold(client, content_id) for client in (reader, other)]

    for client, item_id in zip((reader, other), item_ids, strict=True):
        assert [item["id"] for item in client.get("/v1/search", q=PORT).json["items"]] == [str(item_id)]


def test_deleted_items_are_not_found_before_or_after_the_sweep(library: Library):
    """Case C11: before the sweep PostgreSQL holds them back, after it their points are gone."""
    user = library.user()
    library.give(user, PORT, GOAL)
    kept = library.hold(library.user(), library.content(RATES))
    library.sql("delete from items where user_id = %s", user.user_id)
    library.sql("delete from contents where not exists (select from items where content_id = contents.id)")
    assert library.index.count() == 3

    assert titles(user.get("/v1/search", q=PORT)) == []
    assert remove_from(library.index, library.database, page=2) == 2
    assert library.index.count() == 1
    assert remove_from(library.index, library.database) == 0
    assert titles(user.get("/v1/search", q=PORT)) == []
    assert kept


def test_the_points_of_what_was_deleted_go_by_the_outbox_once_qdrant_is_there(library: Library, qdrant: str):
    """Case C11: the outbox."""
    user = library.user()
    library.give(user, PORT, GOAL)
    library.sql("delete from items where content_id in (select id from contents where title = %s)", PORT)
    library.sql("delete from contents where title = %s", PORT)
    away = VectorSettings(qdrant_url=f"http://127.0.0.1:{free_port()}")

    with pytest.raises(TransientError):
        remove_deleted(away, library.database)
    assert library.index.count() == 2
    assert remove_deleted(VectorSettings(qdrant_url=qdrant), library.database) == 1
    assert library.index.count() == 1
    assert titles(user.get("/v1/search", q=PORT)) == [GOAL]
    assert remove_deleted(away, library.database) == 0


def test_the_sweep_looks_into_the_collections_of_every_model_version(library: Library, qdrant: str):
    other = VectorIndex(qdrant, model_version=f"older-{new_id()}", dimensions=3)
    other.upsert([Point(new_id(), library.embedder.embed_passage("x")[:3])])
    library.index.upsert([Point(new_id(), library.embedder.embed_passage("y"))])
    kept = library.content(PORT)

    assert remove_ghosts(VectorSettings(qdrant_url=qdrant), library.database) >= 2
    assert other.count() == 0
    assert list(library.index.retrieve([kept])) == [kept]
    other.close()


@pytest.mark.parametrize("status", ["PENDING", "PROCESSING"])
def test_what_has_no_text_yet_is_not_found(library: Library, status: str):
    user = library.user()
    library.give(user, PORT, status=status, text=None)
    library.give(user, GOAL)

    assert titles(user.get("/v1/search", q=PORT)) == [GOAL]


def test_filters_hold_back_what_does_not_match(library: Library):
    user = library.user()
    items = library.give(user, f"{PORT} again", f"{PORT} at last", PORT)
    contents = "(select content_id from items where id = %s)"
    library.sql(
        f'update contents set lang = \'fr\', topics = \'[{{"topic": "trade", "score": 0.5}}]\' where id = {contents}',
        items[0],
    )
    library.sql(
        f"update contents set sort_at = now() - interval '9 days', tags = '{{ships}}' where id = {contents}", items[1]
    )
    library.sql("update items set read_at = now() where id = %s", items[0])
    library.sql("update items set starred_at = now(), tags = '{mine}' where id = %s", items[1])
    with library.database.transaction() as connection:
        source = make_source(connection)
    library.sql("update items set source_id = %s where id = %s", source, items[2])
    library.sql("insert into subscriptions (id, user_id, source_id) values (%s, %s, %s)", source, user.user_id, source)
    folder, other = new_id(), new_id()
    for id_, name in ((folder, "News"), (other, "Empty")):
        library.sql("insert into folders (id, user_id, name) values (%s, %s, %s)", id_, user.user_id, name)
    library.sql("insert into folder_sources values (%s, %s, %s)", folder, user.user_id, source)
    week_ago = (datetime.now(UTC) - timedelta(days=7)).isoformat()

    def found(**filters: Any) -> set[int]:
        answer = user.get("/v1/search", q="port", **filters)
        assert answer.status == 200, answer.text
        return {items.index(uuid.UUID(item["id"])) for item in answer.json["items"]}

    assert found() == {0, 1, 2}
    assert found(lang="fr") == found(topic="trade") == found(unread="false") == {0}
    assert found(tag="ships") == found(tag="mine") == found(starred="true") == found(until=week_ago) == {1}
    assert found(source_id=source) == found(folder_id=folder) == {2}
    assert found(folder_id=other) == found(folder_id=new_id()) == set()
    assert found(since=week_ago, unread="true") == {2}
    assert found(lang="de") == set()
    assert user.get("/v1/search", q="port", lang="deutsch").code == "invalid_request"


def test_a_time_that_ends_before_it_begins_is_refused(library: Library) -> None:
    user, later = library.user(), "2026-01-01T00:00:01Z"
    answer = user.get("/v1/search", q="port", since=later, until="2026-01-01T01:00:00+01:00")

    assert (answer.status, answer.code) == (422, "invalid_request")
    assert [(one["code"], one["parameter"]) for one in answer.json["errors"]] == [("invalid_range", "since")]
    assert user.get("/v1/search", q="port", since=later, until=later).status == 200


@pytest.mark.parametrize(
    "query", [{}, {"q": ""}, {"q": "   "}, {"q": "x" * 501}, {"q": "x", "limit": 0}, {"q": "x", "limit": 201}]
)
def test_a_query_that_is_missing_empty_or_too_long_is_refused(library: Library, query: dict[str, Any]):
    answer = library.user().get("/v1/search", **query)

    assert (answer.status, answer.code) == (422, "invalid_request")
    assert answer.json["errors"][0]["parameter"] in {"q", "limit"}


def test_a_query_of_the_greatest_length_is_answered(library: Library):
    assert library.user().get("/v1/search", q="ä" * 500).status == 200


def test_searching_needs_the_scope_read(library: Library):
    user = library.user("write")

    assert (user.get("/v1/search", q="x").status, user.get(f"/v1/items/{new_id()}/similar").status) == (403, 403)


@pytest.mark.parametrize(
    "error",
    [
        TransientError("The model could not be fetched now.", code="model_unavailable"),
        ConfigurationError("There is no model.", code="model_missing"),
    ],
)
def test_without_the_model_words_are_matched_and_the_answer_says_so(library: Library, error: SiftlineError):
    user, stranger = library.user(), library.user()
    library.give(user, RATES, PORT, GOAL)
    library.give(stranger, PORT)
    library.meaning = error

    answer = user.get("/v1/search", q="PORT, the interest-free port of ships")

    assert titles(answer) == [PORT]
    assert (answer.json["mode"], answer.json["degraded"]) == ("text", True)
    assert answer.json["reason"] == {"code": error.error_code, "detail": error.detail}
    assert 0 < answer.json["items"][0]["score"] <= 1


def test_without_qdrant_words_are_matched_in_titles_first_then_in_texts(library: Library, database: Database):
    user = library.user()
    library.give(user, "Ships leave the harbour", PORT, "Weather", text="Storm warning for ships.")
    away = VectorIndex(
        f"http://127.0.0.1:{free_port()}",
        model_version=library.embedder.model_version,
        dimensions=library.embedder.dimensions,
    )
    library.meaning = Meaning(library.embedder, away)

    answer = user.get("/v1/search", q="harbour ships")

    assert titles(answer) == ["Ships leave the harbour", PORT, "Weather"]
    assert answer.json["reason"]["code"] == "vectors_unavailable"
    assert titles(user.get("/v1/search", q="100%_\\")) == []


def test_a_collection_of_another_shape_degrades_the_answer(library: Library, qdrant: str):
    user = library.user()
    library.give(user, PORT)
    wrong = VectorIndex(qdrant, model_version=library.embedder.model_version, dimensions=7)
    library.meaning = Meaning(library.embedder, wrong)

    answer = user.get("/v1/search", q="port")

    assert (titles(answer), answer.json["reason"]["code"]) == ([PORT], "collection_mismatch")


def test_holdings_of_which_none_is_indexed_yet_are_matched_by_words(library: Library):
    user = library.user()
    library.give(user, PORT, GOAL, indexed=False)

    answer = user.get("/v1/search", q="port")

    assert (titles(answer), answer.json["reason"]["code"]) == ([PORT], "not_indexed")


def test_a_database_that_is_away_is_no_reason_to_match_words(qdrant: str):
    class Away:
        def transaction(self) -> Any:
            raise DatabaseUnavailableError("The database could not be reached.")

        statement = transaction

        def close(self) -> None: ...

    library = Library(Away(), qdrant)
    answer = ApiClient(library.api, new_id(), ("read",)).get("/v1/search", q="x")

    assert (answer.status, answer.code) == (503, "database_unavailable")
    library.index.close()


def test_similar_items_are_the_nearest_and_never_the_item_itself(library: Library):
    user, stranger = library.user(), library.user()
    port, *_ = library.give(user, PORT, "Container ships wait off the port", GOAL)
    library.give(stranger, f"{PORT} too")

    answer = user.get(f"/v1/items/{port}/similar")

    assert titles(answer) == ["Container ships wait off the port", GOAL]
    assert answer.json["mode"] == "vectors"
    assert titles(user.get(f"/v1/items/{port}/similar", limit=1, lang="fr")) == []


def test_similar_to_another_users_or_no_item_is_not_found(library: Library):
    """Case S09: user B asks what resembles A's item."""
    user, stranger = library.user(), library.user()
    [theirs] = library.give(stranger, PORT)

    for item_id in (theirs, new_id(), "nonsense"):
        answer = user.get(f"/v1/items/{item_id}/similar")
        assert (answer.status, answer.code) == (404, "not_found")


def test_similar_to_an_item_without_a_vector_matches_its_title(library: Library):
    user = library.user()
    [bare] = library.give(user, "Ships in the port", indexed=False)
    library.give(user, PORT, GOAL)

    answer = user.get(f"/v1/items/{bare}/similar")

    assert (titles(answer), answer.json["reason"]["code"]) == ([PORT], "not_embedded")


NO_VECTORS = {
    "one number less": np.ones(127, dtype="<f4"),
    "no number": np.full(128, np.nan, dtype="<f4"),
    "no direction": np.zeros(128, dtype="<f4"),
}


@pytest.mark.parametrize("bad", NO_VECTORS.values(), ids=NO_VECTORS.keys())
def test_one_stored_vector_that_is_none_takes_meaning_from_nobody(library: Library, bad: NDArray[np.float32]):
    user, stranger = library.user(), library.user()
    port, *_ = library.give(user, PORT, *(f"{GOAL} {number}" for number in range(3)))
    library.give(user, *(f"{PORT} {number}" for number in range(3)), lang="fr")
    [broken] = library.give(stranger, RATES)
    library.sql(
        "update embeddings set vector = %s, dimensions = %s where content_id ="
        " (select content_id from items where id = %s)",
        bad.tobytes(),
        bad.size,
        broken,
    )

    found = user.get("/v1/search", q="ships")
    assert (found.status, found.json["mode"], found.json["reason"]) == (200, "hybrid", None)
    alike = user.get(f"/v1/items/{port}/similar")
    assert (alike.status, alike.json["mode"]) == (200, "vectors")
    own = stranger.get(f"/v1/items/{broken}/similar")
    assert (own.status, own.json["mode"], own.json["reason"]["code"]) == (200, "text", "unusable_vector")


def test_similar_is_answered_by_words_while_model_or_vectors_are_away(library: Library):
    user = library.user()
    port, *_ = library.give(user, PORT, "Ships in the port", GOAL)
    away = VectorIndex(
        f"http://127.0.0.1:{free_port()}",
        model_version=library.embedder.model_version,
        dimensions=library.embedder.dimensions,
    )
    for meaning, code in (
        (TransientError("Away.", code="model_unavailable"), "model_unavailable"),
        (Meaning(library.embedder, away), "vectors_unavailable"),
    ):
        library.meaning = meaning
        answer = user.get(f"/v1/items/{port}/similar")
        assert (titles(answer), answer.json["reason"]["code"]) == (["Ships in the port"], code)


def test_the_local_service_takes_every_call_that_the_index_makes(qdrant: str):
    index = VectorIndex(qdrant, model_version=f"Große Version {new_id()}", dimensions=3)
    ids = [new_id() for _ in range(600)]
    vector = WordEmbedder().embed_passage("x")[:3]
    assert (index.count(), index.search(vector, 5), index.scroll(5)) == (0, [], ([], None))

    index.upsert([Point(i, vector) for i in ids])
    index.upsert([Point(i, vector) for i in ids[:3]])

    assert index.count() == 600
    assert {hit.id for hit in index.search(vector, 600, exclude=ids[:5])} == set(ids[5:])
    assert [hit.id for hit in index.search(vector, 9, ids=ids[:1])] == ids[:1]
    assert index.scroll(1_000) == (sorted(ids), None)
    index.delete(ids)
    assert index.retrieve(ids) == {}
    index.close()
    client = QdrantClient(url=qdrant, check_compatibility=False)
    client.delete_collection(index.collection)
    client.close()


def test_a_search_may_be_for_whom_an_item_names_by_either_id(library: Library):
    reader, stranger = library.user(), library.user()
    named, other = library.content(PORT), library.content(GOAL)
    for client in (reader, stranger):
        library.hold(client, other)
    library.hold(reader, named)
    entity_id = new_id()
    library.sql(
        "insert into entities (id, kind, name, temporary_id, canonical_id, provider)"
        " values (%s, 'ORG', 'Acme', 'tempacme', 'lei:1', 'csv')",
        entity_id,
    )
    library.sql(
        "insert into entity_aliases (kind, temporary_id, entity_id, name, normalised)"
        " values ('ORG', 'tempacme', %s, 'Acme', 'acme')",
        entity_id,
    )
    library.sql("insert into content_entities values (%s, %s, 1)", named, entity_id)

    for word in ("lei:1", "tempacme"):
        assert titles(reader.get("/v1/search", q=GOAL, entity=word)) == [PORT]
        assert titles(stranger.get("/v1/search", q=GOAL, entity=word)) == []
    assert titles(reader.get("/v1/search", q=GOAL, entity="nobody")) == []


def scores(answer: Any) -> list[float]:
    return [item["score"] for item in answer.json["items"]]


@pytest.mark.parametrize("limit", [3, 50])
@pytest.mark.parametrize("query", ["harbours", "port", "ships port qzxvw", "a larger ship for an old harbour"])
@pytest.mark.parametrize("away", [False, True])
def test_the_score_orders_an_answer_thin_pages_too(library: Library, query: str, limit: int, away: bool):
    user = library.user()
    for number, (title, thin) in enumerate(((PORT, False), (RATES, False), (GOAL, True), ("Ships", True)) * 4):
        notice = "insufficient_content" if thin else None
        library.give(user, f"{title} {number}", notice_code=notice)
    if away:
        library.meaning = TransientError("away")

    answer = user.get("/v1/search", q=query, limit=limit)

    assert scores(answer) == sorted(scores(answer), reverse=True)


def test_the_score_orders_what_resembles_an_item(library: Library):
    user = library.user()
    asked, *_ = library.give(user, PORT)
    library.give(user, "Larger container ships", notice_code="insufficient_content")
    library.give(user, RATES)

    answer = user.get(f"/v1/items/{asked}/similar")

    assert titles(answer) == [RATES, "Larger container ships"]
    assert scores(answer) == sorted(scores(answer), reverse=True)


@pytest.mark.parametrize("limit", [5, 50])
@pytest.mark.parametrize(("lang", "query"), [("en", "dredged port"), ("de", "Hafen"), ("ja", "港")])
def test_where_something_holds_the_words_no_thin_page_without_them_takes_a_place(
    library: Library, lang: str, query: str, limit: int
):
    user = library.user()
    library.give(user, *(f"{query} {number}" for number in range(3)), lang=lang)
    library.give(user, *(f"Login {number}" for number in range(12)), notice_code="insufficient_content")
    library.give(user, RATES)

    found = titles(user.get("/v1/search", q=query, limit=limit))

    assert found[:3] != []
    assert {RATES, *(f"{query} {number}" for number in range(3))} == set(found)
