"""Whom one's own items name: listed by number, shown by either id, never by what others hold."""

from uuid import UUID

import pytest

from siftline.kit.ids import new_id
from tests.api_client import ApiClient, World
from tests.factories import make_content, make_item


@pytest.fixture
def world(database):
    return World(database)


def make_entity(world: World, name: str, *, kind: str = "ORG", canonical_id: str | None = None) -> UUID:
    entity_id, temporary = new_id(), f"temp{name.lower().replace(' ', '')}"
    world.sql(
        "insert into entities (id, kind, name, temporary_id, canonical_id, provider) values (%s, %s, %s, %s, %s, %s)",
        *(entity_id, kind, name, temporary, canonical_id, canonical_id and "gleif"),
    )
    world.sql(
        "insert into entity_aliases (kind, temporary_id, entity_id, name, normalised) values (%s, %s, %s, %s, %s)",
        *(kind, temporary, entity_id, name, name.lower()),
    )
    return entity_id


def make_naming(world: World, user: ApiClient, *entities: UUID, mentions: int = 1) -> UUID:
    with world.database.transaction() as connection:
        content_id = make_content(connection, status="READY")
        item_id = make_item(connection, user.user_id, content_id)
    for entity_id in entities:
        world.sql("insert into content_entities values (%s, %s, %s)", content_id, entity_id, mentions)
    return item_id


def test_ones_entities_are_listed_by_number_page_by_page(world):
    user, other = world.user(), world.user()
    rare, common, foreign = (make_entity(world, name) for name in ("Rare", "Common", "Foreign"))
    person = make_entity(world, "Anna Weber", kind="PER")
    make_naming(world, user, rare, common)
    make_naming(world, user, common, person)
    make_naming(world, other, foreign, common)

    first = user.get("/v1/entities", limit=2).json
    rest = user.get("/v1/entities", limit=2, next=first["next"]).json

    assert [(one["name"], one["items"]) for one in first["items"]] == [("Common", 2), ("Rare", 1)]
    assert ([one["name"] for one in rest["items"]], rest["next"]) == (["Anna Weber"], None)
    assert [one["name"] for one in user.get("/v1/entities", kind="PER").json["items"]] == ["Anna Weber"]
    assert user.get("/v1/entities", kind="THING").status == 422
    assert user.get("/v1/entities", next="?").code == "invalid_cursor"


def test_an_entity_is_shown_under_either_id_with_its_names_and_ones_own_items(world):
    user, other = world.user(), world.user()
    entity = make_entity(world, "Acme", canonical_id="lei:529900T8BM49AURSDO55")
    world.sql(
        "insert into entity_aliases (kind, temporary_id, entity_id, name, normalised)"
        " values ('ORG', 'tempold', %s, 'Acme Robotics', 'acme robotics')",
        entity,
    )
    items = [make_naming(world, user, entity, mentions=3) for _ in range(2)]
    make_naming(world, other, entity)

    for word in ("lei:529900T8BM49AURSDO55", "tempacme", "tempold"):
        shown = user.get(f"/v1/entities/{word}", limit=1).json
        assert (shown["entity"]["id"], shown["entity"]["items"]) == ("lei:529900T8BM49AURSDO55", 2)
        assert set(shown["aliases"]) == {"Acme", "Acme Robotics"}
        rest = user.get(f"/v1/entities/{word}", next=shown["next"]).json
        assert {one["id"] for one in (*shown["items"], *rest["items"])} == {str(item) for item in items}
        assert shown["items"][0]["mentions"] == 3


def test_who_is_named_by_others_items_alone_is_not_there(world):
    user, other = world.user(), world.user()
    make_naming(world, other, make_entity(world, "Secret"))

    assert user.get("/v1/entities/tempsecret").status == 404
    assert user.get("/v1/entities/nobody").status == 404
    assert user.get("/v1/items", entity="tempsecret").json["items"] == []


def test_items_are_listed_by_whom_they_name_and_say_whom(world):
    user = world.user()
    entity = make_entity(world, "Acme", canonical_id="lei:1")
    item = make_naming(world, user, entity, make_entity(world, "Paris", kind="LOC"), mentions=2)
    make_naming(world, user)

    for word in ("lei:1", "tempacme"):
        assert [one["id"] for one in user.get("/v1/items", entity=word).json["items"]] == [str(item)]
    assert user.get("/v1/items", entity="nobody").json["items"] == []
    assert user.get(f"/v1/items/{item}").json["entities"] == [
        {"id": "lei:1", "kind": "ORG", "name": "Acme", "mentions": 2},
        {"id": "tempparis", "kind": "LOC", "name": "Paris", "mentions": 2},
    ]


def test_why_there_is_no_canonical_id_is_said_in_words(world):
    user = world.user()
    entity = make_entity(world, "Twin")
    make_naming(world, user, entity)
    world.sql("update entities set reason = 'ambiguous'")

    reason = user.get("/v1/entities/temptwin").json["entity"]["reason"]

    assert reason == {"code": "ambiguous", "detail": "Several organisations have this name."}
