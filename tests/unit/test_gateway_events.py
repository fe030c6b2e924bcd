"""Payload format 2.0, against the shapes in AWS's developer guide."""

import base64
from typing import Any

import pytest

from infra.local.gateway_events import MalformedAnswerError, Request, authorizer_event, event, response


def request(**changes: Any) -> Request:
    values: dict[str, Any] = {
        "method": "GET",
        "path": "/v1/items",
        "query": "",
        "headers": {"host": "127.0.0.1:8787"},
        "body": b"",
        "source_ip": "127.0.0.1",
        "protocol": "HTTP/1.1",
    }
    return Request(**{**values, **changes})


def test_a_request_becomes_the_documented_event() -> None:
    made = event(
        request(
            method="POST",
            path="/my/path",
            query="parameter1=value1&parameter1=value2&parameter2=value",
            headers={
                "host": "id.example",
                "cookie": "cookie1; cookie2",
                "header2": "value1,value2",
                "user-agent": "agent",
                "content-type": "application/json",
            },
            body=b'"Hello from client!"',
        ),
        "$default",
        {"parameter1": "value1"},
        {"key": "value"},
    )
    expected = {
        "version": "2.0",
        "routeKey": "$default",
        "rawPath": "/my/path",
        "rawQueryString": "parameter1=value1&parameter1=value2&parameter2=value",
        "cookies": ["cookie1", "cookie2"],
        "queryStringParameters": {"parameter1": "value1,value2", "parameter2": "value"},
        "pathParameters": {"parameter1": "value1"},
        "body": '"Hello from client!"',
        "isBase64Encoded": False,
    }
    assert {name: made[name] for name in expected} == expected
    assert made["headers"]["header2"] == "value1,value2"
    assert "cookie" not in made["headers"]
    assert made["requestContext"]["authorizer"] == {"lambda": {"key": "value"}}
    http = made["requestContext"]["http"]
    assert http == {
        "method": "POST",
        "path": "/my/path",
        "protocol": "HTTP/1.1",
        "sourceIp": "127.0.0.1",
        "userAgent": "agent",
    }


def test_what_a_request_does_not_have_is_absent_not_empty() -> None:
    assert {"cookies", "queryStringParameters", "pathParameters", "body"}.isdisjoint(event(request(), "k", {}, None))
    assert "authorizer" not in event(request(), "k", {}, None)["requestContext"]


@pytest.mark.parametrize(
    ("content_type", "body", "encoded"),
    [
        ("application/json; charset=utf-8", b"{}", False),
        ("text/x-opml", b"<opml/>", False),
        ("application/octet-stream", b"{}", True),
        ("application/x-www-form-urlencoded", b"a=b", True),
        ("", b"{}", True),
        ("application/json", b"\xff\xfe", True),
    ],
)
def test_only_text_types_travel_as_text(content_type: str, body: bytes, encoded: bool) -> None:
    made = event(request(headers={"content-type": content_type}, body=body), "k", {}, None)
    assert made["isBase64Encoded"] is encoded
    assert (base64.b64decode(made["body"]) if encoded else made["body"].encode()) == body


def test_an_authorizer_is_asked_with_the_identity_and_without_the_body() -> None:
    asked = authorizer_event(event(request(method="POST", body=b"x"), "POST /a", {}, None), ["Bearer t"])
    assert (asked["version"], asked["type"], asked["identitySource"]) == ("2.0", "REQUEST", ["Bearer t"])
    assert "body" not in asked
    assert asked["routeArn"].endswith("POST /a")


def test_an_answer_with_a_status_is_taken_as_it_stands() -> None:
    made = response({"statusCode": 202, "headers": {"Location": "/v1/items/1"}, "cookies": ["a=1", "b=2"], "body": "é"})
    assert (made.status, made.body) == (202, "é".encode())
    assert made.headers[:3] == (("location", "/v1/items/1"), ("set-cookie", "a=1"), ("set-cookie", "b=2"))


def test_base64_bodies_are_decoded_and_other_json_is_a_200() -> None:
    assert response({"statusCode": 200, "isBase64Encoded": True, "body": "AAE="}).body == b"\0\1"
    assert (response({"hello": 1}).status, response({"hello": 1}).body) == (200, b'{"hello": 1}')


@pytest.mark.parametrize(
    "answer",
    [
        {"statusCode": "many"},
        {"statusCode": 200, "headers": [1]},
        {"statusCode": 200, "isBase64Encoded": True, "body": "?"},
    ],
)
def test_a_malformed_answer_is_named_so(answer: Any) -> None:
    with pytest.raises(MalformedAnswerError):
        response(answer)
