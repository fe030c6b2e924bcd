"""Who may ask a service on loopback: programs that know its secret, by a name of this machine, and no page."""

import pytest

from siftline.net.loopback import refusal

HERE = {"host": "127.0.0.1:4566"}
KEY = "0123456789abcdef"
SIGNED = "AWS4-HMAC-SHA256 Credential={}/20261129/us-east-1/sqs/aws4_request, SignedHeaders=host, Signature=00"


@pytest.mark.parametrize("host", ["127.0.0.1:4566", "127.0.0.1", "localhost:1", "LOCALHOST", "localhost"])
def test_a_name_of_this_machine_is_answered(host: str) -> None:
    assert refusal({"host": host}) is None


@pytest.mark.parametrize(
    "host",
    [
        "",
        "evil.example",
        "evil.example:4566",
        "127.0.0.1.nip.io:4566",
        "localhost.evil.example",
        "127.0.0.1:4566, evil.example",
        "evil.example#127.0.0.1:80",
        "127.0.0.1@evil.example:80",
        "0.0.0.0:4566",
        "10.0.0.7:4566",
        "127.0.0.1:evil",
        "[::1.evil]:1",
        "sqs.us-east-1.localhost:4566",
    ],
)
def test_any_other_name_is_refused_whatever_else_is_right(host: str) -> None:
    assert refusal({"host": host, "authorization": f"Bearer {KEY}"}, secret=KEY) is not None
    assert refusal({"host": host}, has_pages=True) is not None


def test_a_container_of_this_machine_is_answered_only_with_the_secret() -> None:
    asked = {"host": "host.docker.internal:4566"}
    assert refusal({**asked, "authorization": f"Bearer {KEY}"}, secret=KEY) is None
    assert refusal(asked, secret=KEY) is not None
    assert refusal(asked) is not None
    assert refusal(asked, has_pages=True) is not None


def test_no_host_at_all_is_refused() -> None:
    assert refusal({}) is not None


@pytest.mark.parametrize(
    "page",
    [
        {"origin": "https://evil.example"},
        {"origin": "null"},
        {"origin": ""},
        {"origin": "http://127.0.0.1:4566"},
        {"origin": "http://["},
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
        {"sec-fetch-site": "same-origin"},
    ],
)
def test_a_page_is_refused_though_it_knew_the_secret(page: dict[str, str]) -> None:
    assert refusal({**HERE, "authorization": f"Bearer {KEY}", **page}, secret=KEY) is not None
    assert refusal({**HERE, **page}) is not None


def test_an_address_typed_into_a_browser_is_no_page() -> None:
    assert refusal({**HERE, "sec-fetch-site": "none"}) is None


@pytest.mark.parametrize(
    "shown", [{"authorization": f"Bearer {KEY}"}, {"authorization": SIGNED.format(KEY)}, {"api-key": KEY}]
)
def test_who_has_the_secret_is_answered(shown: dict[str, str]) -> None:
    assert refusal({**HERE, **shown}, secret=KEY) is None


@pytest.mark.parametrize(
    "shown",
    [
        {},
        {"authorization": ""},
        {"authorization": KEY},
        {"authorization": "Bearer "},
        {"authorization": f"Bearer {KEY}0"},
        {"authorization": f"Basic {KEY}"},
        {"authorization": SIGNED.format("test")},
        {"authorization": SIGNED.format(KEY[:-1])},
        {"authorization": f"AWS4-HMAC-SHA256 Signature={KEY}/"},
        {"api-key": "é"},
        {"x-api-key": KEY},
    ],
)
def test_who_has_it_not_is_refused(shown: dict[str, str]) -> None:
    assert refusal({**HERE, **shown}, secret=KEY) is not None


def test_a_service_with_pages_answers_those_and_links_to_it() -> None:
    for own in (
        {"origin": "http://127.0.0.1:4566"},
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-origin"},
    ):
        assert refusal({**HERE, **own}, has_pages=True) is None


@pytest.mark.parametrize(
    "origin", ["https://evil.example", "null", "http://127.0.0.1:80", "http://localhost:4566", "", "http://["]
)
def test_a_service_with_pages_answers_no_page_of_another(origin: str) -> None:
    assert refusal({**HERE, "origin": origin}, has_pages=True) is not None


def test_further_names_are_those_that_were_named() -> None:
    names = {"127.0.0.1", "news.example"}
    assert refusal({"host": "news.example"}, names=names) is None
    assert refusal({"host": "news.example", "origin": "https://news.example"}, names=names, has_pages=True) is None
    assert refusal({"host": "other.example"}, names=names) is not None
