"""The order of the feed: stories share a place, nothing is lost, sources are spread, and the future is no fresher."""

from hypothesis import given
from hypothesis import strategies as st

from siftline.api.feed.feed_order import DAY_S, FeedCandidate, Key, OrderRule, Place, factor_of, order

AT_S = 1_795_780_800.0
RULE = OrderRule(AT_S, freshness_weight=0.15, half_life_s=259_200.0, repeat=0.9)


def key(number: int) -> Key:
    return number.to_bytes(16)


def candidate(
    number: int,
    relevance: float | None = 0.5,
    *,
    original: int | None = None,
    story: int | None = None,
    source: int | None = None,
    age_s: float = 0.0,
) -> FeedCandidate:
    return FeedCandidate(
        item_id=key(number),
        original_id=key(1_000 + (number if original is None else original)),
        story_id=None if story is None else key(5_000 + story),
        source_id=None if source is None else key(9_000 + source),
        relevance=relevance,
        dated_s=AT_S - age_s,
    )


def ids(places: list[Place]) -> list[list[int]]:
    return [[int.from_bytes(item_id) for item_id in place.item_ids] for place in places]


candidates = st.lists(
    st.builds(
        candidate,
        st.integers(1, 400),
        st.none() | st.floats(0, 1),
        original=st.none() | st.integers(1, 30),
        story=st.none() | st.integers(1, 8),
        source=st.none() | st.integers(1, 5),
        age_s=st.floats(-1e6, 1e7),
    ),
    max_size=60,
    unique_by=lambda one: one.item_id,
)


@given(candidates, st.randoms())
def test_every_candidate_has_one_place_whatever_the_sequence_they_come_in(found, randomly):
    places = order(found, RULE, {})
    shuffled = list(found)
    randomly.shuffle(shuffled)

    assert sorted(item_id for place in places for item_id in place.item_ids) == sorted(one.item_id for one in found)
    assert order(shuffled, RULE, {}) == places
    assert [place.rank for place in places] == sorted((place.rank for place in places), reverse=True)
    assert all(0 <= place.rank <= 1 for place in places)


@given(candidates)
def test_what_tells_one_story_or_holds_one_text_shares_a_place(found):
    place_of = {item_id: place for place in order(found, RULE, {}) for item_id in place.item_ids}
    for one in found:
        for other in found:
            if one.original_id == other.original_id:
                assert place_of[one.item_id] == place_of[other.item_id]


def test_six_wordings_of_one_event_take_one_slot_of_seven():
    """Case C05: six paraphrased headlines and six other stories."""
    found = [candidate(number, 0.9 - number / 100, story=1, source=number) for number in range(1, 7)]
    found += [candidate(number, 0.5 - number / 100, source=number) for number in range(7, 13)]

    assert ids(order(found, RULE, {})) == [[1, 2, 3, 4, 5, 6], [7], [8], [9], [10], [11], [12]]


def test_a_repeat_of_a_text_follows_it_into_its_story():
    found = [candidate(1, original=1), candidate(2, 0.9, original=1, story=1), candidate(3, 0.4, story=1)]

    assert ids(order(found, RULE, {})) == [[2, 1, 3]]


def test_a_date_in_the_future_is_no_fresher_than_now():
    """Rows C and D: what claims tomorrow's date does not stick to the top."""
    future, now, better = candidate(1, age_s=-30 * DAY_S), candidate(2, age_s=0.0), candidate(3, 0.51, age_s=0.0)
    places = order([future, now, better], RULE, {})

    assert places[0].item_ids == (key(3),)
    assert places[1].rank == places[2].rank


def test_each_further_story_of_a_source_and_day_counts_less_and_never_less_than_half():
    found = [candidate(number, 0.8 - number / 1_000, source=1) for number in range(1, 21)]
    found += [candidate(100, 0.75, source=2), candidate(200, 0.3, source=1, age_s=3 * DAY_S)]
    places = order(found, RULE, {})
    place_of = {int.from_bytes(place.item_ids[0]): place for place in places}

    assert [place_of[number].nth for number in (1, 2, 3, 100, 200)] == [1, 2, 3, 1, 1]
    assert ids(places)[:3] == [[1], [100], [2]]
    value = RULE.value(0.8 - 20 / 1_000, AT_S)
    assert place_of[20].rank == value * 0.5 == value * factor_of(20, 0.9)


def test_what_was_saved_by_hand_counts_in_full_however_much_of_it_there_is():
    places = order([candidate(number, source=None) for number in range(1, 9)], RULE, {})

    assert {place.nth for place in places} == {1}
    assert len({place.rank for place in places}) == 1


def test_what_has_no_score_yet_stands_where_the_topics_of_its_source_stand():
    found = [candidate(1, 0.6, source=1), candidate(2, None, source=2), candidate(3, 0.3), candidate(4, None, source=3)]
    places = order(found, RULE, {key(9_002): 0.5})

    assert ids(places) == [[1], [2], [3], [4]]
