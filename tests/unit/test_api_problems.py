import json
from datetime import datetime, time
from typing import Literal
from uuid import UUID

import pytest
from pydantic import BaseModel, Field, TypeAdapter, ValidationError

from siftline.api.briefings.briefings import Delivery
from siftline.api.http.paging import Time
from siftline.api.http.problems import (
    FAULTS_MAX,
    Fault,
    ProblemError,
    answer,
    conflict,
    fault_of,
    faulty,
    not_found,
    pointer,
    to_json,
)


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ([], "#"),
        (["url"], "#/url"),
        (["items", 3, "tags", 0], "#/items/3/tags/0"),
        (["a/b", "c~d"], "#/a~1b/c~0d"),
    ],
)
def test_a_place_becomes_a_json_pointer(path: list[str | int], expected: str) -> None:
    assert pointer(path) == expected


def test_a_fault_of_the_body_has_a_pointer_and_one_of_the_query_a_parameter() -> None:
    body = fault_of({"type": "missing", "loc": ("body", "url"), "msg": "Field required"})
    assert (body.code, body.detail, body.pointer, body.parameter) == ("missing", "Missing.", "#/url", None)
    query = fault_of({"type": "int_parsing", "loc": ("query", "limit"), "msg": "Not a number"})
    assert (query.pointer, query.parameter) == (None, "limit")


def test_an_own_validators_sentence_is_shown_without_pydantics_prefix() -> None:
    assert fault_of({"type": "value_error", "loc": ("body",), "msg": "Value error, Name one"}).detail == "Name one."


class _Part(BaseModel):
    at: str = Field(default="", alias="when")


class _Told(BaseModel):
    name: str = Field(min_length=1, max_length=3)
    tags: list[str] = Field(default=[], max_length=1)
    words: dict[str, str] = Field(default={"a": "b"}, min_length=1)
    first_import: str = Field(default="all", pattern="^all$")
    other: str = Field(default="x", pattern="^x$")
    many: int = Field(default=1, ge=1, le=5)
    at: time = time(7)
    since: datetime | None = None
    kind: Literal["rss", "web"] = "rss"
    key: UUID | None = None
    on: bool = True
    nothing: None = None
    part: _Part | None = None


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({}, "Missing."),
        ({"name": ""}, "Must not be empty."),
        ({"name": "long"}, "At most 3 characters."),
        ({"name": 3}, "Must be a string."),
        ({"tags": ["a", "b"]}, "At most 1 entries."),
        ({"tags": "a"}, "Must be a list."),
        ({"words": {}}, "Must not be empty."),
        ({"words": []}, "Must be a JSON object."),
        ({"first_import": "none"}, "Must be skip, all or newest:N, such as newest:10."),
        ({"other": "y"}, "Wrong format."),
        ({"many": 0}, "At least 1."),
        ({"many": 6}, "At most 5."),
        ({"many": "x"}, "Must be a whole number."),
        ({"at": "7:00"}, 'Must be a local time as "HH:MM", such as "07:00".'),
        (
            {"since": "2026-13-01T00:00:00Z"},
            "Must be a date and time with an offset (RFC 3339), such as 2026-11-28T09:30:00Z.",
        ),
        ({"kind": "atom"}, "Must be rss or web."),
        ({"key": "x"}, "Must be an id (a UUID)."),
        ({"on": "perhaps"}, "Must be true or false."),
        ({"nothing": 1}, "Must be null or omitted."),
        ({"part": 1}, "Must be a JSON object."),
    ],
)
def test_what_pydantic_finds_is_told_in_our_words(given: dict[str, object], said: str) -> None:
    with pytest.raises(ValidationError) as caught:
        _Told.model_validate({"name": "a"} | given if given else {})
    [error] = caught.value.errors()
    told = fault_of({**error, "loc": ("body", *error["loc"])}, _Told)
    assert told.detail == said


def test_a_time_out_of_the_calendar_in_utc_is_told_as_all_else() -> None:
    with pytest.raises(ValidationError) as caught:
        TypeAdapter(Time).validate_python("0001-01-01T00:00:00+01:00")
    [error] = caught.value.errors()
    assert fault_of({**error, "loc": ("query", "since")}).detail == "Must lie between the years 1 and 9999 in UTC."


