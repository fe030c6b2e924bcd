import hashlib

import pytest

from siftline.api.http.auth import caller_in, required_scope
from siftline.api.http.callers import Caller, Scope, known_scopes, new_token, read_bearer, token_sha256
from siftline.kit.ids import new_id


def test_a_token_is_a_prefix_and_32_random_bytes() -> None:
    tokens = {new_token() for _ in range(100)}
    assert len(tokens) == 100
    assert all(len(token) == 46 and token.startswith("sl_") for token in tokens)
    assert all(read_bearer(f"Bearer {token}") == token for token in tokens)


def test_only_its_sha256_is_kept() -> None:
    token = new_token()
    assert token_sha256(token) == hashlib.sha256(token.encode()).digest()


@pytest.mark.parametrize(
    "header", [None, "", "Bearer", "Bearer ", "sl_" + "a" * 43, "Bearer sl_" + "é" * 43, "Bearer\n"]
)
def test_a_malformed_header_holds_no_token(header: str | None) -> None:
    assert read_bearer(header) is None


def test_a_caller_survives_the_gateways_context() -> None:
    caller = Caller(new_id(), new_id(), frozenset({Scope.READ, Scope.OPS}))
    assert caller_in(caller.context()) == caller


@pytest.mark.parametrize(
    "change", [{"user_id": "x"}, {"user_id": None}, {"token_id": ""}, {"scopes": None}, {"user_id": 7}]
)
def test_an_incomplete_context_is_nobody_or_allows_nothing(change: dict[str, object]) -> None:
    context = Caller(new_id(), new_id(), frozenset(Scope)).context() | change
    caller = caller_in(context)
    assert caller is None or not caller.scopes
    assert caller_in({}) is None


def test_unknown_scopes_allow_nothing() -> None:
    assert known_scopes(["read", "admin", ""]) == {Scope.READ}


@pytest.mark.parametrize(
    ("method", "path", "scope"),
    [
        ("GET", "/v1/items", Scope.READ),
        ("POST", "/v1/items", Scope.WRITE),
        ("patch", "/v1/me", Scope.WRITE),
        ("GET", "/v1/ops/queues", Scope.OPS),
        ("POST", "/v1/ops/anything", Scope.OPS),
        ("GET", "/admin/queue-stats", Scope.OPS),
        ("GET", "/health", None),
        ("GET", "/docs", None),
        ("GET", "/v1/openapi.json", None),
        ("GET", "/anything/new", Scope.READ),
        ("GET", "/health/", Scope.READ),
    ],
)
def test_every_route_needs_a_scope_unless_it_is_open(method: str, path: str, scope: Scope | None) -> None:
    assert required_scope(method, path) is scope
