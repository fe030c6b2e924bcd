"""Telling new entries from known ones."""

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from uuid import UUID, uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st

from siftline.contracts import Priority
from siftline.fetch.feed.feeds import Enclosure, Entry
from siftline.fetch.feed.identity import (
    Identified,
    Known,
    PollChanges,
    content_sha256,
    doubtful,
    guids_are_places,
    identify,
    judge,
    without_guids,
)
from siftline.fetch.poll.poll_intake import chosen, priority

SOURCE = UUID(int=1)
DAY = datetime(2024, 1, 1, tzinfo=UTC)
HOUR = timedelta(hours=1)
TIME = DAY + timedelta(hours=12, minutes=7, seconds=9)


def entry(number: int = 0, **parts: object) -> Entry:
    link, html = f"https://n.example/{number}", f"<p>{number}</p>"
    values = {"guid": f"g{number}", "link": link, "title": f"Entry {number}", "html": html}
    return Entry(**{**values, **parts})  # type: ignore[arg-type]  # by name


def ledger_of(poll: list[Identified]) -> list[Known]:
    return [
        Known(one.key, one.link, one.content_sha256, one.exact_sha256, uuid4(), one.link or one.key, DAY)
        for one in poll
    ]


def after(first: list[Entry], second: list[Entry]) -> PollChanges:
    """Return what the second poll brings after the first."""
    poll = identify(second)
    return judge(SOURCE, poll, ledger_of(identify(first)))


def test_everything_is_new_at_first_and_known_by_its_canonical_address() -> None:
    poll = identify([entry(0, link="http://n.example/0/?utm_source=x"), entry(1)])
    verdict = judge(SOURCE, poll, [])
    assert [arrival.url_key for arrival in verdict.arrivals] == ["https://n.example/0", "https://n.example/1"]
    assert (verdict.edits, verdict.moves, verdict.seen) == ([], [], [])


@pytest.mark.parametrize("guid", ["g", None])
def test_the_same_entries_again_are_known_in_any_order(guid: str | None) -> None:
    entries = [entry(n, guid=guid and f"{guid}{n}") for n in range(4)]
    verdict = after(entries, entries[::-1])
    assert (len(verdict.seen), verdict.arrivals, verdict.edits, verdict.moves) == (4, [], [], [])


def test_a_guid_and_a_text_that_stay_decide_whatever_else_changes() -> None:
    verdict = after([entry(0)], [entry(0, link="https://moved.example/", title="New", published_at=DAY)])
    assert (verdict.arrivals, len(verdict.edits), len(verdict.moves)) == ([], 1, 1)


def test_a_new_link_alone_is_a_move_and_then_known() -> None:
    ledger = Ledger()
    [arrival] = ledger.poll([entry(0, link="https://n.example/a")]).arrivals
    [(content_id, _)] = ledger.shown().items()
    there = [entry(0, link="https://n.example/b")]
    verdict = ledger.poll(there)
    [move] = verdict.moves
    assert (move.old_key, move.identified.key, move.moved_id) == (arrival.identified.key, move.old_key, content_id)
    assert (verdict.arrivals, verdict.edits, verdict.seen) == ([], [], [])
    assert ledger.shown() == {content_id: ("Entry 0", "https://n.example/b")}
    again = ledger.poll(there)
    assert (again.moves, len(again.seen)) == ([], 1)


@pytest.mark.parametrize(
    ("before", "now"),
    [
        pytest.param("https://n.example/0?utm_source=x", "https://n.example/0", id="the same page"),
        pytest.param("https://n.example/0", None, id="no link any more"),
        pytest.param(None, "https://n.example/0", id="no link before"),
    ],
)
def test_what_has_no_new_address_is_no_move(before: str | None, now: str | None) -> None:
    verdict = after([entry(0, link=before)], [entry(0, link=now)])
    assert (verdict.moves, verdict.arrivals, len(verdict.seen)) == ([], [], 1)


def test_what_comes_to_the_address_that_another_has_left_has_a_content_of_its_own() -> None:
    """GIVEN an entry that moved from the page of the newest to its own."""
    [row] = ledger_of(identify([entry(0, link="https://n.example/newest")]))
    moved = replace(row, link="https://n.example/0")
    [arrival] = judge(SOURCE, identify([entry(1, link="https://n.example/newest")]), [moved]).arrivals
    assert arrival.url_key.startswith("https://n.example/newest#entry=")


def test_entries_without_guid_that_share_a_link_are_told_apart_by_title_then_date_then_text() -> None:
    shared = entry(0, guid=None, published_at=DAY)
    several = [
        shared,
        replace(shared, title="Other"),
        replace(shared, published_at=DAY + timedelta(days=1)),
        replace(shared, published_at=None),
        replace(shared, published_at=None, html="other"),
    ]
    assert len(identify(several)) == 5
    assert after(several, several[::-1]).arrivals == []


def test_a_repetition_within_a_poll_counts_once() -> None:
    assert len(identify([entry(0), entry(0), entry(0, html="other")])) == 1
    assert len(identify([entry(0, guid=None)] * 3)) == 1


def test_one_guid_for_everything_is_told_apart_by_link() -> None:
    entries = [entry(n, guid="same") for n in range(3)]
    assert len(identify(entries)) == 3
    assert after(entries, entries).arrivals == []


OUTAGES = [entry(0, title=f"Outage {n}", html=f"<p>{'ab' * n}</p>", published_at=DAY + timedelta(n)) for n in range(4)]


