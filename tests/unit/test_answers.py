"""What a source's last answer lets the next request say."""

from datetime import UTC, datetime

import pytest

from siftline.fetch.poll.answers import validators
from siftline.fetch.poll.health_store import Source
from siftline.kit.ids import new_id

NOW = datetime(2026, 11, 28, tzinfo=UTC)


def source(etag: str) -> Source:
    return Source(
        id=new_id(), kind="rss", url="https://example.org/feed", title=None, site_url=None, etag=etag,
        last_modified=None, body_sha256=None, health="active", first_import=None, imported_at=NOW, last_full_at=NOW,
    )  # fmt: skip


def test_a_validator_is_sent_back_as_it_came() -> None:
    assert validators(source('W/"é"'), NOW) == {"If-None-Match": 'W/"é"'}


@pytest.mark.parametrize("etag", ['"a\x01b"', '"a\nb"', '"\u4e2d"'], ids=["control", "newline", "not Latin-1"])
def test_a_validator_that_no_request_may_carry_is_left_out(etag: str) -> None:
    assert validators(source(etag), NOW) == {}
