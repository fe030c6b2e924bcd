"""Relevance as a pure function: bounded, never falling when a signal rises, and the sum of its parts."""

import math
import uuid
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from siftline.rank.interest_profile import (
    USUAL,
    Habit,
    Liked,
    Ordinary,
    Profile,
    from_kept,
    interest_likeness,
    interests_of,
    lift,
    likeness,
    make_profile,
    nearest,
    ordinary,
    to_details,
    to_vectors,
    unit,
)
from siftline.rank.judge import UNKNOWN, HeldItem, Judge, Signals, SourceTopics, Weights, score
from tests.scoring import DIMENSIONS, AxisDirections, vector

SIGNAL = st.one_of(st.none(), st.floats(allow_nan=True, allow_infinity=True))
SIGNALS = st.builds(Signals, SIGNAL, SIGNAL, SIGNAL, SIGNAL)
WEIGHT = st.floats(min_value=-1, max_value=1e6)
WEIGHTS = st.builds(Weights, WEIGHT, WEIGHT, WEIGHT, WEIGHT)
CODES = ("interest", "history", "topics", "source")


@given(SIGNALS, WEIGHTS)
def test_a_score_is_bounded_and_the_sum_of_its_parts(signals: Signals, weights: Weights) -> None:
    scored = score(signals, weights)

    assert 0 <= scored.score <= 1
    assert [part.code for part in scored.parts] == list(CODES)
    assert scored.score == pytest.approx(min(sum(part.weight * part.value for part in scored.parts), 1), abs=1e-12)
    assert sum(part.weight for part in scored.parts) == pytest.approx(1, abs=3e-4)
    assert all(0 <= part.value <= 1 and part.weight >= 0 for part in scored.parts)


@given(
    st.fixed_dictionaries({code: st.one_of(st.none(), st.floats(0, 1)) for code in CODES}),
    st.sampled_from(CODES),
    st.floats(0, 1),
    st.floats(0, 1),
    WEIGHTS,
)
def test_a_score_never_falls_when_a_signal_rises(
    signals: Mapping[str, float | None], code: str, one: float, other: float, weights: Weights
) -> None:
    low = score(Signals(**{**signals, code: min(one, other)}), weights)
    high = score(Signals(**{**signals, code: max(one, other)}), weights)

    assert high.score >= low.score


@pytest.mark.parametrize("nothing", [None, math.nan], ids=["none", "nan"])
def test_what_is_not_known_is_taken_for_ordinary_and_said_to_be_unknown(nothing: float | None) -> None:
    scored = score(Signals(nothing, nothing, nothing, nothing), Weights())

    assert {part.code: part.value for part in scored.parts} == {
        "interest": UNKNOWN,
        "history": UNKNOWN,
        "topics": UNKNOWN,
        "source": USUAL,
    }
    assert not any(part.known for part in scored.parts)


def test_topics_stand_in_for_the_likeness_of_what_was_not_read() -> None:
    values = {part.code: part.value for part in score(Signals(topics=0.9), Weights()).parts}

    assert values["interest"] == values["history"] == values["topics"] == 0.9


def test_who_told_nothing_is_judged_by_the_rest_alone() -> None:
    assert Weights().for_user(interests=False, trust=0.0, topics=False).shares() == {
        "interest": 0,
        "history": 0,
        "topics": 0,
        "source": 1,
    }
    assert Weights(0, 0, 0, 0).shares()["source"] == 1


@given(st.floats(-1, 1), st.floats(-1, 1))
def test_likeness_rises_with_the_cosine(one: float, other: float) -> None:
    low, high = (likeness(cosine, middle=0.1, slope=20) for cosine in sorted((one, other)))

    assert 0 <= low <= high <= 1


@pytest.mark.parametrize(("hits", "seen", "usual", "wanted"), [(0, 0, 0.2, 0.5), (5, 25, 0.2, 0.5), (3, 9, 0.0, 0.5)])
def test_a_lift_is_a_half_where_nothing_is_unusual(hits: float, seen: float, usual: float, wanted: float) -> None:
    assert lift(hits, seen, usual) == pytest.approx(wanted)


def test_a_lift_grows_with_reading_and_a_little_reading_decides_little() -> None:
    assert 0.5 < lift(1, 1, 0.1) < lift(10, 10, 0.1) < lift(100, 100, 0.1) < 1
    assert lift(0, 100, 0.1) < lift(0, 1, 0.1) < 0.5


def test_interests_are_parted_by_commas_and_lines_each_once_and_no_more_than_wanted() -> None:
    text = " solar  energy, Schach;\nsolar Energy\n\n、太陽光\uff0c, chess" + ", more" * 3

    assert interests_of(text, 9) == ("solar energy", "Schach", "太陽光", "chess", "more")
    assert interests_of(text, 2) == ("solar energy", "Schach")
    assert interests_of("x" * 500, 1) == ("x" * 200,)
    assert interests_of(" ,;\n", 5) == ()