@pytest.mark.parametrize("link", ["https://n.example/status", "https://n.example/", None])
@pytest.mark.parametrize(
    "told",
    [
        pytest.param(lambda one: one, id="by date and title"),
        pytest.param(lambda one: replace(one, title="Outage"), id="by date"),
        pytest.param(lambda one: replace(one, published_at=None), id="by title"),
        pytest.param(lambda one: replace(one, published_at=DAY), id="by title, of one day"),
    ],
)
def test_one_guid_and_one_link_for_everything_are_told_apart_by_date_and_title(
    link: str | None, told: Callable[[Entry], Entry]
) -> None:
    entries = [replace(told(one), link=link) for one in OUTAGES]
    assert len(identify(entries)) == 4
    assert after(entries, entries[::-1]).arrivals == []
    verdict = after(entries[:3], entries[1:])
    assert [arrival.identified.entry for arrival in verdict.arrivals] == [entries[3]]
    assert (len(verdict.seen), verdict.moves, verdict.edits) == (2, [], [])


def test_an_edited_title_of_one_guid_link_and_date_of_its_own_is_an_edit() -> None:
    verdict = after(OUTAGES, [replace(OUTAGES[0], title="Over"), *OUTAGES[1:]])
    assert (verdict.arrivals, len(verdict.edits)) == ([], 1)


def test_an_entry_that_was_alone_stays_known_when_a_second_of_its_name_joins() -> None:
    old = entry(0, guid=None, published_at=DAY)
    new = entry(0, guid=None, published_at=DAY + timedelta(days=1), html="<p>the next day's</p>")
    verdict = after([old], [new, old])
    assert [arrival.identified.entry for arrival in verdict.arrivals] == [new]
    assert [move.identified.entry for move in verdict.moves] == [old]


def test_rewritten_guids_are_moves() -> None:
    first = [entry(n) for n in range(3)]
    verdict = after(first, [replace(one, guid=f"urn:{one.guid}") for one in first])
    assert (verdict.arrivals, verdict.edits, len(verdict.moves)) == ([], [], 3)


def test_guids_that_flip_between_http_and_https_are_the_same() -> None:
    first = [entry(n, guid=f"http://n.example/?p={n}") for n in range(3)]
    verdict = after(first, [replace(one, guid=f"https://n.example/?p={n}", html="x") for n, one in enumerate(first)])
    assert (verdict.arrivals, verdict.moves, len(verdict.edits)) == ([], [], 3)


def test_rewritten_guids_of_entries_that_share_a_link_find_their_own() -> None:
    first = [entry(n, link="https://n.example/") for n in range(3)]
    ledger = ledger_of(identify(first))
    poll = identify([replace(one, guid=f"new{one.guid}") for one in reversed(first)])
    verdict = judge(SOURCE, poll, ledger)
    assert verdict.arrivals == []
    assert [(move.identified.content_sha256, move.old_key) for move in verdict.moves] == [
        (row.content_sha256, row.entry_key) for row in reversed(ledger)
    ]


@pytest.mark.parametrize("link", [None, "https://n.example/", "https://n.example"])
def test_rewritten_guids_of_entries_without_a_page_of_their_own_are_known_by_their_words(link: str | None) -> None:
    first = [entry(n, link=link) for n in range(3)]
    verdict = after(first, [replace(one, guid=f"urn:{one.guid}") for one in first])
    assert (verdict.arrivals, verdict.edits, len(verdict.moves)) == ([], [], 3)


@pytest.mark.parametrize("link", [None, "https://n.example/"])
@pytest.mark.parametrize(("before", "now"), [("Episode 12", "Episode 13"), ("v1.2", "v1.3")])
@pytest.mark.parametrize("place", ["title", "html"])
def test_a_digit_makes_another_entry_of_a_new_guid(link: str | None, before: str, now: str, place: str) -> None:
    verdict = after([entry(0, link=link, **{place: before})], [entry(0, link=link, guid="new", **{place: now})])
    assert (len(verdict.arrivals), verdict.moves) == (1, [])


@pytest.mark.parametrize(("date", "moved"), [(DAY, True), (DAY + timedelta(seconds=1), False), (None, False)])
def test_a_new_guid_and_another_count_are_no_new_entry_at_the_very_same_time(
    date: datetime | None, moved: bool
) -> None:
    old = entry(0, link=None, html="<p>7 comments</p>", published_at=DAY)
    ledger = [replace(row, published_at=DAY) for row in ledger_of(identify([old]))]
    verdict = judge(SOURCE, identify([replace(old, guid="new", html="<p>8 comments</p>", published_at=date)]), ledger)
    assert (len(verdict.moves), len(verdict.arrivals), verdict.edits) == ((1, 0, []) if moved else (0, 1, []))


def test_two_of_the_same_words_and_time_are_not_guessed_between() -> None:
    old = [entry(n, link=None, title="Count", html=f"<p>{n} votes</p>", published_at=DAY) for n in range(2)]
    ledger = [replace(row, published_at=DAY) for row in ledger_of(identify(old))]
    verdict = judge(SOURCE, identify([replace(old[0], guid="new", html="<p>9 votes</p>")]), ledger)
    assert (verdict.moves, len(verdict.arrivals)) == ([], 1)


def test_a_title_alone_is_told_apart_by_its_date() -> None:
    done = entry(0, link=None, title="Backup done", html="", published_at=DAY)
    assert after([done], [replace(done, guid="new", published_at=DAY + timedelta(days=1))]).arrivals
    assert after([done], [replace(done, guid="new")]).moves


def test_a_link_of_its_own_is_the_same_entry_whatever_else_is_rewritten() -> None:
    verdict = after([entry(0), entry(1)], [entry(0, guid="new", title="New", html="<p>new</p>"), entry(1)])
    assert (verdict.arrivals, len(verdict.moves), len(verdict.edits)) == ([], 1, 1)


