"""A name is one person's: nobody takes another's, whatever its case."""

from siftline.kit.db import Database
from tests.api_client import World


def test_a_name_that_somebody_else_has_cannot_be_taken(database: Database) -> None:
    world = World(database)
    world.user(name="Ada")
    eve = world.user(name="Eve")
    refused = eve.patch("/v1/me", {"name": "aDA", "interests": "chess"})
    assert (refused.status, refused.code) == (409, "name_taken")
    shown = eve.get("/v1/me").json
    assert (shown["name"], shown["interests"]) == ("Eve", "")
    assert eve.patch("/v1/me", {"name": "EVE"}).json["name"] == "EVE"