def held(about: str | None = "solar", *, source: uuid.UUID | None = None, row: bytes | None = None, **more) -> HeldItem:
    own = row if row is not None or about is None else vector(about).tobytes()
    values: dict[str, Any] = {"saved": False, "lang": "en", "topics": None} | more
    return HeldItem(uuid.uuid4(), uuid.uuid4(), source, values["saved"], 1, values["lang"], values["topics"], own)


def profile(interests: tuple[str, ...] = (), liked: tuple[str, ...] = (), **more) -> Profile:
    rows = [Liked(starred=True, age_s=0.0, lang="en", vector=vector(about).tobytes()) for about in liked]
    values = {"held": (), "topics": {}, "sources": {}} | more
    return make_profile(interests, AxisDirections(), rows, **values, half_life_s=1e6)


def judged(item: HeldItem, own: Profile, sources: Mapping[uuid.UUID, SourceTopics] | None = None) -> dict:
    [judgement] = Judge(own, AxisDirections(), Weights(), sources or {}).judge([item])
    assert judgement.score == pytest.approx(sum(reason["weight"] * reason["value"] for reason in judgement.reasons))
    return {"score": judgement.score} | {reason["code"]: reason for reason in judgement.reasons}


BAD_ROWS = {
    "nan": np.full(DIMENSIONS, np.nan, dtype="<f4").tobytes(),
    "infinite": np.full(DIMENSIONS, np.inf, dtype="<f4").tobytes(),
    "nothing but the mean": AxisDirections().mean("en").astype("<f4").tobytes(),
    "other dimensions": b"\x00" * 12,
    "none": b"",
}


@pytest.mark.parametrize("row", BAD_ROWS.values(), ids=BAD_ROWS)
def test_a_vector_that_tells_nothing_is_as_none(row: bytes) -> None:
    own = profile(("solar",), ("chess",))

    assert judged(held(row=row), own) == judged(held(None), own)


def test_what_failed_has_no_relevance_whatever_its_source_or_its_owner_says() -> None:
    source = uuid.uuid4()
    failed = replace(held(source=source, saved=True), failed=True)
    sources = {source: SourceTopics([{"topic": "energy", "score": 1.0}], ["energy"])}

    [judgement] = Judge(profile(("solar",), ("solar",)), AxisDirections(), Weights(), sources).judge([failed])

    assert (judgement.score, judgement.reasons) == (None, [])


def cosines(*rows: float) -> np.ndarray:
    return np.array(rows, dtype=np.float32)[:, None]


def test_a_cosine_counts_by_what_is_ordinary_for_the_interest_among_the_holdings() -> None:
    rng = np.random.default_rng(1)
    (high,), (low,) = (ordinary(rng.normal(middle, 0.06, (400, 1)).astype(np.float32)) for middle in (0.04, -0.07))

    assert interest_likeness(0.12, high) < 0.1  # a rate cut and "chess"
    assert interest_likeness(0.16) < 0.5 < interest_likeness(0.27)
    assert interest_likeness(0.14, low) > 0.5  # what the Russian or German word for it is as near to as that
    assert nearest(cosines(0.15, 0.14)[:, 0], (high, low))[0] == 1


def test_one_who_holds_little_else_still_finds_it_near() -> None:
    (usual,) = ordinary(cosines(*[0.35] * 90, *[0.0] * 10))

    assert interest_likeness(0.35, usual) > 0.5
    assert ordinary(np.zeros((0, 2), dtype=np.float32)) == (Ordinary(), Ordinary())
    assert ordinary(cosines(0.9))[0].middle < 0.06


def test_the_nearest_of_several_interests_counts_in_any_language() -> None:
    own = profile(("chess", "photovoltaïque"))

    near, far = judged(held("solar"), own), judged(held("rain"), own)
    assert near["interest"]["about"] == "photovoltaïque"
    assert near["interest"]["value"] > 0.9
    assert far["interest"]["value"] < 0.2
    assert "history" not in near


class TopicsAlone(AxisDirections):
    """Interests were read by another model than texts: only their topics are known."""

    def phrase(self, text: str) -> tuple[np.ndarray, Mapping[str, float]]:
        direction, topics = super().phrase(text)
        return np.zeros_like(direction), topics


def test_interests_that_cannot_be_compared_with_texts_count_by_their_topics() -> None:
    own = make_profile(("solar",), TopicsAlone(), (), (), {}, {}, half_life_s=1.0)

    energy, sport = (judged(held(topics=[{"topic": each, "score": 0.9}]), own) for each in ("energy", "sport"))
    assert energy["interest"]["known"] is False
    assert energy["score"] > sport["score"]


