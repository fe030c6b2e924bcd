"""API Gateway's few routes and the resolvers' many say the same: who answers what, and what is open."""

import re
from collections.abc import Callable
from typing import Any, cast

import pytest

from siftline.api.api_wiring import http_api
from siftline.api.http.auth import OPEN, OPEN_BY_TOKEN
from siftline.api.http.resolver import HttpApi
from siftline.api.parts import Parts
from siftline.api.search_routes import SearchRoutes
from siftline.kit.log import logger
from siftline.worker.template import Route
from tests.api_client import api_settings
from tests.house.reading import document, resources, template

NOTHING = cast("Any", None)  # routes are only listed here, never run


def _api() -> HttpApi:
    outside = ("database", "publisher", "queues", "dead_letter_queues", "check_vectors")
    return http_api(Parts(api_settings(), logger("house"), NOTHING, **dict.fromkeys(outside, NOTHING)))


def _search() -> HttpApi:
    return HttpApi([SearchRoutes(NOTHING)], logger("house"))


def _chosen(method: str, path: str) -> Route:
    """Return the template's route that API Gateway chooses: full match, then greedy, then ``$default``."""
    fits = [
        route
        for route in template().routes()
        if route.method in {"ANY", method}
        and re.fullmatch(_pattern(route.path), path.replace("{", "").replace("}", ""))
    ]
    assert fits, f"API Gateway knows no route for {method} {path}"
    return min(fits, key=lambda route: ("+}" in route.path, route.path.count("{"), route.method == "ANY"))


def _pattern(path: str) -> str:
    return re.sub(r"\{\w+\}", "[^/]+", re.sub(r"\{\w+\+\}", ".+", path))


@pytest.mark.parametrize(("function", "made"), [("api", _api), ("search", _search)])
def test_every_route_of_a_resolver_reaches_its_function(function: str, made: Callable[[], HttpApi]) -> None:
    routes = made().routes()

    assert routes
    assert {_chosen(method, path).function.name for method, path in routes} == {function}


def test_exactly_the_open_routes_have_no_authorizer() -> None:
    unguarded = {route.path for route in template().routes() if route.authorizer is None}

    known = OPEN | OPEN_BY_TOKEN
    assert unguarded == known
    assert {_chosen(method, path).path for method, path in _api().routes() if path in known} == known


def test_every_other_route_asks_the_authorizer_and_its_answer_is_kept_for_a_minute() -> None:
    (api,) = resources("AWS::Serverless::HttpApi").values()
    (authorizer,) = template().authorizers().values()

    assert {route.authorizer for route in template().routes()} == {None, authorizer.name}
    assert authorizer.function.name == "authorize"
    assert authorizer.ttl_s == 60
    assert authorizer.identity_headers == ("authorization",)
    assert api["Auth"]["Authorizers"][authorizer.name]["EnableSimpleResponses"] is True
    assert api["DefaultRouteSettings"]["ThrottlingBurstLimit"] > 0


def test_the_access_log_is_json_and_holds_nothing_private() -> None:
    (api,) = resources("AWS::Serverless::HttpApi").values()
    written = str(api["AccessLogSettings"]["Format"])

    assert written.startswith("{")
    assert not re.search(r"\$context\.(path|http|identity|domainName|authorizer\.(?!user_id))", written)
    assert api["AccessLogSettings"]["DestinationArn"]["Fn::GetAtt"][0] in document()["Resources"]