def test_a_link_that_several_share_says_nothing_of_who_is_who() -> None:
    first = [entry(n, link="https://n.example/all") for n in range(2)]
    verdict = after(first, [entry(2, link="https://n.example/all")])
    assert (len(verdict.arrivals), verdict.moves) == (1, [])
    verdict = after(first[:1], [entry(n, link="https://n.example/all") for n in (2, 3)])
    assert (len(verdict.arrivals), verdict.moves) == (2, [])


def test_a_known_entry_without_its_content_returns_under_the_key_it_had() -> None:
    poll = identify([entry(0, guid="new"), entry(1), entry(2)])
    known = ledger_of(identify([entry(0), entry(1), entry(2)]))
    gone = [replace(known[0], content_id=None), replace(known[1], content_id=None, url_key=None), known[2]]
    verdict = judge(SOURCE, poll, gone)
    assert [(found.arrival.identified, found.arrival.url_key) for found in verdict.returns] == [
        (poll[0], "https://n.example/0")
    ]
    assert verdict.arrivals == []


def test_a_listed_entry_is_no_other_entrys_earlier_self() -> None:
    verdict = after([entry(0)], [entry(0), entry(0, guid="other", html="else")])
    assert (len(verdict.arrivals), verdict.moves) == (1, [])


@pytest.mark.parametrize(
    ("parts", "count"),
    [
        pytest.param({}, 1, id="under another guid"),
        pytest.param({"link": "https://n.example/0#more"}, 1, id="at a fragment"),
        pytest.param({"published_at": DAY}, 2, id="on another day"),
        pytest.param({"html": "else"}, 2, id="in other words"),
        pytest.param({"link": "https://n.example/1"}, 2, id="elsewhere"),
        pytest.param({"enclosures": (Enclosure("https://cdn.example/e.mp3"),)}, 2, id="with another file"),
    ],
)
def test_an_article_that_a_feed_lists_twice_is_one_entry(parts: dict[str, object], count: int) -> None:
    twice = [entry(0), replace(entry(0, guid="copy"), **parts)]  # type: ignore[arg-type]  # by name
    assert len(identify(twice)) == count
    for listed in (twice, twice[::-1]):
        assert len(after(twice[:1], listed).arrivals) == count - 1


def told(poll: list[Identified]) -> list[Known]:
    """Return a ledger with what the contents of its rows say."""
    return [
        replace(
            row,
            title=one.entry.title,
            published_at=one.entry.published_at,
            file_url=one.entry.enclosures[0].url if one.entry.enclosures else None,
        )
        for row, one in zip(ledger_of(poll), poll, strict=True)
    ]


def resettled(first: list[Entry], second: list[Entry]) -> tuple[int, int]:
    """Return how many entries of the second poll are known, and how many are new."""
    poll = identify(second)
    verdict = judge(SOURCE, poll, told(identify(first)))
    return len(verdict.seen) + len(verdict.moves), len(verdict.arrivals)


def elsewhere(one: Entry, **parts: object) -> Entry:
    """Return an entry under another guid and address."""
    values = {"guid": f"https://new.example/?p={one.guid}", "link": f"{one.link}-slug", **parts}
    return replace(one, **values)  # type: ignore[arg-type]  # by name


def dated(number: int, **parts: object) -> Entry:
    return entry(number, published_at=DAY + timedelta(hours=number), **parts)


FILE = Enclosure("https://cdn.example/e.mp3", "audio/mpeg")


@pytest.mark.parametrize(
    ("first", "second", "found"),
    [
        pytest.param(
            [entry(n) for n in range(3)], [elsewhere(entry(n)) for n in range(3)], (3, 0), id="undated, all moved"
        ),
        pytest.param(
            [dated(n) for n in range(3)], [elsewhere(dated(n)) for n in range(3)], (3, 0), id="dated, all moved"
        ),
        pytest.param([dated(1)], [elsewhere(dated(1))], (1, 0), id="dated, the only one"),
        pytest.param(
            [dated(1), dated(2)],
            [elsewhere(dated(1), html="<p>1 by our new template</p>"), dated(2)],
            (2, 0),
            id="template",
        ),
        pytest.param(
            [dated(1)],
            [replace(dated(1), guid="http://new.example/1", link="https://new.example/1")],
            (1, 0),
            id="domain",
        ),
        pytest.param(
            [dated(n) for n in range(4)],
            [*(elsewhere(dated(n)) for n in range(1, 4)), dated(9)],
            (3, 1),
            id="moved, and one is new",
        ),
        pytest.param(
            [entry(1, enclosures=(FILE,))],
            [elsewhere(entry(1, html="other", enclosures=(FILE,)))],
            (1, 0),
            id="its file",
        ),
        pytest.param(
            [entry(n, link=None) for n in range(2)], [entry(n, guid=f"x{n}") for n in range(2)], (2, 0), id="link"
        ),
        pytest.param(
            [dated(1, title="Daily links")], [elsewhere(dated(9, title="Daily links"))], (0, 1), id="Daily links, dated"
        ),
        pytest.param(
            [entry(1, title="Daily links", html="Today's.")],
            [elsewhere(entry(2, title="Daily links", html="Today's."))],
            (0, 1),
            id="Daily links, undated",
        ),
        pytest.param(
            [dated(n, title="Backup", html="done") for n in range(3)],
            [elsewhere(dated(n, title="Backup", html="done")) for n in range(5, 8)],
            (0, 3),
            id="a series in the same words",
        ),
        pytest.param(
            [entry(n, title="Backup", html="done") for n in range(3)],
            [elsewhere(entry(n, title="Backup", html="done")) for n in range(3)],
            (0, 3),
            id="a series that nobody could tell apart",
        ),
        pytest.param(
            [dated(1), dated(2)], [dated(1), dated(2), elsewhere(dated(2))], (2, 1), id="told again beside itself"
        ),
        pytest.param([dated(1)], [elsewhere(dated(1, title="Another"), html="else")], (0, 1), id="of the same moment"),
        pytest.param(
            [entry(n) for n in range(6)],
            [elsewhere(entry(0)), *(entry(n) for n in range(10, 15))],
            (0, 6),
            id="by chance",
        ),
    ],
)
def test_an_entry_under_another_guid_and_address_is_known_where_it_can_be_no_other(
    first: list[Entry], second: list[Entry], found: tuple[int, int]
) -> None:
    """Case T23: new permalinks and guids, old entries."""
    assert resettled(first, second) == found


