"""The vector service of this machine: ``python -m infra.local.vectors --folder .local/vectors --port 6333``.

Qdrant's own engine in process, behind the part of Qdrant's REST interface that ``qdrant-client`` uses for one unnamed
vector a point. The engine's files belong to one process: this one. Everything else knows only ``qdrant-client``.
It answers who has ``QDRANT_API_KEY``, where that is set, and never a page of a browser.
"""

import argparse
import json
import re
import shutil
import threading
import time
from collections.abc import Callable, Iterable
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING, Any

from infra.local.guard import guarded
from infra.local.state import private_folder
from infra.local.vectors_collection import CONFIGURATION, DISTANCES, Collection, create_shard
from infra.local.vectors_json import RefusedError, wrong
from infra.local.wsgi import LoopbackServer
from siftline.settings.functions import LocalSettings

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIEnvironment

VERSION = "1.20.0"
_FLUSH_EVERY_S = 10.0
_NAME = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]{0,254}")
_PATH = re.compile(r"/collections(?:/(?P<name>[^/]+)(?P<rest>/.*)?)?")

Body = dict[str, Any]


class Vectors:
    """The collections of one folder. What a killed process left half made is removed at the start."""

    def __init__(self, folder: Path) -> None:
        self._folder = private_folder(folder)
        self._lock = threading.Lock()
        for entry in folder.iterdir():
            if entry.name.startswith("."):
                shutil.rmtree(entry)
        self._open = {entry.name: Collection(entry) for entry in folder.iterdir() if (entry / CONFIGURATION).exists()}

    def names(self) -> list[str]:
        """Return the collections' names."""
        return sorted(self._open)

    def get(self, name: str) -> Collection:
        """Return a collection; Qdrant's 404 when there is none."""
        try:
            return self._open[name]
        except KeyError:
            raise RefusedError(404, f"Not found: Collection `{name}` doesn't exist!") from None

    def create(self, name: str, body: Body) -> bool:
        """Create a collection of one unnamed vector; Qdrant's 409 when the name is taken."""
        if not _NAME.fullmatch(name):
            raise wrong(f"`{name}` cannot be a collection's name here")
        vectors = body.get("vectors")
        if not isinstance(vectors, dict) or not isinstance(vectors.get("size"), int):
            raise wrong("one unnamed vector with a size is served here")
        if vectors.get("distance") not in DISTANCES or not 1 <= vectors["size"] <= 65536:
            raise wrong(f"size {vectors['size']} and distance {vectors.get('distance')} are not served here")
        with self._lock:
            if name in self._open:
                raise RefusedError(409, f"Wrong input: Collection `{name}` already exists!")
            unfinished = self._folder / f".{name}"
            create_shard(unfinished, size=vectors["size"], distance=vectors["distance"])
            self._open[name] = Collection(unfinished.rename(self._folder / name))
        return True

    def drop(self, name: str) -> bool:
        """Delete a collection; returns whether there was one."""
        with self._lock:
            collection = self._open.pop(name, None)
            if collection is None:
                return False
            collection.close()
            shutil.rmtree((self._folder / name).rename(self._folder / f".{name}"))
        return True

    def flush(self) -> None:
        """Flush every collection."""
        for collection in list(self._open.values()):
            collection.flush()

    def close(self) -> None:
        """Close every collection."""
        for collection in self._open.values():
            collection.close()


class Service:
    """The WSGI application."""

    def __init__(self, vectors: Vectors) -> None:
        self._vectors = vectors
        self._on_points: dict[tuple[str, str], Callable[[Collection, Body], Any]] = {
            ("PUT", "/points"): Collection.upsert,
            ("POST", "/points"): Collection.retrieve,
            ("POST", "/points/delete"): Collection.delete,
            ("POST", "/points/query"): Collection.query,
            ("POST", "/points/scroll"): Collection.scroll,
            ("POST", "/points/count"): Collection.count,
            ("PUT", "/index"): Collection.index,
        }

    def __call__(self, environ: "WSGIEnvironment", start_response: "StartResponse") -> Iterable[bytes]:
        """Answer one request in Qdrant's envelope."""
        started = time.monotonic()
        answer: Any
        try:
            status, answer = 200, {"result": self._answer(environ), "status": "ok"}
            if environ["PATH_INFO"] == "/":
                answer = answer["result"]
        except RefusedError as error:
            status, answer = error.status, {"status": {"error": error.message}}
        answer.setdefault("time", time.monotonic() - started)
        content = json.dumps(answer).encode()
        headers = [("Content-Type", "application/json"), ("Content-Length", str(len(content)))]
        start_response(f"{status} {HTTPStatus(status).phrase}", headers)
        return [content]

    def _answer(self, environ: "WSGIEnvironment") -> Any:
        method, path = environ["REQUEST_METHOD"], environ["PATH_INFO"]
        if path == "/":
            return {"title": "siftline vectors (Qdrant's engine, in process)", "version": VERSION}
        if path in ("/healthz", "/livez", "/readyz"):
            return True
        match = _PATH.fullmatch(path)
        if match is None:
            raise RefusedError(404, "")
        name, rest = match["name"], match["rest"] or ""
        if name is None:
            return {"collections": [{"name": one} for one in self._vectors.names()]}
        return self._on_collection(method, name, rest, environ)

    def _on_collection(self, method: str, name: str, rest: str, environ: "WSGIEnvironment") -> Any:
        on_points = self._on_points.get((method, rest))
        if on_points is not None:
            return on_points(self._vectors.get(name), _body(environ))
        if rest == "/exists":
            return {"exists": name in self._vectors.names()}
        if rest == "" and method == "GET":
            return self._vectors.get(name).info()
        if rest == "" and method == "PUT":
            return self._vectors.create(name, _body(environ))
        if rest == "" and method == "DELETE":
            return self._vectors.drop(name)
        raise RefusedError(404, f"{method} {rest} is not served here")


def _body(environ: "WSGIEnvironment") -> Body:
    try:
        body = json.loads(environ["wsgi.input"].read())
    except ValueError as error:
        raise RefusedError(400, f"Format error in JSON body: {error}") from error
    if not isinstance(body, dict):
        raise RefusedError(400, "Format error in JSON body: an object is expected")
    return body


def main() -> None:
    """Serve until SIGTERM or SIGINT."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--port", type=int, required=True)
    options = parser.parse_args()
    vectors = Vectors(options.folder)
    key = LocalSettings().qdrant_api_key.get_secret_value()
    server = LoopbackServer(guarded(Service(vectors), secret=key), port=options.port)
    done = threading.Event()

    def flush_often() -> None:
        while not done.wait(_FLUSH_EVERY_S):
            vectors.flush()

    threading.Thread(target=flush_often, name="flush", daemon=True).start()
    try:
        server.run_until_signal()
    finally:
        done.set()
        vectors.close()


if __name__ == "__main__":
    main()