def test_a_member_of_a_union_is_told_among_all() -> None:
    faults = []
    for given in ({"channel": "fax"}, {}):
        with pytest.raises(ValidationError) as caught:
            TypeAdapter(Delivery).validate_python(given)
        [error] = caught.value.errors()
        faults.append(fault_of({**error, "loc": ("body", "delivery")}))
    assert [fault.pointer for fault in faults] == ["#/delivery/channel"] * 2
    assert [fault.detail for fault in faults] == [
        "channel must be one of none, email, webhook.",
        "channel is missing.",
    ]


def test_a_text_that_is_too_long_after_it_was_read_is_counted_by_characters() -> None:
    context = {"field_type": "Value", "max_length": 64, "actual_length": 1000}
    error = {"type": "too_long", "loc": ("query", "tag"), "msg": "Value should have at most 64 items", "ctx": context}
    assert fault_of(error).detail == "At most 64 characters."


def test_a_problem_is_a_document_of_its_own_media_type() -> None:
    error = not_found("item")
    response = answer(error.problem(), error.headers)
    assert response.status_code == 404
    assert response.headers["Content-Type"] == "application/problem+json"
    assert response.headers["X-Content-Type-Options"] == "nosniff"
    assert json.loads(response.body or "") == {
        "type": "about:blank",
        "title": "Not Found",
        "status": 404,
        "detail": "There is no such item.",
        "code": "not_found",
    }


def test_faults_are_counted_and_listed() -> None:
    fault = fault_of({"type": "missing", "loc": ("body", "url"), "msg": "Field required"})
    problem = faulty([fault, fault]).problem()
    assert problem.detail == "The request has 2 errors."
    assert problem.title == "Unprocessable Content"
    assert len(problem.errors or []) == 2


def test_a_problem_can_be_raised_through_a_context_manager() -> None:
    def fail() -> None:
        raise conflict("busy", "It is busy.") from None

    with pytest.raises(ProblemError) as caught:
        fail()
    caught.value.add_note("traceback and notes can be set")
    assert str(caught.value) == "It is busy."


def test_no_character_of_an_answer_can_open_a_tag_or_end_a_script() -> None:
    text = to_json({"title": "</script><img src=x onerror=alert(1)>&\u2028"})
    assert not set("<>&\u2028") & set(text)
    assert json.loads(text) == {"title": "</script><img src=x onerror=alert(1)>&\u2028"}


def test_numbers_that_json_does_not_know_are_no_answer() -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        to_json({"score": float("nan")})


class _Whole(BaseModel):
    name: str
    parts: list[_Part] | None = None
    more: dict[str, int] = {}


def test_of_many_faults_the_first_hundred_are_listed_and_all_are_counted() -> None:
    many = (Fault(code="extra_forbidden", detail="Unknown", pointer=f"#/{number}") for number in range(90_000))
    problem = faulty(many).problem()
    assert (len(problem.errors or []), problem.errors_total) == (FAULTS_MAX, 90_000)
    assert problem.detail == "The request has 90000 errors."
    assert [fault.pointer for fault in problem.errors or []][:2] == ["#/0", "#/1"]


@pytest.mark.parametrize(
    ("path", "known"),
    [
        (["nmae"], "name, parts, more"),
        (["parts", 3, "at"], "when"),
        (["parts", "list[_Part]", 3, "at"], "when"),
        (["more", "x"], None),
    ],
)
def test_of_an_unknown_field_the_known_ones_are_told(path: list[str | int], known: str | None) -> None:
    error = {"type": "extra_forbidden", "loc": ("body", *path), "msg": "Extra inputs are not permitted"}
    told = fault_of(error, _Whole).detail
    assert told == (f"Unknown field. Known fields: {known}." if known else "Unknown field.")


def test_a_place_or_a_parameter_as_long_as_a_body_is_told_by_its_beginning() -> None:
    assert len(pointer(["k" * 1_000_000])) < 400
    error = {"type": "missing", "loc": ("query", "q" * 1_000_000), "msg": "Field required"}
    assert len(fault_of(error).parameter or "") < 400