PAGE = "https://n.example/forecast"
TEXT = f"<p>{'What an article says of itself. ' * 3}</p>"


def forecast(number: int, **parts: object) -> Entry:
    one = dated(number, link=PAGE, html=f"<p>{'rain ' * number}</p>")
    return replace(one, **parts)  # type: ignore[arg-type]  # by name


@pytest.mark.parametrize(
    ("parts", "found"),
    [
        pytest.param({}, (0, 1), id="all differs"),
        pytest.param({"title": "Entry 1"}, (1, 0), id="the title stays"),
        pytest.param({"html": "<p>rain </p>"}, (1, 0), id="the text stays"),
        pytest.param({"published_at": DAY + timedelta(hours=1)}, (1, 0), id="the date stays"),
        pytest.param({"guid": "g1"}, (1, 0), id="the guid stays"),
        pytest.param({"published_at": None}, (1, 0), id="undated"),
        pytest.param({"guid": None}, (0, 1), id="without a guid"),
    ],
)
def test_the_only_entry_of_a_page_is_another_one_where_all_else_differs(
    parts: dict[str, object], found: tuple[int, int]
) -> None:
    """Case F27: an entry is known by its link and content."""
    assert resettled([forecast(1)], [forecast(2, **parts)]) == found


def test_another_entry_of_the_same_page_has_a_content_of_its_own() -> None:
    verdict = judge(SOURCE, identify([forecast(2)]), told(identify([forecast(1)])))
    assert [arrival.url_key.partition("=")[0] for arrival in verdict.arrivals] == [f"{PAGE}#entry"]
    assert (verdict.moves, verdict.edits) == ([], [])


@pytest.mark.parametrize(
    ("parts", "found"),
    [
        pytest.param({}, (0, 1), id="all differs"),
        pytest.param({"title": "Entry 1"}, (1, 0), id="the title stays"),
        pytest.param({"html": "<p>1</p>"}, (1, 0), id="the text stays"),
        pytest.param({"html": "<p>2 comments</p>"}, (0, 1), id="another text"),
        pytest.param({"published_at": DAY + timedelta(hours=1)}, (1, 0), id="the date stays"),
        pytest.param({"link": "https://n.example/1"}, (1, 0), id="the link stays"),
        pytest.param({"link": None}, (1, 0), id="no link"),
        pytest.param({"published_at": None}, (0, 1), id="undated"),
        pytest.param({"html": ""}, (0, 1), id="no text any more"),
    ],
)
def test_a_guid_under_which_all_else_differs_is_a_place_in_the_feed(
    parts: dict[str, object], found: tuple[int, int]
) -> None:
    second = replace(dated(2, guid="1", html="<p>words</p>"), **parts)  # type: ignore[arg-type]  # by name
    assert resettled([dated(1, guid="1", html="<p>1</p>")], [second]) == found


@pytest.mark.parametrize(
    ("parts", "found"),
    [
        pytest.param({}, (0, 1), id="all differs"),
        pytest.param({"title": "Entry 1"}, (0, 1), id="the title of a series"),
        pytest.param({"title": "Entry 1", "published_at": None}, (1, 0), id="the title stays, undated"),
        pytest.param({"title": "Entry 1", "published_at": TIME}, (1, 0), id="title and date stay"),
        pytest.param({"html": TEXT}, (1, 0), id="the text stays"),
        pytest.param({"title": "Entry 1", "html": TEXT}, (1, 0), id="title and text stay"),
        pytest.param({"html": "<p>2 comments</p>"}, (0, 1), id="another text"),
        pytest.param({"published_at": TIME}, (1, 0), id="the date stays"),
        pytest.param({"link": "https://n.example/1"}, (1, 0), id="the link stays"),
        pytest.param({"link": None}, (1, 0), id="no link"),
        pytest.param({"published_at": None}, (0, 1), id="undated"),
        pytest.param({"html": ""}, (0, 1), id="no text any more"),
    ],
)
def test_under_a_guid_that_names_a_place_less_must_differ(parts: dict[str, object], found: tuple[int, int]) -> None:
    second = replace(dated(2, guid="slot-1", html="<p>words</p>"), **parts)  # type: ignore[arg-type]  # by name
    assert resettled([entry(1, guid="slot-1", html=TEXT, published_at=TIME)], [second]) == found


