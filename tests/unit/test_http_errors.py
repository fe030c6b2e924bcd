"""What a status and a Retry-After header mean."""

from datetime import UTC, datetime

import pytest

from siftline.kit.errors import PermanentError, TransientError
from siftline.net.http_model import http_date, retry_after_s, status_error

NOW = datetime(2024, 6, 1, 12, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("status", "code"),
    [(400, "http_400"), (401, "unauthorized"), (403, "forbidden"), (404, "not_found"), (410, "gone"), (451, "http_451"),
     (300, "http_300"), (499, "http_499")],
)  # fmt: skip
def test_a_status_that_will_stay_is_permanent(status: int, code: str) -> None:
    error = status_error(status, {}, NOW)
    assert isinstance(error, PermanentError)
    assert (error.error_code, error.status) == (code, status)
    assert str(status) in error.detail


@pytest.mark.parametrize("status", [408, 429, 500, 501, 502, 503, 504, 520, 599])
def test_a_status_that_may_pass_is_transient(status: int) -> None:
    error = status_error(status, {}, NOW)
    assert isinstance(error, TransientError)
    assert (error.error_code, error.retry_after_s) == (f"http_{status}", None)


def test_only_the_statuses_that_pass_within_seconds_are_retried_soon() -> None:
    soon = [status for status in range(400, 600) if getattr(status_error(status, {}, NOW), "retry_soon", False)]
    assert soon == [408, 500, 502, 503, 504]


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "120"}, 120),
        ({"retry-after": " 0 "}, 0),
        ({"retry-after": "Sat, 01 Jun 2024 12:10:00 GMT"}, 600),
        # F05: the server's clock is an hour slow; the wait is what it meant, not what our clock says.
        ({"retry-after": "Sat, 01 Jun 2024 11:10:00 GMT", "date": "Sat, 01 Jun 2024 11:00:00 GMT"}, 600),
        ({"retry-after": "Sat, 01 Jun 2024 12:10:00 GMT", "date": "rubbish"}, 600),
        ({"retry-after": "Saturday, 01-Jun-24 12:10:00 GMT"}, 600),
        ({"retry-after": "Sat Jun  1 12:10:00 2024"}, 600),
        ({"retry-after": "Sat, 01 Jun 2024 10:00:00 GMT"}, 0),
        ({"retry-after": "99999999999999999999"}, 172_800),
        ({"retry-after": "Sat, 01 Jun 9999 12:10:00 GMT"}, 172_800),
        ({"retry-after": "-5"}, None),
        ({"retry-after": "1.5"}, None),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "\u0662"}, None),
        ({"retry-after": ""}, None),
        ({}, None),
    ],
)
def test_both_forms_of_retry_after_are_understood(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after_s(headers, NOW) == seconds


ENDLESS = "9" * 20
NO_DATES = [
    "", "0", "Sat, 01 Foo 2024", "Sat, 99 Jun 2024 12:00:00 GMT", "1 Jan 99999 0:0:0",
    f"Mon, 01 Jan {ENDLESS} 00:00:00 GMT", f"Mon, {ENDLESS} Jan 2024 00:00:00 GMT",
    f"Mon, 01 Jan 2024 {ENDLESS}:00:00 GMT", f"Mon, 01 Jan 2024 00:00:00 +{ENDLESS}",
    f"Mon, 01 Jan 2024 00:00:00 -{ENDLESS}", "Mon, 01 Jan 2024 00:00:00 +9999", f"{ENDLESS} {ENDLESS}",
]  # fmt: skip


@pytest.mark.parametrize("value", NO_DATES)
def test_what_is_no_http_date_is_none(value: str) -> None:
    assert http_date(value) is None


def test_an_http_date_without_a_zone_is_taken_as_utc() -> None:
    assert http_date("Sat, 01 Jun 2024 12:00:00 -0000") == NOW
