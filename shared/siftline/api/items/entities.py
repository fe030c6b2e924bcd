"""The entities resource: whom the caller's items name, by canonical or temporary id."""

from dataclasses import asdict
from enum import StrEnum
from typing import Annotated

from aws_lambda_powertools.event_handler.openapi.params import Query
from pydantic import BaseModel, Field

from siftline.api.http.auth import CurrentCaller
from siftline.api.http.paging import DEFAULT_LIMIT, Cursor, Limit, Next, decode, decode_rank, encode_rank, page
from siftline.api.http.problems import not_found
from siftline.api.http.routing import route
from siftline.api.http.shapes import Cause, ListPage
from siftline.api.items import held_entities_store
from siftline.api.items.held_entities_store import EntityRow, Naming
from siftline.api.parts import Routes

_REASONS = {
    "ambiguous": "Several organisations have this name.",
    "unknown_to_providers": "No provider knows this name.",
}
_ANY_REASON = "The providers could not be reached."


class EntityKind(StrEnum):
    """Type of an entity."""

    ORGANISATION = "ORG"
    PERSON = "PER"
    PLACE = "LOC"


class Entity(BaseModel):
    """An entity named in your items."""

    id: str = Field(
        description="Canonical id, or the temporary one until there is one",
        examples=["lei:529900T8BM49AURSDO55"],
    )
    kind: EntityKind = Field(description="`ORG`, `PER` or `LOC`")
    name: str = Field(examples=["Acme Robotics, Inc."])
    temporary_id: str = Field(description="Derived from the name; stays valid after a canonical id is assigned")
    canonical_id: str | None = Field(description="null until a provider has identified it")
    provider: str | None = Field(description="The provider that identified it", examples=["gleif"])
    reason: Cause | None = Field(description="Why there is no canonical id, if providers were asked")
    items: int = Field(description="Number of your items that mention it")


class Entities(ListPage):
    """A page of entities, most frequent first."""

    items: list[Entity]


class EntityDetail(ListPage):
    """An entity, its names and a page of your items that mention it, newest first."""

    entity: Entity
    aliases: list[str] = Field(description="All its names, as first written")
    items: list[Naming]


class EntityRoutes(Routes):
    """``/v1/entities``."""

    tag = "entities"

    @route("GET /v1/entities", (200, Entities, "A page of the list"), operation_id="listEntities")
    def browse(
        self,
        caller: CurrentCaller,
        *,
        kind: Annotated[
            EntityKind | None, Query(description="Only organisations (`ORG`), people (`PER`) or places (`LOC`)")
        ] = None,
        limit: Limit = DEFAULT_LIMIT,
        next: Next = None,  # noqa: A002  # the parameter's name in the API
    ) -> Entities:
        """List the entities in your items."""
        with self._database.transaction() as connection:
            rows = held_entities_store.list_entities(connection, caller.user_id, kind, decode_rank(next), limit + 1)
        shown, following = page(rows, limit, lambda row: encode_rank(row.items, row.id))
        return Entities(items=[_entity(row) for row in shown], next=following)

    @route(
        "GET /v1/entities/<entity_id>",
        (200, EntityDetail, "The entity"),
        operation_id="getEntity",
        problems=(404,),
    )
    def show(
        self,
        entity_id: str,
        caller: CurrentCaller,
        *,
        limit: Limit = DEFAULT_LIMIT,
        next: Next = None,  # noqa: A002  # the parameter's name in the API
    ) -> EntityDetail:
        """Get an entity and the items that mention it."""
        after = decode(next)
        with self._database.transaction() as connection:
            ids = held_entities_store.ids_of(connection, entity_id)
            found = held_entities_store.find_entity(connection, caller.user_id, ids)
            if found is None:
                raise not_found("entity")
            names = held_entities_store.aliases(connection, found.id)
            rows = held_entities_store.naming(connection, caller.user_id, found.id, after, limit + 1)
        shown, following = page(rows, limit, lambda row: Cursor(row.place_at, row.id).encode())
        return EntityDetail(entity=_entity(found), aliases=names, items=shown, next=following)


def _entity(row: EntityRow) -> Entity:
    reason = None if row.reason is None else Cause(code=row.reason, detail=_REASONS.get(row.reason, _ANY_REASON))
    return Entity.model_validate(asdict(row) | {"id": row.canonical_id or row.temporary_id, "reason": reason})