@pytest.mark.parametrize("guid", ["top", "urn:slot:007", "https://n.example/?slot=1", "/index.php?pos=2"])
@pytest.mark.parametrize(
    "same",
    [
        pytest.param({"html": "<a href='/more'>Continue reading</a>"}, id="a short text"),
        pytest.param({"html": "続きを読む"}, id="a short text in Japanese"),
        pytest.param({"html": "Читайте полную версию статьи на нашем сайте"}, id="a short text in Russian"),
        pytest.param({"published_at": DAY}, id="a day"),
        pytest.param({"published_at": DAY - HOUR}, id="a day of another zone"),
        pytest.param({"published_at": DAY, "html": "Read more…"}, id="both"),
        pytest.param({"title": "Picture of the day"}, id="the title"),
        pytest.param({"title": "Picture of the day", "html": "<img src='a.png'>"}, id="the title, and no text"),
    ],
)
def test_what_every_article_of_a_feed_has_does_not_make_two_of_them_one(guid: str, same: dict[str, object]) -> None:
    first, second = (entry(n, guid=guid, html=TEXT * n, published_at=TIME + n * HOUR) for n in (1, 2))
    pair = replace(first, **same), replace(second, **same)  # type: ignore[arg-type]  # by name
    assert resettled([pair[0]], [pair[1]]) == (0, 1)


@pytest.mark.parametrize(
    "guid",
    [
        "tag:n.example,2024:a",
        "https://n.example/?p=7",
        "news-471",
        "4711 at https://n.example",
        "yt:video:dQw4w9WgXcQ",
        "01ARZ3NDEKTSV4RRFFQ69G5FAV",
        "https://www.n.example/1/#0",
        "https://n.example/archives/12345/",
        "breaking",
        "7",
        "item-0",
        "https://n.example/news/7",
    ],
)
@pytest.mark.parametrize(
    "same",
    [{"html": "Read more…"}, {"published_at": DAY}, {"title": "Picture of the day"}, {"html": TEXT}],
)
def test_a_guid_that_is_no_place_is_believed_where_anything_stays(guid: str, same: dict[str, object]) -> None:
    first, second = (entry(n, guid=guid, html=TEXT * n, published_at=TIME + n * HOUR) for n in (1, 2))
    pair = replace(first, **same), replace(second, **same)  # type: ignore[arg-type]  # by name
    assert resettled([pair[0]], [pair[1]]) == (1, 0)


PLACES = [
    "top",
    "latest",
    "urn:place:1",
    "http://n.example:54321/top",
    "https://n.example/Top/",
    "https://n.example/index.php?slot=3",
]
WORDS = [
    "item-0",
    "item-001",
    "7",
    "2024",
    "breaking",
    "https://n.example/",
    "https://n.example:54321/",
    "https://n.example/481/a-1",
    "http://[",
]
NAMES = [
    "https://n.example/?p=7",
    "http://n.example/0",  # its first address
    "http://www.n.example/0/#1",
    "tag:n.example,2024:a",
    "12345",
    "urn:uuid:0f8fad5b-d9cb-469f-a165-70867728950e",
    "https://n.example/post-5f2b8c1d9e3a",
    "https://n.example/post-5f2b8c1d9e3a/",
]


@given(
    guid=st.sampled_from([*PLACES, *WORDS, *NAMES]),
    changed=st.sets(st.sampled_from(["link", "title", "html"])),
    dates=st.sampled_from([(None, None), (None, TIME), (TIME, None), (TIME, TIME), (TIME, TIME + HOUR), (DAY, DAY)]),
    words=st.booleans(),
)
def test_an_entry_under_a_known_guid_is_another_only_where_nothing_else_stays(
    guid: str, changed: set[str], dates: tuple[datetime | None, datetime | None], words: bool
) -> None:
    """No text says nothing. Without two dates a guid that belongs to one entry counts as what stays. Under a place a
    mere day says nothing, and the title may be that of a series.
    """
    html = TEXT if words else ""
    others = {"link": "https://n.example/other", "title": "Other", "html": TEXT * 2 if words else ""}
    first = entry(0, guid=guid, html=html, published_at=dates[0])
    second = replace(first, published_at=dates[1], **{part: others[part] for part in changed})  # type: ignore[arg-type]  # by name
    ledger = Ledger()
    ledger.poll([first])
    verdict = ledger.poll([second])
    weighed = {"link", "title", "html"} if words else {"link", "title"}
    stays = guid in NAMES if None in dates else dates[0] == dates[1] and not (guid in PLACES and dates[0] == DAY)
    series = guid in PLACES and weighed - {"title"} <= changed and dates == (TIME, TIME + HOUR)
    if (weighed <= changed and not stays) or series:
        assert len(verdict.arrivals) == 1
        assert sorted(ledger.shown().values()) == sorted([("Entry 0", first.link), (second.title, second.link)])
    else:
        assert verdict.arrivals == []
        assert list(ledger.shown().values()) == [(second.title, second.link)]
    again = ledger.poll([second])
    assert (again.arrivals, again.edits) == ([], [])


@given(
    guids=st.lists(st.sampled_from([*PLACES, *WORDS]), min_size=1, max_size=4, unique=True),
    polls=st.lists(st.sets(st.integers(0, 3), min_size=1), min_size=1, max_size=5),
    dated=st.booleans(),
    words=st.booleans(),
)
def test_each_story_at_a_named_place_is_one_entry_with_its_own_values(
    guids: list[str], polls: list[set[int]], dated: bool, words: bool
) -> None:
    """GIVEN a feed of places, at some of which each poll has another story."""

    def story(number: int, guid: str) -> Entry:
        html = f"<p>{'word ' * number}</p>" if words else ""
        return entry(number, guid=guid, html=html, published_at=DAY + number * HOUR if dated else None)

    ledger = Ledger()
    listed = [story(number, guid) for number, guid in enumerate(guids)]
    ledger.poll(listed)
    told = len(listed)
    for places in polls:
        fresh = [place for place in sorted(places) if place < len(guids)]
        for place in fresh:
            listed[place] = story(told, guids[place])
            told += 1
        assert len(ledger.poll(listed).arrivals) == len(fresh)
        again = ledger.poll(listed)
        assert (again.arrivals, again.edits) == ([], [])
    assert sorted(ledger.shown().values()) == sorted((f"Entry {n}", f"https://n.example/{n}") for n in range(told))


