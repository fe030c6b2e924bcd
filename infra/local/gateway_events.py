"""HTTP to API Gateway events and back: payload format 2.0 of HTTP APIs, as AWS documents it; nothing but translation.

Source: "Working with AWS Lambda proxy integrations for HTTP APIs" and "Control access to HTTP APIs with AWS Lambda
authorizers" of the API Gateway developer guide.
"""

import base64
import binascii
import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from urllib.parse import parse_qsl, quote
from uuid import uuid4

# What the gateway hands on as text; every other body is base64.
_TEXT_TYPES = ("text/", "application/json", "application/javascript", "application/xml")


@dataclass(frozen=True, slots=True)
class Request:
    """One HTTP request, as far as an event tells of it."""

    method: str
    path: str
    """Decoded."""
    query: str
    """Raw, without the question mark."""
    headers: Mapping[str, str]
    """Names in lower case, repeated ones joined by commas."""
    body: bytes
    source_ip: str
    protocol: str


@dataclass(frozen=True, slots=True)
class Response:
    """One HTTP response."""

    status: int
    headers: tuple[tuple[str, str], ...]
    body: bytes


class MalformedAnswerError(ValueError):
    """A function's answer is not what payload format 2.0 allows; the gateway answers 500."""


def message(status: int, text: str) -> Response:
    """Return one of the gateway's own answers: ``{"message": …}``."""
    return Response(status, (("content-type", "application/json"),), json.dumps({"message": text}).encode())


def event(
    request: Request, route_key: str, path_parameters: Mapping[str, str], authorizer: Mapping[str, Any] | None
) -> dict[str, Any]:
    """Return the proxy event of a request; ``authorizer`` is the context that a Lambda authorizer answered."""
    now = datetime.now(UTC)
    content_type = request.headers.get("content-type", "")
    context: dict[str, Any] = {
        "accountId": "000000000000",
        "apiId": "local",
        "domainName": request.headers.get("host", "localhost"),
        "domainPrefix": "local",
        "http": {
            "method": request.method,
            "path": request.path,
            "protocol": request.protocol,
            "sourceIp": request.source_ip,
            "userAgent": request.headers.get("user-agent", ""),
        },
        "requestId": str(uuid4()),
        "routeKey": route_key,
        "stage": "$default",
        "time": now.strftime("%d/%b/%Y:%H:%M:%S +0000"),
        "timeEpoch": int(now.timestamp() * 1000),
    }
    if authorizer is not None:
        context["authorizer"] = {"lambda": dict(authorizer)}
    made: dict[str, Any] = {
        "version": "2.0",
        "routeKey": route_key,
        "rawPath": quote(request.path, safe="/:@!$&'()*+,;=~-._"),
        "rawQueryString": request.query,
        "headers": {name: value for name, value in request.headers.items() if name != "cookie"},
        "requestContext": context,
        "isBase64Encoded": False,
    }
    if cookies := request.headers.get("cookie"):
        made["cookies"] = [cookie.strip() for cookie in cookies.split(";") if cookie.strip()]
    if query := _query(request.query):
        made["queryStringParameters"] = query
    if path_parameters:
        made["pathParameters"] = dict(path_parameters)
    if request.body:
        made["body"], made["isBase64Encoded"] = _body(request.body, content_type)
    return made


def authorizer_event(proxy: Mapping[str, Any], identity: list[str]) -> dict[str, Any]:
    """Return what a Lambda authorizer of payload format 2.0 gets for the same request."""
    left_out = {"body", "isBase64Encoded"}
    return {
        **{name: value for name, value in proxy.items() if name not in left_out},
        "type": "REQUEST",
        "routeArn": f"arn:aws:execute-api:us-east-1:000000000000:local/$default/{proxy['routeKey']}",
        "identitySource": identity,
    }


def response(answer: Any) -> Response:
    """Return the HTTP response of a function's answer. Raises ``MalformedAnswerError``."""
    if not (isinstance(answer, dict) and "statusCode" in answer):
        # Inferred by the gateway: any other valid JSON is a 200 with that body.
        return Response(200, (("content-type", "application/json"),), json.dumps(answer).encode())
    try:
        status = int(answer["statusCode"])
        raw = answer.get("body") or ""
        body = base64.b64decode(raw, validate=True) if answer.get("isBase64Encoded") else str(raw).encode()
        headers = [(str(name).lower(), str(value)) for name, value in (answer.get("headers") or {}).items()]
    except (TypeError, ValueError, AttributeError, binascii.Error) as error:
        raise MalformedAnswerError("The function's answer is malformed.") from error
    headers += [("set-cookie", str(cookie)) for cookie in answer.get("cookies") or ()]
    if body and not any(name == "content-type" for name, _ in headers):
        headers.append(("content-type", "text/plain; charset=utf-8"))
    return Response(status, tuple(headers), body)


def _query(raw: str) -> dict[str, str]:
    joined: dict[str, str] = {}
    for name, value in parse_qsl(raw, keep_blank_values=True):
        joined[name] = f"{joined[name]},{value}" if name in joined else value
    return joined


def _body(body: bytes, content_type: str) -> tuple[str, bool]:
    if content_type.lower().startswith(_TEXT_TYPES):
        try:
            return body.decode(), False
        except UnicodeDecodeError:
            pass  # what is not text travels as bytes, whatever its header says
    return base64.b64encode(body).decode(), True
