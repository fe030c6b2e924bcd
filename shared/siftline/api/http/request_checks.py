"""What a request must be before any route sees it: small enough, UTF-8, strict JSON, and text that can be stored."""

import base64
import binascii
import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NoReturn
from urllib.parse import unquote_plus, unquote_to_bytes

from aws_lambda_powertools.utilities.data_classes import APIGatewayProxyEventV2

from siftline.api.http.auth import is_by_token
from siftline.api.http.problems import Fault, ProblemError, faulty, pointer
from siftline.kit.lines import line

MAX_BODY_BYTES = 1_048_576
# PostgreSQL stores no NUL, and UTF-8 knows no lone surrogates.
UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
"""What no text holds that we store."""
_JSON_TYPE = re.compile(r"application/(?:json|[a-z0-9.+-]+\+json)(?:\s*;.*)?", re.IGNORECASE)
_MAX_DEPTH = 32
# An unknown field costs a fault of its own, with its place and a sentence. No body that we take comes near.
_OBJECT_FIELDS_MAX = 200
_BODY_FIELDS_MAX = 5_000
_NAME_MAX_CHARS = 100
# Routes that read their body themselves: files that are no JSON.
_FILES = frozenset({"/v1/opml"})
_NO_UTF8 = "invalid_utf8", "Parameters must be percent-encoded UTF-8."
_UNSTORABLE = "unstorable_text", "NUL and lone surrogates cannot be stored."
_GIVEN_TWICE = "given_twice", "Must be given only once."


@dataclass(frozen=True, slots=True)
class RefusedEntry:
    """Stands for an entry of a batch with text that cannot be stored or a field given twice: the others pass."""

    pointer: str
    code: str
    detail: str


def plain_request(event: Mapping[str, Any]) -> dict[str, Any]:
    """Return the event with its body as text; a file's is left as it came. Raises 400, 413 and 415.

    What a link from a mail is posted with is left out: it says no more than the link does (RFC 8058), in any form.
    """
    request = dict(event)
    if is_by_token(str(request.get("rawPath"))):
        return request | {"body": None, "isBase64Encoded": False}
    if takes_file(str(request.get("rawPath"))):
        return request
    body = request.get("body")
    if not body:
        return request
    if len(body) > 2 * MAX_BODY_BYTES:  # base64 takes a third more; do not decode what is refused anyway
        raise _too_large()
    data = _decoded(body) if request.get("isBase64Encoded") else body.encode("utf-8", "surrogatepass")
    if len(data) > MAX_BODY_BYTES:
        raise _too_large()
    headers = {str(name).lower(): value for name, value in (request.get("headers") or {}).items()}
    content_type = str(headers.get("content-type") or "application/json").strip()
    if not _JSON_TYPE.fullmatch(content_type):
        raise ProblemError(415, "unsupported_media_type", "The Content-Type must be application/json.")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise _bad_json("The body is not valid UTF-8.") from error
    # One spelling for the validation behind us, which knows only application/json.
    request["headers"] = {**headers, "content-type": "application/json"}
    return {**request, "body": text, "isBase64Encoded": False}


def read_json(text: str) -> Any:
    """Return the body's value. Raises 400 for what is not JSON (RFC 8259), and 422 for too many fields, of which no
    more is looked at, for text that cannot be stored, and for a field that is given twice: nobody could say which one
    counts.

    In an entry of a list ``items``, whose entries are answered each on its own, the last two are left to that answer: a
    ``RefusedEntry`` stands in the entry's place.
    """
    try:
        value = json.loads(text, parse_constant=_refuse_constant, object_pairs_hook=_Fields().taken)
    except (ValueError, RecursionError) as error:  # ValueError: also a number of thousands of digits
        raise _bad_json("The body is not valid JSON.") from error
    # Of a list Powertools would take the first entry for the whole; null may be said where no body is needed.
    if isinstance(value, list | str | int | float):
        raise faulty([Fault(code="not_an_object", detail="The body must be a JSON object.", pointer="#")])
    faults: list[Fault] = []
    for path, (code, detail) in list(_refused(value, [])):
        match path:
            case ["items", int(place), *_]:
                value["items"][place] = RefusedEntry(pointer(path[2:]), code, detail)
            case _:
                faults.append(Fault(code=code, detail=detail, pointer=pointer(path)))
    if faults:
        raise faulty(faults)
    return value


