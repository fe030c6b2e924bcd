import json

import pytest

from siftline.api.problems import ProblemError, answer, conflict, fault_of, faulty, not_found, pointer, to_json


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
    assert (body.code, body.detail, body.pointer, body.parameter) == ("missing", "Field required", "#/url", None)
    query = fault_of({"type": "int_parsing", "loc": ("query", "limit"), "msg": "Not a number"})
    assert (query.pointer, query.parameter) == (None, "limit")


def test_an_own_validators_sentence_is_shown_without_pydantics_prefix() -> None:
    assert fault_of({"type": "value_error", "loc": ("body",), "msg": "Value error, Name one"}).detail == "Name one"


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
    assert problem.detail == "The request has 2 faults."
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
