"""Which redirects move a source, and when."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from siftline.fetch.poll.answers import moved
from siftline.fetch.poll.health_store import Moved, Source
from siftline.kit.ids import new_id

NOW = datetime(2026, 11, 25, 12, tzinfo=UTC)
A, B, C = "https://a.example/", "https://b.example/", "https://c.example/"


def source(**more: Any) -> Source:
    unknown = dict.fromkeys(
        ("title", "site_url", "etag", "last_modified", "body_sha256", "first_import", "imported_at", "last_full_at")
    )
    return Source(**{"id": new_id(), "kind": "rss", "url": A, "health": "active", **unknown, **more})


def after(*redirects: tuple[int, str], **more: Any) -> Moved:
    return moved(source(**more), redirects, NOW)


@pytest.mark.parametrize(
    ("redirects", "target"),
    [
        ((), None),
        (((301, B),), B),
        (((308, B),), B),
        (((302, B),), None),
        (((303, B),), None),
        (((307, B),), None),
        (((301, B), (301, C)), C),
        (((301, B), (302, C)), B),
        (((302, B), (301, C)), None),
        (((301, "http://a.example/"),), None),
        (((301, B), (301, "http://b.example/")), B),
        (((301, "http://b.example/"), (301, B)), None),
        (((301, B), (301, A)), None),
    ],
    ids=["none", "301", "308", "302", "303", "307", "two", "half", "not first", "down", "later down", "there and up",
         "circle"],
)  # fmt: skip
def test_permanent_hops_at_the_beginning_count_and_never_down_to_http(
    redirects: tuple[tuple[int, str], ...], target: str | None
) -> None:
    assert after(*redirects).resolved_url == target


def test_a_move_is_counted_from_its_first_poll() -> None:
    assert after((301, B)) == Moved(B, NOW, 1, None)


@pytest.mark.parametrize(
    ("days", "polls", "adopted"),
    [(7, 4, B), (7, 3, None), (6.9, 9, None)],
    ids=["held", "too few polls", "too few days"],
)
def test_a_move_is_adopted_once_it_held_for_polls_and_days(days: float, polls: int, adopted: str | None) -> None:
    since = NOW - timedelta(days=days)
    found = after((301, B), resolved_url=B, resolved_since=since, resolved_polls=polls)
    assert found == Moved(B, since, polls + 1, adopted)


def test_another_target_begins_anew_and_the_adopted_one_stays_until_it_held() -> None:
    known = {"adopted_url": B, "resolved_url": B, "resolved_since": NOW - timedelta(days=9), "resolved_polls": 9}
    assert after((301, C), **known) == Moved(C, NOW, 1, B)


def test_an_adopted_address_that_answers_itself_or_sends_away_for_now_stays() -> None:
    since = NOW - timedelta(days=9)
    known = {"adopted_url": B, "resolved_url": B, "resolved_since": since, "resolved_polls": 9}
    assert after(**known) == after((302, C), **known) == Moved(B, since, 10, B)


def test_no_redirect_any_more_is_no_move_any_more() -> None:
    assert after(resolved_url=B, resolved_since=NOW, resolved_polls=2) == Moved()