@pytest.mark.parametrize("guids", [(None, None, None), ("top", "top", "a")])
def test_who_leaves_an_address_to_another_in_one_poll_takes_its_marks_along(
    guids: tuple[str | None, ...],
) -> None:
    """GIVEN a page of the newest, which moves to an address of its own when the next comes."""
    newest = "https://n.example/latest"
    then, now, moved = guids
    first = entry(0, guid=then, link=newest, html=TEXT, published_at=TIME)
    second = entry(1, guid=now, link=newest, html=TEXT * 2, published_at=TIME + HOUR)
    ledger = Ledger()
    ledger.poll([first])
    [(content_id, _)] = ledger.shown().items()
    listed = [second, replace(first, guid=moved, link="https://n.example/0")]
    verdict = ledger.poll(listed)
    assert [arrival.identified.entry.title for arrival in verdict.arrivals] == ["Entry 1"]
    assert verdict.edits == []
    assert ledger.shown()[content_id] == ("Entry 0", "https://n.example/0")
    again = ledger.poll(listed)
    assert (again.arrivals, again.edits) == ([], [])
    assert sorted(ledger.shown().values()) == [("Entry 0", "https://n.example/0"), ("Entry 1", newest)]


@pytest.mark.parametrize(
    ("first", "edited", "new"),
    [
        pytest.param(
            entry(0, title="Sofa", html=TEXT, published_at=TIME),
            entry(0, title="SOLD: Sofa", html=TEXT, published_at=TIME),
            entry(1, title="Sofa", html=TEXT, published_at=TIME + HOUR),
            id="the next has its title and text",
        ),
        pytest.param(
            entry(0, title="Open thread", html=f"{TEXT} 0 comments"),
            entry(0, title="Open thread", html=f"{TEXT} 7 comments"),
            entry(1, title="Open thread", html=f"{TEXT} 0 comments"),
            id="a series that counts",
        ),
        pytest.param(
            entry(0, guid=None, title="It is down", html="Soon more.", published_at=TIME),
            entry(0, guid=None, title="It was down", html="All well.", published_at=TIME),
            entry(1, guid=None, title="It is down", html="Soon more.", published_at=TIME + HOUR),
            id="without guids",
        ),
        pytest.param(
            entry(0, link="https://n.example/", title="Backup done", html=TEXT),
            entry(0, link="https://n.example/", title="Backup kept", html=TEXT),
            entry(1, title="Backup done", html=TEXT),
            id="at the home page",
        ),
        pytest.param(
            entry(0, guid=None, title="Slow pages", html=TEXT),
            entry(0, guid=None, title="Solved: slow pages", html=TEXT * 2),
            entry(1, guid=None, title="Slow pages", html=TEXT),
            id="without dates",
        ),
        pytest.param(
            entry(0, guid="/i/0#1", title="Slow pages", html=TEXT, published_at=DAY),
            entry(0, guid="/i/0#2", title="Slow pages", html=TEXT * 2, published_at=DAY),
            entry(1, guid="/i/1#1", title="Slow pages", html=TEXT, published_at=DAY),
            id="with days and guids that change",
        ),
    ],
)
def test_an_entry_that_is_edited_where_it_stands_has_left_nothing_to_the_next(
    first: Entry, edited: Entry, new: Entry
) -> None:
    ledger = Ledger()
    ledger.poll([first])
    [(content_id, _)] = ledger.shown().items()
    verdict = ledger.poll([new, edited])
    assert [arrival.identified.entry for arrival in verdict.arrivals] == [new]
    assert ledger.shown()[content_id] == (edited.title, first.link)
    again = ledger.poll([new, edited])
    assert (again.arrivals, again.edits) == ([], [])


def test_pictures_of_one_title_that_move_down_the_places_of_a_feed_stay_known() -> None:
    def listed(newest: int) -> list[Entry]:
        return [
            entry(n, guid=f"item-{place}", title="Comic", html=f"<img src='{n}.png'>", published_at=TIME + n * HOUR)
            for place, n in enumerate(range(newest, newest - 3, -1))
        ]

    ledger = Ledger()
    ledger.poll(listed(3))
    for newest in (4, 5):
        assert [one.url_key for one in ledger.poll(listed(newest)).arrivals] == [f"https://n.example/{newest}"]
    assert sorted(link or "" for _, link in ledger.shown().values()) == [f"https://n.example/{n}" for n in range(1, 6)]


@pytest.mark.parametrize("link", [None, "https://n.example/all"])
def test_an_entry_under_a_guid_that_another_has_given_up_has_a_content_of_its_own(link: str | None) -> None:
    first = entry(0, guid="top", link=link)
    second = entry(1, guid="top", link=link)
    keys = [
        judge(SOURCE, identify([one, entry(9, guid="other", link=link)]), []).arrivals[0].url_key
        for one in (first, second)
    ]
    assert len(set(keys)) == 2


@pytest.mark.parametrize("guid", ["-" * 10_000 + "x", "top" * 10_000, "/-" * 10_000, "top " * 10_000 + "!"])
def test_a_long_guid_is_read_at_once(guid: str) -> None:
    """An expression that tries every way to part it would not end."""
    assert resettled([dated(1, guid=guid, html=TEXT)], [dated(2, guid=guid, html=TEXT * 2)]) == (0, 1)


