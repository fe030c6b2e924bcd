"""API Gateway's HTTP API events as Lambda gets them: requests (payload 2.0) and authorizer questions."""

import base64
import json
from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

_HOST = "a1b2c3d4e5.execute-api.eu-central-1.amazonaws.com"


def http_event(
    method: str,
    path: str,
    *,
    body: Any = None,
    query: Mapping[str, Any] | None = None,
    headers: Mapping[str, str] | None = None,
    context: Mapping[str, str] | None = None,
    encode: bool = False,
) -> dict[str, Any]:
    """Return a request. A ``body`` that is neither text nor bytes is sent as JSON; ``context`` is the authorizer's."""
    pairs = {
        name: str(value).lower() if isinstance(value, bool) else str(value) for name, value in (query or {}).items()
    }
    event: dict[str, Any] = {
        "version": "2.0",
        "routeKey": "ANY /v1/{proxy+}",
        "rawPath": path,
        "rawQueryString": urlencode(pairs),
        "headers": {"host": _HOST, "x-forwarded-proto": "https", **(headers or {})},
        "requestContext": {
            "accountId": "123456789012",
            "apiId": "a1b2c3d4e5",
            "domainName": _HOST,
            "http": {
                "method": method,
                "path": path,
                "protocol": "HTTP/1.1",
                "sourceIp": "192.0.2.1",
                "userAgent": "tests",
            },
            "requestId": "JKJaXmPLvHcESHA=",
            "routeKey": "ANY /v1/{proxy+}",
            "stage": "$default",
            "time": "27/Nov/2026:12:00:00 +0000",
            "timeEpoch": 1795780800000,
        },
        "isBase64Encoded": encode,
    }
    if pairs:
        event["queryStringParameters"] = pairs
    if context is not None:
        event["requestContext"]["authorizer"] = {"lambda": dict(context)}
    if isinstance(body, bytes):
        event["body"], event["isBase64Encoded"] = base64.b64encode(body).decode(), True
    elif body is not None:
        text = body if isinstance(body, str) else json.dumps(body)
        event["headers"].setdefault("content-type", "application/json")
        event["body"] = base64.b64encode(text.encode()).decode() if encode else text
    return event


def caller_context(user_id: UUID, token_id: UUID, scopes: Iterable[str] = ("read", "write")) -> dict[str, str]:
    """Return what the authorizer hands on."""
    return {"user_id": str(user_id), "token_id": str(token_id), "scopes": " ".join(scopes)}


def authorizer_event(header: str | None, path: str = "/v1/items") -> dict[str, Any]:
    """Return the gateway's question about a request with this ``Authorization`` header."""
    headers = {"host": _HOST} | ({"authorization": header} if header is not None else {})
    return {
        "version": "2.0",
        "type": "REQUEST",
        "routeArn": "arn:aws:execute-api:eu-central-1:123456789012:a1b2c3d4e5/$default/GET/v1/items",
        "identitySource": [header] if header is not None else [],
        "routeKey": "ANY /v1/{proxy+}",
        "rawPath": path,
        "rawQueryString": "",
        "headers": headers,
        "requestContext": http_event("GET", path)["requestContext"],
        "pathParameters": {"proxy": path.removeprefix("/v1/")},
    }
