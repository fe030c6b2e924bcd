"""The guard of ``siftline.net.loopback`` before a WSGI or an ASGI application; MiniStack's environment loads it too."""

import json
from collections.abc import Awaitable, Callable, Collection, Iterable, MutableMapping
from typing import TYPE_CHECKING, Any

from siftline.net.loopback import NAMES, refusal

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
AsgiApplication = Callable[[Message, Receive, Send], Awaitable[None]]


def guarded(
    application: "WSGIApplication", *, secret: str = "", names: Collection[str] = NAMES, has_pages: bool = False
) -> "WSGIApplication":
    """Return a WSGI application that refuses with 403 whom ``siftline.net.loopback`` refuses."""

    def answer(environ: "WSGIEnvironment", start_response: "StartResponse") -> Iterable[bytes]:
        headers = {
            name[5:].replace("_", "-").lower(): str(v) for name, v in environ.items() if name.startswith("HTTP_")
        }
        why = refusal(headers, secret=secret, names=names, has_pages=has_pages)
        if why is None:
            return application(environ, start_response)
        body = _body(why)
        start_response("403 Forbidden", [("Content-Type", "application/json"), ("Content-Length", str(len(body)))])
        return [body]

    return answer


def asgi_guarded(application: AsgiApplication, *, secret: str) -> AsgiApplication:
    """Return an ASGI application that refuses so too, WebSockets included, and lets no page of a browser read it."""

    async def answer(scope: Message, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            await application(scope, receive, send)
            return
        headers: dict[str, str] = {}
        for raw_name, raw in scope["headers"]:
            name, value = raw_name.decode("latin-1").lower(), raw.decode("latin-1")
            headers[name] = f"{headers[name]}, {value}" if name in headers else value
        why = refusal(headers, secret=secret)
        if why is None:
            await application(scope, receive, _without_cors(send))
        elif scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008})  # before it is accepted: answered with 403
        else:
            await _refuse(send, why)

    return answer


async def _refuse(send: Send, why: str) -> None:
    body = _body(why)
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": 403, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def _without_cors(send: Send) -> Send:
    """Return a ``send`` that takes away what would let a page of another site read an answer."""

    async def passed_on(message: Message) -> None:
        if message["type"] == "http.response.start":
            kept = [pair for pair in message.get("headers", ()) if not pair[0].lower().startswith(b"access-control-")]
            message = {**message, "headers": kept}
        await send(message)

    return passed_on


def _body(why: str) -> bytes:
    return json.dumps({"message": why}).encode()