def test_the_next_at_a_place_whose_entry_was_deleted_is_new() -> None:
    [row] = ledger_of(identify([entry(0, guid="top")]))
    deleted = replace(row, content_id=None)
    verdict = judge(SOURCE, identify([entry(1, guid="top")]), [deleted])
    assert [arrival.url_key for arrival in verdict.arrivals] == ["https://n.example/1"]
    assert (verdict.returns, verdict.edits) == ([], [])
    same = judge(SOURCE, identify([entry(0, guid="top")]), [deleted])
    assert (same.arrivals, len(same.returns)) == ([], 1)


def test_entries_that_move_up_through_the_places_of_a_feed_stay_known() -> None:
    def listed(newest: int) -> list[Entry]:
        return [dated(newest - place, guid=str(place), html=f"<p>{'a' * (newest - place)}</p>") for place in range(3)]

    ledger: list[Known] = []
    for newest in range(3, 9):
        poll = identify(listed(newest))
        verdict = judge(SOURCE, poll, ledger)
        known = {row.entry_key: row for row in ledger}
        for arrival in verdict.arrivals:
            [row] = told([arrival.identified])
            assert row.entry_key not in known
            known[row.entry_key] = row
        old = {move.old_key: known.pop(move.old_key) for move in verdict.moves}
        for move in verdict.moves:
            [row] = told([move.identified])
            assert (row.entry_key not in known, row.link) == (True, old[move.old_key].link)
            known[row.entry_key] = row
        titles = [arrival.identified.entry.title for arrival in verdict.arrivals]
        assert titles == ([f"Entry {newest}"] if ledger else ["Entry 3", "Entry 2", "Entry 1"])
        assert verdict.edits == []
        ledger = list(known.values())


class Ledger:
    """A feed's ledger over several polls, as the database keeps it."""

    def __init__(self) -> None:
        self.rows: dict[str, tuple[Known, Entry]] = {}
        self.by_words = False

    def poll(self, listed: list[Entry]) -> PollChanges:
        known = [row for row, _ in self.rows.values()]
        poll = identify(listed)
        self.by_words = self.by_words or guids_are_places(poll, known)
        verdict = judge(SOURCE, without_guids(poll) if self.by_words else poll, known)
        moved = {move.old_key: self.rows.pop(move.old_key) for move in verdict.moves}
        for move in verdict.moves:
            row, _ = moved[move.old_key]
            self._keep(move.identified, row.content_id)
        for one in verdict.seen:
            self._keep(one, self.rows[one.key][0].content_id)
        for arrival in verdict.arrivals:
            assert arrival.identified.key not in self.rows
            self._keep(arrival.identified, uuid4())
        return verdict

    def _keep(self, one: Identified, content_id: UUID | None) -> None:
        [row] = told([one])
        self.rows[one.key] = replace(row, content_id=content_id, guid=one.entry.guid), one.entry

    def shown(self) -> dict[UUID | None, tuple[str, str | None]]:
        return {row.content_id: (entry.title, entry.link) for row, entry in self.rows.values()}


@given(
    count=st.integers(2, 7),
    shifts=st.lists(st.integers(1, 7), min_size=1, max_size=4),
    form=st.sampled_from(["0", "1", "https://n.example/0", "urn:place:"]),
    links=st.sampled_from(["own", "shared", "home", "none"]),
    dated=st.booleans(),
    words=st.booleans(),
    grows=st.booleans(),
)
def test_where_guids_are_places_each_story_is_one_entry_with_its_own_values(
    count: int, shifts: list[int], form: str, links: str, dated: bool, words: bool, grows: bool
) -> None:
    """GIVEN stories of distinct titles, the newest first, each under the number of its place in the feed."""

    counts = form[-1].isdecimal()

    def listed(newest: int, oldest: int) -> list[Entry]:
        return [
            entry(
                story,
                guid=f"{form[:-1]}{place + int(form[-1])}" if counts else f"{form}{place}",
                link={"own": f"https://n.example/p/{story}", "shared": PAGE, "home": "https://n.example/"}.get(links),
                html=f"<p>{'word ' * story}</p>" if words else "",
                published_at=DAY + story * HOUR if dated else None,
            )
            for place, story in enumerate(range(newest, oldest, -1))
        ]

    ledger = Ledger()
    newest = count
    assert len(ledger.poll(listed(newest, 0)).arrivals) == count
    # A place with a name is seen to be one by what has moved; where nothing is left, a name is a name.
    longest = count if counts else count - 1
    for shift in (min(shift, longest) for shift in shifts):
        newest += shift
        poll = listed(newest, 0 if grows else newest - count)
        before = ledger.shown()
        verdict = ledger.poll(poll)
        titles = [arrival.identified.entry.title for arrival in verdict.arrivals]
        assert (titles, verdict.edits) == ([one.title for one in poll[:shift]], [])
        assert before.items() <= ledger.shown().items()
        again = ledger.poll(poll)
        assert (again.arrivals, again.edits, again.moves) == ([], [], [])
    assert sorted(title for title, _ in ledger.shown().values()) == sorted(f"Entry {n}" for n in range(1, newest + 1))


@pytest.mark.parametrize("form", ["{}", "urn:place:{}", "https://n.example/#{}"])
@pytest.mark.parametrize("link", ["https://n.example/{}", PAGE, None])
@pytest.mark.parametrize(
    "corrected",
    [
        pytest.param({"title": "Entry, corrected"}, id="title"),
        pytest.param({"html": "<p>corrected words</p>"}, id="text"),
        pytest.param({"published_at": DAY + 9 * HOUR}, id="date"),
    ],
)
def test_a_correction_where_guids_stay_is_an_edit(form: str, link: str | None, corrected: dict[str, object]) -> None:
    first = [
        entry(n, guid=form.format(n), link=link and link.format(n), html=f"<p>{'word ' * (n + 1)}</p>")
        for n in range(4)
    ]
    ledger = Ledger()
    ledger.poll(first)
    verdict = ledger.poll([*first[:2], replace(first[2], **corrected), first[3]])  # type: ignore[arg-type]  # by name
    assert verdict.arrivals == []
    assert len(ledger.shown()) == 4


