"""Which stories an edition tells: one place a story, the best first, nothing twice unless it changed materially."""

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st

from siftline.brief.edition_model import EditionCandidate, Told
from siftline.brief.selection import changed_materially, choose, weight

NOW = datetime(2026, 11, 28, 6, tzinfo=UTC)


def one(number: int, *, story: int | None = None, site: str | None = None, **more: Any) -> EditionCandidate:
    content = UUID(int=number)
    values: dict[str, Any] = {
        "content_id": content,
        "original_id": content,
        "item_id": UUID(int=number + 10_000),
        "story_key": UUID(int=story) if story is not None else content,
        "title": f"Title {number}",
        "url": f"https://news.example/{number}",
        "site": site or f"site {number}",
        "source_id": None,
        "lang": "en",
        "summary": None,
        "topics": (),
        "published_at": NOW,
        "sort_at": NOW - timedelta(minutes=number),
        "score": 0.5,
        "reasons": (),
        "likeness": None,
        "about": None,
        **more,
    }
    return EditionCandidate(**values)


def told(story: int, *numbers: int) -> dict[UUID, Told]:
    contents = frozenset(UUID(int=number) for number in numbers)
    return {UUID(int=story): Told(UUID(int=story), contents, frozenset(f"site {number}" for number in numbers))}


def test_six_paraphrases_of_one_event_take_one_slot_and_six_others_theirs():
    """Case C05."""
    strait = [one(number, story=900, score=0.4 + number / 100) for number in range(1, 7)]
    others = [one(number, score=0.45) for number in range(11, 17)]
    choice = choose([*others, *strait], {}, places=10)
    assert len(choice.slots) == 7
    [story] = [slot for slot in choice.slots if slot.story_key == UUID(int=900)]
    assert story.lead.content_id == UUID(int=6)
    assert len(story.others) == 5


def test_what_many_sources_have_comes_before_what_one_has():
    many = [one(number, story=900) for number in range(1, 6)]
    alone = one(20)
    assert [slot.story_key for slot in choose([alone, *many], {}, places=2).slots] == [UUID(int=900), UUID(int=20)]


def test_one_source_five_times_is_one_source():
    same = choose([one(number, story=900, site="A") for number in range(1, 6)], {}, places=1).slots[0]
    assert weight(same) == 0.5


def test_a_story_told_before_comes_again_only_if_it_changed_materially():
    """Case D13."""
    before = told(900, 1, 2, 3, 4)
    more_of_the_same = choose([one(5, story=900)], before, places=10)
    assert (more_of_the_same.slots, more_of_the_same.told_before) == ([], 1)
    grown = choose([one(5, story=900), one(6, story=900)], before, places=10)
    assert [slot.update for slot in grown.slots] == [True]
    assert grown.slots[0].lead.content_id == UUID(int=5)


def test_a_story_is_as_large_as_what_came_in_of_it_though_not_all_is_loaded():
    before = told(900, *range(1, 11))
    few, many = ([one(20, story=900, story_size=size), one(21, story=900, story_size=size)] for size in (4, 5))
    left = choose(few, before, places=10)
    assert (left.slots, left.items_told_before) == ([], 4)
    assert [slot.size for slot in choose(many, before, places=10).slots] == [5]


def test_more_from_the_sources_that_were_cited_is_no_material_change():
    before = told(900, 1, 2)[UUID(int=900)]
    assert not changed_materially([one(5, site="site 1"), one(6, site="site 2")], before)
    assert changed_materially([one(5, site="site 1"), one(6, site="another")], before)


def test_a_large_story_needs_half_as_much_again():
    before = told(900, *range(1, 11))[UUID(int=900)]
    assert not changed_materially([one(number) for number in range(20, 24)], before)
    assert changed_materially([one(number) for number in range(20, 25)], before)


@given(st.lists(st.tuples(st.integers(1, 60), st.integers(900, 910), st.floats(0, 1)), max_size=40), st.randoms())
def test_the_order_in_which_contents_come_changes_nothing_and_none_is_told_twice(rows, random):
    candidates = [one(n, story=story, score=score) for n, story, score in {row[0]: row for row in rows}.values()]
    shuffled = list(candidates)
    random.shuffle(shuffled)
    choice = choose(candidates, {}, places=5)
    assert choose(shuffled, {}, places=5) == choice
    contents = [member.content_id for slot in choice.slots for member in (slot.lead, *slot.others)]
    assert len(contents) == len(set(contents))
    weights = [weight(slot) for slot in choice.slots]
    assert weights == sorted(weights, reverse=True)
    assert len(choice.slots) == min(5, len({one.story_key for one in candidates}))