def refuse_unstorable(event: APIGatewayProxyEventV2) -> None:
    """Raise 422 when the query, and 404 when the path, holds what is no text or nothing we store can hold.

    A parameter that is given twice is refused too: nobody could say which one counts.
    """
    if UNSTORABLE.search(event.path):
        raise ProblemError(404, "not_found", "There is no such route.")
    query = event.raw_query_string
    given = Counter(unquote_plus(pair.partition("=")[0]) for pair in query.split("&") if pair)
    twice = () if is_by_token(event.path) else [name for name, times in given.items() if times > 1]
    sent = event.query_string_parameters.items()
    found = [(_NO_UTF8, name) for name in _no_utf8(query)]
    found += [(_UNSTORABLE, name) for name, value in sent if UNSTORABLE.search(name) or UNSTORABLE.search(value)]
    found += [(_GIVEN_TWICE, name) for name in twice]
    if found:
        raise faulty(
            Fault(code=code, detail=detail, parameter=line(name, _NAME_MAX_CHARS)) for (code, detail), name in found
        )


def refuse_body(text: str) -> None:
    """Raise 422 for a body that says something, where a route has no use for one; 400 for what is no JSON."""
    faults = [
        Fault(code="extra_forbidden", detail="Unknown field. No fields are allowed here.", pointer=pointer([name]))
        for name in read_json(text) or {}
    ]
    if faults:
        raise faulty(faults)


def takes_file(path: str) -> bool:
    """Say whether a route reads its body itself, which need not be JSON."""
    return path in _FILES


def _no_utf8(query: str) -> Iterator[str]:
    """Yield the parameters that are no UTF-8: a gateway has put other characters in the place of their bytes."""
    for pair in query.split("&"):
        try:
            unquote_to_bytes(pair).decode("utf-8")
        except UnicodeDecodeError:
            yield unquote_plus(pair.partition("=")[0])


def _refused(value: Any, path: list[str | int]) -> Iterator[tuple[list[str | int], tuple[str, str]]]:
    """Yield the places of what is refused anywhere in a body, with code and sentence."""
    if len(path) > _MAX_DEPTH:
        raise _bad_json("The body is nested too deeply.")
    if isinstance(value, str):
        if UNSTORABLE.search(value):
            yield path, _UNSTORABLE
    elif isinstance(value, dict):
        for name, member in value.items():
            if UNSTORABLE.search(name):  # no pointer to what it holds could be written either
                yield path, _UNSTORABLE
                continue
            if isinstance(value, _Doubled) and name in value.twice:
                yield [*path, name], _GIVEN_TWICE
            yield from _refused(member, [*path, name])
    elif isinstance(value, list):
        for place, member in enumerate(value):
            yield from _refused(member, [*path, place])


class _Doubled(dict[str, Any]):
    """An object some of whose fields were given twice, of which it has the last."""

    def __init__(self, fields: Mapping[str, Any], twice: frozenset[str]) -> None:
        super().__init__(fields)
        self.twice = twice


class _Fields:
    """Counts the fields of a body as its objects are read."""

    def __init__(self) -> None:
        self._total = 0

    def taken(self, fields: list[tuple[str, Any]]) -> dict[str, Any]:
        self._total += len(fields)
        if len(fields) > _OBJECT_FIELDS_MAX or self._total > _BODY_FIELDS_MAX:
            detail = (
                f"An object may have at most {_OBJECT_FIELDS_MAX} fields, the whole body at most {_BODY_FIELDS_MAX:,}."
            )
            raise ProblemError(422, "too_many_fields", detail)
        taken = dict(fields)
        if len(taken) == len(fields):
            return taken
        given = Counter(name for name, _ in fields)
        return _Doubled(taken, frozenset(name for name, times in given.items() if times > 1))


def _decoded(body: str) -> bytes:
    try:
        return base64.b64decode(body, validate=True)
    except (binascii.Error, ValueError) as error:
        raise _bad_json("The body is not valid base64.") from error


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(name)


def _bad_json(detail: str) -> ProblemError:
    return ProblemError(400, "invalid_json", detail)


def _too_large() -> ProblemError:
    return ProblemError(413, "body_too_large", f"The body is larger than {MAX_BODY_BYTES // 1024} KiB.")