@pytest.mark.parametrize("link", ["https://n.example/{}", PAGE, None])
def test_another_story_at_the_last_of_the_places_is_another_entry(link: str | None) -> None:
    """GIVEN a list of what is read most, of which the last place changes."""
    first, other = [
        [
            entry(n, guid=str(place), link=link and link.format(n), html=f"<p>{'word ' * n}</p>")
            for place, n in enumerate(stories)
        ]
        for stories in ([1, 2, 3], [1, 2, 4])
    ]
    ledger = Ledger()
    ledger.poll(first)
    assert [arrival.identified.entry.title for arrival in ledger.poll(other).arrivals] == ["Entry 4"]
    assert sorted(title for title, _ in ledger.shown().values()) == [f"Entry {n}" for n in range(1, 5)]


def test_only_rows_that_may_be_another_entry_are_doubtful() -> None:
    first = [dated(1), dated(2), dated(3), forecast(4)]
    poll = [dated(1), dated(2, title="New"), dated(3, link="https://n.example/x", title="New"), forecast(5), dated(6)]
    keys = [one.key for one in identify(first)]
    undated = [replace(one, published_at=None) for one in poll]
    assert doubtful(identify(undated), ledger_of(identify(first))) == keys[2:3]
    assert doubtful(identify(poll), ledger_of(identify(first))) == sorted(keys[2:])


def test_new_entries_that_share_a_link_have_contents_of_their_own() -> None:
    first = [entry(0, link="https://n.example/")]
    verdict = after(first, [entry(n, link="https://n.example/") for n in range(3)])
    keys = {arrival.url_key for arrival in verdict.arrivals}
    assert len(keys) == 2
    assert all(key.startswith("https://n.example/#entry=") for key in keys)
    assert all(arrival.shares_page for arrival in verdict.arrivals)
    fresh = judge(SOURCE, identify([entry(n, link="https://n.example/") for n in range(3)]), []).arrivals
    assert len({arrival.url_key for arrival in fresh}) == 3
    assert all(arrival.url_key.startswith("https://n.example/#entry=") and arrival.shares_page for arrival in fresh)


def test_an_entry_without_words_is_about_the_page_that_it_shares() -> None:
    bare = [entry(n, link="https://n.example/all", title="", html="", published_at=DAY + n * HOUR) for n in range(2)]
    first, second = judge(SOURCE, identify(bare), []).arrivals
    assert (first.url_key, first.shares_page, second.shares_page) == ("https://n.example/all", False, False)


def test_an_entry_without_a_link_has_a_key_of_its_source() -> None:
    keys = {judge(source, identify([entry(0, link=None)]), []).arrivals[0].url_key for source in (SOURCE, UUID(int=2))}
    assert len(keys) == 2


def test_numbers_links_and_markup_are_no_edit_but_words_are() -> None:
    before = content_sha256(entry(0, html="<p>12 comments, 3 hours ago</p>"))
    assert content_sha256(entry(0, html="<div><a href='/x'>480 comments,</a> 4 hours ago</div>")) == before
    assert content_sha256(entry(0, html="<p>12 remarks, 3 hours ago</p>")) != before
    assert content_sha256(entry(0, html="<p>12 comments, 3 hours ago</p>", title="Entry 1")) != before


texts = st.sampled_from([None, "a", "b"])
entries = st.builds(
    Entry,
    guid=texts,
    link=st.sampled_from([None, "https://n.example/a", "https://n.example/b"]),
    title=st.sampled_from(["", "a", "b"]),
    published_at=st.sampled_from([None, DAY, DAY + timedelta(days=1)]),
    html=st.sampled_from(["x", "y"]),
)


@given(st.lists(entries, max_size=8), st.randoms())
def test_a_poll_of_the_same_entries_never_brings_anything(listed: list[Entry], rng: object) -> None:
    verdict = after(listed, listed)
    assert (verdict.arrivals, verdict.edits, verdict.moves) == ([], [], [])
    keys = [arrival.url_key for arrival in judge(SOURCE, identify(listed), []).arrivals]
    assert len(keys) == len(set(keys))


@pytest.mark.parametrize(("rule", "titles"), [("all", "abcd"), ("skip", ""), ("newest:1", "c"), ("newest:3", "bca")])
def test_an_import_rule_chooses_the_newest(rule: str, titles: str) -> None:
    dates = {"a": None, "b": DAY, "c": DAY + timedelta(days=1), "d": None}
    poll = identify([entry(0, guid=title, link=None, title=title, published_at=date) for title, date in dates.items()])
    arrivals = judge(SOURCE, poll, []).arrivals
    picked = chosen(arrivals, rule)
    assert {arrival.identified.entry.title for arrival in arrivals if arrival.url_key in picked} == set(titles)


@pytest.mark.parametrize(
    ("age", "expected"),
    [
        (timedelta(hours=-500), Priority.UNDER_24_HOURS), (timedelta(0), Priority.UNDER_24_HOURS),
        (timedelta(hours=23), Priority.UNDER_24_HOURS), (timedelta(hours=24), Priority.UNDER_72_HOURS),
        (timedelta(hours=71), Priority.UNDER_72_HOURS), (timedelta(hours=72), Priority.OLDER),
        (None, Priority.UNDER_24_HOURS),
    ],
)  # fmt: skip
def test_priority_falls_with_age(age: timedelta | None, expected: int) -> None:
    assert priority(None if age is None else DAY - age, DAY) == expected