def test_a_profile_is_the_same_after_it_was_kept() -> None:
    sources = {uuid.uuid4(): Habit(1, 2, 9), None: Habit(0, 0, 3)}
    own = profile(("chess", "opera"), ("solar",), sources=sources, topics={"energy": Habit(3, 1, 4)})
    again = from_kept(to_vectors(own), to_details(own))

    assert to_details(again) == to_details(own)
    assert to_vectors(again) == to_vectors(own)
    assert (again.sources, again.named) == (own.sources, own.named)


def test_a_history_of_no_direction_is_no_evidence() -> None:
    opposite = AxisDirections().mean("en") - (vector("chess") - AxisDirections().mean("en"))
    rows = [
        Liked(starred=True, age_s=0, lang="en", vector=row.astype("<f4").tobytes())
        for row in (vector("chess"), opposite)
    ]
    own = make_profile((), AxisDirections(), rows, (), {}, {}, half_life_s=1.0)

    assert own.history is None or own.trust > 0
    assert make_profile((), AxisDirections(), (), (), {}, {}, half_life_s=1.0).history is None


def test_what_was_liked_long_ago_counts_less_than_what_is_liked_now() -> None:
    rows = [
        Liked(starred=True, age_s=age_s, lang="en", vector=vector(about).tobytes())
        for about, age_s in (("chess", 0.0), ("solar", 300.0))
    ]
    own = make_profile((), AxisDirections(), rows, (), {}, {}, half_life_s=100.0)

    assert judged(held("chess"), own)["history"]["value"] > judged(held("solar"), own)["history"]["value"]
    assert own.trust == pytest.approx(1.125 / 3.125)


def test_what_all_that_a_user_holds_has_in_common_makes_nothing_alike() -> None:
    style = np.eye(DIMENSIONS, dtype=np.float32)[15]
    texts = {about: unit((vector(about) + style)[None])[0].tobytes() for about in ("chess", "rain", "opera", "banks")}
    everything = [("en", row) for row in texts.values()] * 100
    liked = [Liked(starred=True, age_s=0.0, lang="en", vector=texts["chess"])]
    plain, own = (make_profile((), AxisDirections(), liked, of, {}, {}, half_life_s=1.0) for of in ((), everything))

    rain = held(row=texts["rain"])
    assert judged(rain, own)["history"]["value"] < 0.3 < judged(rain, plain)["history"]["value"]


def test_an_unread_item_is_judged_by_what_its_source_is_said_to_write_about() -> None:
    solar, chess, silent = uuid.uuid4(), uuid.uuid4(), uuid.uuid4()
    sources = {
        solar: SourceTopics([{"topic": "energy", "score": 0.8}], []),
        chess: SourceTopics([], ["Sport"]),
    }
    own = profile(("solar",))

    learnt, given, unsaid = (judged(held(None, source=each), own, sources) for each in (solar, chess, silent))
    assert learnt["topics"] == {
        "code": "topics",
        "weight": learnt["topics"]["weight"],
        "value": 0.8,
        "by": "source",
        "topic": "energy",
        "why": "interests",
    }
    assert learnt["interest"]["known"] is False
    assert learnt["score"] > unsaid["score"] > given["score"]
    assert judged(held(None, source=chess), profile(("chess",)), sources)["topics"]["value"] == 1.0


@pytest.mark.parametrize("odd", [math.nan, None, "high", -1.0], ids=["nan", "none", "text", "negative"])
def test_a_topic_of_an_odd_score_does_no_harm(odd: object) -> None:
    found = judged(held(topics=[{"topic": "energy", "score": odd}]), profile(("solar",)))

    assert 0 <= found["score"] <= 1
    assert found["topics"]["value"] == 0.0


def test_topics_that_are_read_more_than_others_are_cared_for_and_none_is_held_against_an_item() -> None:
    read = {"sport": Habit(8, 0, 10), "culture": Habit(0, 0, 10)}
    own = profile((), ("chess",), topics=read, sources={None: Habit(8, 0, 20)})

    assert own.topics["sport"] > 0
    assert "culture" not in own.topics


def test_a_source_that_is_read_often_lifts_its_items_and_a_saved_one_needs_no_source() -> None:
    often, never = uuid.uuid4(), uuid.uuid4()
    own = profile(sources={often: Habit(10, 5, 20), never: Habit(0, 0, 40)})

    values = [judged(held(source=each), own)["source"]["value"] for each in (often, uuid.uuid4(), never)]
    assert values == sorted(values, reverse=True)
    assert values[1] == USUAL
    assert judged(held(saved=True), own)["source"]["value"] == 1.0


def test_rows_without_length_or_that_are_no_numbers_have_no_direction() -> None:
    rows = np.array([[3, 4], [0, 0], [np.nan, 1], [np.inf, 0]], dtype=np.float32)

    assert unit(rows).tolist() == [[pytest.approx(0.6), pytest.approx(0.8)], [0, 0], [0, 0], [0, 0]]
