"""When a source is asked again, and why."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest

from siftline.fetch.feed.feeds import Entry, Feed
from siftline.fetch.poll.next_poll import Plan, Rhythm, Wishes, fresh_for_s, plan, spoken

NOW = datetime(2026, 11, 25, 12, 30, tzinfo=UTC)  # a Wednesday
ID = UUID(int=0)  # whose share of the spread is none
HOUR = 60


def planned(
    *,
    every: int | None = None,
    limits: tuple[int | None, int | None] = (None, None),
    rhythm: Rhythm | None = None,
    before: int = 60,
    changed: bool = False,
    source_id: UUID = ID,
    **headers: str,
) -> Plan:
    return plan(
        source_id,
        now=NOW,
        wishes=Wishes(every, *limits),
        rhythm=rhythm or Rhythm(),
        before_minutes=before,
        changed=changed,
        headers={name.replace("_", "-"): value for name, value in headers.items()},
        bounds_minutes=(15, 1_440),
    )


def feed(*hours_ago: float | None, **more: Any) -> Feed:
    dates = [None if hours is None else NOW - timedelta(hours=hours) for hours in hours_ago]
    entries = tuple(Entry(guid=None, link=None, title="", published_at=at) for at in dates)
    return Feed(title="News", site_url=None, entries=entries, **more)


def minutes(of: Plan) -> float:
    return of.wait / timedelta(minutes=1)


class TestRhythm:
    @pytest.mark.parametrize(
        ("hours_ago", "gap_minutes"),
        [
            ((0, 6, 12, 18), 6 * HOUR),
            ((12, 0, 18, 6), 6 * HOUR),
            ((1, 2, 3, 100), HOUR),
            ((1, 2), None),
            ((None, None, None), None),
            ((-5, -4, 1), None),
            ((0, 0.1, 0.2, 24, 24.1, 24.2, 48, 48.1), 24 * HOUR),
        ],
        ids=["even", "in any order", "usually", "too few", "undated", "of the future", "several at once"],
    )
    def test_it_is_the_usual_time_between_what_a_feed_brings(
        self, hours_ago: Sequence[float | None], gap_minutes: int | None
    ) -> None:
        found = Rhythm.of(feed(*hours_ago), NOW).gap_minutes
        assert found == (None if gap_minutes is None else pytest.approx(gap_minutes, abs=15))

    def test_it_is_kept_as_json_keeps_it(self) -> None:
        of = feed(0, 6, 12, ttl_minutes=90, skip_hours=frozenset({3, 1}), skip_days=frozenset({6}))
        rhythm = Rhythm.of(of, NOW)
        assert rhythm == Rhythm(6 * HOUR, NOW, 90, (1, 3), (6,))
        assert Rhythm.loaded(rhythm.stored()) == rhythm
        assert Rhythm.loaded({}) == Rhythm()


class TestInterval:
    @pytest.mark.parametrize(
        ("gap", "silent", "wait", "reason"),
        [
            (6 * HOUR, 0, 180, "new entries about 4 times a day: every 3 hours"),
            (60, 60, 30, "new entries about once an hour: every 30 minutes"),
            (2, 2, 15, "new entries about 30 times an hour: every 15 minutes"),
            (7 * 24 * HOUR, 0, 1_440, "new entries about once a week: every 24 hours"),
            (6 * HOUR, 48 * HOUR, 360, "new entries about 2 times a day: every 6 hours"),
            (60, 365 * 24 * HOUR, 1_440, "new entries less than once a month: every 24 hours"),
        ],
    )
    def test_it_follows_the_rhythm_within_limits(self, gap: int, silent: int, wait: float, reason: str) -> None:
        chosen = planned(rhythm=Rhythm(gap, NOW - timedelta(minutes=silent)))
        assert (minutes(chosen), chosen.every_minutes, chosen.reason) == (wait, wait, reason)

    @pytest.mark.parametrize(
        ("before", "changed", "wait", "reason"),
        [
            (60, True, 30, "new entries found: every 30 minutes"),
            (60, False, 75, "no new entries: every 75 minutes"),
            (16, True, 15, "new entries found: every 15 minutes"),
            (1_400, False, 1_440, "no new entries: every 24 hours"),
        ],
    )
    def test_without_dates_it_follows_what_polls_bring(
        self, before: int, changed: bool, wait: float, reason: str
    ) -> None:
        chosen = planned(before=before, changed=changed)
        assert (minutes(chosen), chosen.reason) == (wait, reason)

    def test_a_wish_is_exact_whatever_the_rhythm(self) -> None:
        chosen = planned(every=30, rhythm=Rhythm(7 * 24 * HOUR, NOW), source_id=UUID(int=999_999))
        assert (minutes(chosen), chosen.reason) == (30, "polling requested every 30 minutes")

    @pytest.mark.parametrize(
        ("limits", "wait"),
        [((None, 60), 60), ((360, None), 360), ((5, None), 180), ((None, 10_080), 180), ((10_080, 60), 10_080)],
    )
    def test_limits_of_the_subscribers_narrow_it(self, limits: tuple[int | None, int | None], wait: float) -> None:
        assert minutes(planned(limits=limits, rhythm=Rhythm(6 * HOUR, NOW))) == wait

    def test_the_rarest_interval_is_the_settings_unless_they_say_so_together(self) -> None:
        slow = Rhythm(30 * 24 * HOUR, NOW)
        assert minutes(planned(limits=(None, 10_080), rhythm=slow)) == 1_440
        assert minutes(planned(limits=(5_000, 10_080), rhythm=slow)) == 5_000

    def test_sources_are_spread_by_a_share_of_their_own_that_stays(self) -> None:
        ids = [UUID(int=number * 7_919) for number in range(100)]
        waits = [minutes(planned(rhythm=Rhythm(6 * HOUR, NOW), source_id=one)) for one in ids]
        assert waits == [minutes(planned(rhythm=Rhythm(6 * HOUR, NOW), source_id=one)) for one in ids]
        assert min(waits) == 180
        assert 180 * 1.05 < max(waits) <= 180 * 1.1
        assert len(set(waits)) == 100


class TestFloor:
    def test_the_server_goes_before_the_rhythm(self) -> None:
        chosen = planned(rhythm=Rhythm(60, NOW), cache_control="public, max-age=10800")
        assert (minutes(chosen), chosen.every_minutes) == (180, 30)
        assert chosen.reason == "the server says its answer is fresh for 3 hours"

    def test_the_server_goes_before_a_wish_and_the_reason_says_so(self) -> None:
        chosen = planned(every=30, cache_control="max-age=10800")
        assert minutes(chosen) == 180
        assert chosen.reason == "the server says its answer is fresh for 3 hours (polling requested every 30 minutes)"
        assert chosen.fresh == timedelta(hours=3)

    def test_a_server_that_wants_less_changes_nothing(self) -> None:
        chosen = planned(every=30, cache_control="max-age=60")
        assert (minutes(chosen), chosen.fresh) == (30, timedelta(minutes=1))

    def test_what_a_server_wants_has_a_cap(self) -> None:
        chosen = planned(cache_control="max-age=31536000")
        assert minutes(chosen) == 1_440
        assert chosen.reason == "the server says its answer is fresh for 365 days, limited to 24 hours"

    def test_ttl_counts_where_it_is_longer(self) -> None:
        rhythm = Rhythm(60, NOW, ttl_minutes=240)
        chosen = planned(rhythm=rhythm, cache_control="max-age=3600")
        assert (minutes(chosen), chosen.reason) == (240, "the feed asks for 4 hours between polls")


class TestSilence:
    @pytest.mark.parametrize(
        ("skip_hours", "skip_days", "wait"),
        [
            ((), (), 60),
            ((13,), (), 90),
            ((13, 14, 15), (), 210),
            ((12,), (), 60),
            ((), (2,), 690),
            ((), (2, 3), 690 + 1_440),
            ((0, 1), (2,), 690 + 120),
            (tuple(range(24)), (), 60),
            ((), tuple(range(7)), 60),
        ],
        ids=["none", "next", "three", "over", "today", "two days", "both", "always", "every day"],
    )
    def test_a_poll_moves_out_of_the_hours_and_days_that_are_skipped(
        self, skip_hours: tuple[int, ...], skip_days: tuple[int, ...], wait: float
    ) -> None:
        chosen = planned(every=60, rhythm=Rhythm(skip_hours=skip_hours, skip_days=skip_days))
        assert minutes(chosen) == wait
        assert ("asks to skip" in chosen.reason) is (wait > 60)


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"cache-control": "max-age=3600"}, 3_600),
        ({"cache-control": 'private, Max-Age="60"'}, 60),
        ({"cache-control": "max-age=3600", "age": "600"}, 3_000),
        ({"cache-control": "max-age=3600", "age": "6000"}, 0),
        ({"cache-control": "no-cache, max-age=3600"}, 0),
        ({"cache-control": "no-store"}, 0),
        ({"cache-control": "s-maxage=5"}, None),
        ({"cache-control": "max-age=soon"}, None),
        ({"expires": "Wed, 25 Nov 2026 13:30:00 GMT"}, 3_600),
        ({"expires": "Wed, 25 Nov 2026 10:30:00 GMT", "date": "Wed, 25 Nov 2026 10:00:00 GMT"}, 1_800),
        ({"expires": "Wed, 25 Nov 2026 13:30:00 GMT", "cache-control": "max-age=60"}, 60),
        ({"expires": "0"}, None),
        ({"expires": "Thu, 01 Jan 1970 00:00:00 GMT"}, 0),
    ],
)
def test_an_answer_stays_fresh_for_as_long_as_its_headers_say(headers: dict[str, str], seconds: float | None) -> None:
    assert fresh_for_s(headers, NOW) == seconds


@pytest.mark.parametrize(
    ("length", "words"),
    [(1, "1 minute"), (119, "119 minutes"), (120, "2 hours"), (1_440, "24 hours"), (2_880, "2 days")],
)
def test_lengths_of_time_are_spoken(length: float, words: str) -> None:
    assert spoken(length) == words
