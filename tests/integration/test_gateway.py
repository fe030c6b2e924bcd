"""The gateway over real HTTP with toy handlers, on a template of its own."""

import http.client
import json
import sys
import textwrap
from collections.abc import Iterator
from typing import Any, cast

import pytest

from infra.local.gateway import BODY_MAX_BYTES, BODY_READ_BYTES, Authorizers, Gateway
from infra.local.wsgi import LoopbackServer
from siftline.worker.hosting import HostedFunction
from siftline.worker.template import Template

TEMPLATE = """
Transform: AWS::Serverless-2016-10-31
Resources:
  HttpApi:
    Type: AWS::Serverless::HttpApi
    Properties:
      Auth:
        DefaultAuthorizer: Token
        Authorizers:
          Token:
            AuthorizerPayloadFormatVersion: "2.0"
            EnableSimpleResponses: true
            FunctionArn: !GetAtt Guard.Arn
            Identity: {Headers: [Authorization], ReauthorizeEvery: 60}
  Guard:
    Type: AWS::Serverless::Function
    Properties: {Handler: toy_gateway.app.guard}
  Special:
    Type: AWS::Serverless::Function
    Properties:
      Handler: toy_gateway.app.special
      Events:
        Exact: {Type: HttpApi, Properties: {ApiId: !Ref HttpApi, Method: GET, Path: /v1/search}}
        Similar: {Type: HttpApi, Properties: {ApiId: !Ref HttpApi, Method: GET, Path: "/v1/items/{id}/similar"}}
  Plain:
    Type: AWS::Serverless::Function
    Properties:
      Handler: toy_gateway.app.plain
      Events:
        All: {Type: HttpApi, Properties: {ApiId: !Ref HttpApi, Method: ANY, Path: "/v1/{proxy+}"}}
        Health: {Type: HttpApi, Properties: {ApiId: !Ref HttpApi, Method: GET, Path: /health, Auth: {Authorizer: NONE}}}
"""
HANDLERS = """
    asked = []

    def guard(event, context):
        asked.append(event["identitySource"])
        if event["identitySource"] == ["boom"]:
            raise RuntimeError("inner text")
        good = event["identitySource"] == ["Bearer good"]
        return {"isAuthorized": good, "context": {"user_id": "u"}}

    def special(event, context):
        return {"who": "special", "key": event["routeKey"], "path": event.get("pathParameters")}

    def plain(event, context):
        if event["rawPath"] == "/v1/boom":
            raise RuntimeError("inner text")
        user = event["requestContext"].get("authorizer", {}).get("lambda")
        return {"who": "plain", "method": event["requestContext"]["http"]["method"], "user": user,
                "query": event.get("queryStringParameters"), "path": event.get("pathParameters")}
"""


@pytest.fixture(scope="module")
def gateway_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("gateway")
    package = folder / "toy_gateway"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "app.py").write_text(textwrap.dedent(HANDLERS))
    (folder / "template.yaml").write_text(TEMPLATE)
    sys.path.insert(0, str(folder))
    try:
        with LoopbackServer(
            Gateway(Template.read(folder / "template.yaml")), body_limit_bytes=BODY_READ_BYTES
        ) as server:
            yield server.url
    finally:
        sys.path.remove(str(folder))


def ask(url: str, method: str, path: str, *, token: str | None = "Bearer good", body: bytes | None = None) -> Any:
    connection = http.client.HTTPConnection(url.removeprefix("http://"), timeout=20)
    try:
        connection.request(method, path, body=body, headers={"Authorization": token} if token else {})
        answer = connection.getresponse()
        return answer.status, json.loads(answer.read() or b"null")
    finally:
        connection.close()


def test_the_most_specific_route_answers(gateway_url: str) -> None:
    assert ask(gateway_url, "GET", "/v1/search")[1]["key"] == "GET /v1/search"
    assert ask(gateway_url, "GET", "/v1/items/7/similar")[1]["path"] == {"id": "7"}
    assert ask(gateway_url, "POST", "/v1/search")[1]["who"] == "plain"
    assert ask(gateway_url, "GET", "/v1/items/7")[1]["path"] == {"proxy": "items/7"}


def test_a_caller_is_known_to_the_function_by_the_authorizers_context(gateway_url: str) -> None:
    assert ask(gateway_url, "GET", "/v1/a?x=1&x=2")[1] == {
        "who": "plain",
        "method": "GET",
        "user": {"user_id": "u"},
        "query": {"x": "1,2"},
        "path": {"proxy": "a"},
    }


@pytest.mark.parametrize(
    ("token", "status", "text"),
    [(None, 401, "Unauthorized"), ("Bearer bad", 403, "Forbidden"), ("boom", 500, "Internal Server Error")],
)
def test_who_is_not_let_in_gets_the_gateways_own_answer(
    gateway_url: str, token: str | None, status: int, text: str
) -> None:
    assert ask(gateway_url, "GET", "/v1/a", token=token) == (status, {"message": text})


def test_open_routes_ask_nobody_and_unknown_ones_are_not_found(gateway_url: str) -> None:
    assert ask(gateway_url, "GET", "/health", token=None)[1]["user"] is None
    assert ask(gateway_url, "GET", "/nowhere") == (404, {"message": "Not Found"})
    assert ask(gateway_url, "POST", "/health") == (404, {"message": "Not Found"})


def test_a_function_that_raises_is_a_500_without_inner_text(gateway_url: str) -> None:
    assert ask(gateway_url, "GET", "/v1/boom") == (500, {"message": "Internal Server Error"})


def test_an_authorizers_answer_is_kept_for_its_time_to_live(gateway_url: str) -> None:
    guard = sys.modules["toy_gateway.app"]
    for _ in range(3):
        ask(gateway_url, "GET", "/v1/a", token="Bearer often")
    assert guard.asked.count(["Bearer often"]) == 1


def test_a_kept_answer_is_asked_for_anew_after_its_time() -> None:
    class Guard:
        calls = 0

        def invoke(self, event: Any) -> Any:
            self.calls += 1
            return {"isAuthorized": True, "context": {}}

    time_s = 0.0
    template = Template(_document())
    guard = Guard()
    authorizers = Authorizers(template.authorizers(), {"Guard": cast("HostedFunction", guard)}, now=lambda: time_s)
    proxy = {"headers": {"authorization": "t"}, "routeKey": "k"}
    authorizers.refusal_or_context("Token", proxy)
    time_s = 61.0
    authorizers.refusal_or_context("Token", proxy)
    assert guard.calls == 2


def _document() -> Any:
    return {
        "Resources": {
            "Guard": {"Type": "AWS::Serverless::Function", "Properties": {"Handler": "a.b"}},
            "Api": {
                "Type": "AWS::Serverless::HttpApi",
                "Properties": {
                    "Auth": {
                        "Authorizers": {
                            "Token": {
                                "FunctionArn": {"Fn::GetAtt": ["Guard", "Arn"]},
                                "Identity": {"Headers": ["Authorization"], "ReauthorizeEvery": 60},
                            }
                        }
                    }
                },
            },
        }
    }


def test_a_body_that_is_too_long_is_answered_and_not_cut_off(gateway_url: str) -> None:
    status, _ = ask(gateway_url, "POST", "/v1/anything", body=bytes(BODY_MAX_BYTES + 1024 * 1024))
    assert status == 413
