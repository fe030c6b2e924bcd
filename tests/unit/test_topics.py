import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from siftline.analyze.topics.anchors import Anchors
from siftline.analyze.topics.topic_scoring import (
    Calibration,
    MeanRule,
    Seen,
    TopicRule,
    classify,
    mean_vector,
    read_directions,
)

TOPICS = ("sport", "economy", "health", "weather")
DIRECTIONS = np.eye(8, dtype=np.float32)[:4]
MEAN = np.full(8, 0.3, dtype=np.float32)


def text_about(*weights):
    vector = MEAN.copy()
    vector[: len(weights)] += np.array(weights, np.float32)
    vector[6:] += 0.4  # what is about none of the topics
    return vector / np.linalg.norm(vector) * np.linalg.norm(MEAN) * 1.2


def test_the_topic_that_stands_out_comes_first_and_scores_high():
    verdict = classify(text_about(0.5), MEAN, TOPICS, DIRECTIONS)

    assert verdict.topics[0].topic == "sport"
    assert verdict.topics[0].score > 0.8
    assert [topic.topic for topic in verdict.topics] == ["sport"]
    assert verdict.margin > 0.3


def test_two_topics_may_both_count_and_the_margin_tells_that_they_are_close():
    verdict = classify(text_about(0.5, 0.45), MEAN, TOPICS, DIRECTIONS)

    assert [topic.topic for topic in verdict.topics] == ["sport", "economy"]
    assert verdict.margin < 0.1


def test_a_text_about_none_of_the_topics_gets_none():
    assert classify(text_about(), MEAN, TOPICS, DIRECTIONS).topics == ()
    assert classify(MEAN, MEAN, TOPICS, DIRECTIONS).topics == ()


def test_at_most_three_topics_count_and_only_from_the_threshold_on():
    vector = text_about(0.5, 0.45, 0.4, 0.35)
    scores = {topic.topic: topic.score for topic in classify(vector, MEAN, TOPICS, DIRECTIONS).ranking}

    assert len(classify(vector, MEAN, TOPICS, DIRECTIONS, TopicRule(threshold=0.0)).topics) == 3
    strict = classify(vector, MEAN, TOPICS, DIRECTIONS, TopicRule(threshold=scores["economy"]))
    assert [topic.topic for topic in strict.topics] == ["sport", "economy"]


@given(st.lists(st.floats(-0.9, 0.9), min_size=2, max_size=30))
def test_never_do_all_topics_score_near_one(cosines):
    """Case A13. Cosines to directions whose common part is taken away cannot all be high; their mean is near zero."""
    centred = np.array(cosines) - np.mean(cosines)
    scores = Calibration().scores(centred)

    assert ((scores > 0) & (scores < 1)).all()
    assert scores.min() < 0.3


def test_scores_keep_the_order_of_the_cosines():
    cosines = np.array([0.31, -0.2, 0.3, 0.05])

    assert list(np.argsort(Calibration().scores(cosines))) == list(np.argsort(cosines))


def anchors(*, own_news=True):
    return Anchors(DIRECTIONS, MEAN, MEAN, own_news)


def seen(documents, vector):
    return Seen(documents, np.asarray(vector, np.float64) * documents)


def test_with_nothing_read_the_mean_is_that_of_average_news():
    assert mean_vector(anchors(), TOPICS, {}) == pytest.approx(MEAN)


def test_the_first_few_texts_move_the_mean_little():
    other = np.zeros(8)
    moved = mean_vector(anchors(), TOPICS, {"sport": seen(2, other)})

    assert np.abs(moved - MEAN).max() < 0.01


def test_the_mean_goes_at_most_half_of_the_way_where_average_news_are_shipped_and_all_of_it_elsewhere():
    everything = {topic: seen(100_000, np.zeros(8)) for topic in TOPICS}

    assert mean_vector(anchors(), TOPICS, everything) == pytest.approx(MEAN / 2, rel=0.01)
    assert mean_vector(anchors(own_news=False), TOPICS, everything) == pytest.approx(np.zeros(8), abs=0.001)


def test_a_topic_read_all_day_does_not_vanish():
    """Nine hundred of a thousand texts are about sport: the thousandth is still about sport."""
    sport, economy, one_more = MEAN.copy(), MEAN.copy(), MEAN.copy()
    sport[0] += 0.3
    economy[1] += 0.3
    one_more[[0, 6]] += (0.3, 0.6)  # a text of its own kind besides
    learnt = {"sport": seen(900, sport), "economy": seen(100, economy)}
    plain = ((900 * sport + 100 * economy) / 1000).astype(np.float32)

    assert classify(one_more, plain, TOPICS, DIRECTIONS).topics == ()
    verdict = classify(one_more, mean_vector(anchors(), TOPICS, learnt), TOPICS, DIRECTIONS)
    assert [topic.topic for topic in verdict.topics] == ["sport"]


def test_topics_that_are_no_longer_in_the_set_are_left_out_of_the_mean():
    gone = {"astrology": seen(1_000, np.ones(8))}

    assert mean_vector(anchors(), TOPICS, gone, MeanRule()) == pytest.approx(MEAN)


def towards(*weights):
    vector = np.zeros(8)
    vector[: len(weights)] = weights
    return MEAN + vector


def test_with_nothing_read_or_one_topic_only_directions_are_those_of_the_descriptions():
    alone = {"sport": seen(500, towards(0, 0, 0, 0, 0.4))}

    assert np.array_equal(read_directions(anchors(), MEAN, TOPICS, {}), DIRECTIONS)
    assert np.array_equal(read_directions(anchors(), MEAN, TOPICS, alone), DIRECTIONS)


def test_directions_are_drawn_towards_what_sets_their_texts_apart_from_those_of_other_topics():
    common = 0.5  # the style of this source, in all its texts
    learnt = {
        "sport": seen(50, towards(0.3, 0, 0, 0, 0.4, 0, 0, common)),
        "economy": seen(50, towards(0, 0.3, 0, 0, 0, 0.4, 0, common)),
        "health": seen(50, towards(0, 0, 0.3, 0, 0, 0, 0.4, common)),
    }
    drawn = read_directions(anchors(), MEAN, TOPICS, learnt)

    assert np.linalg.norm(drawn, axis=1) == pytest.approx(np.ones(4), abs=1e-5)
    assert drawn[0, 4] > 0.2
    assert abs(drawn[0, 7]) < 0.01, "what all texts have in common draws nothing"
    assert np.array_equal(drawn[3], DIRECTIONS[3]), "of a topic that was not read nothing is learnt"
    assert (np.diag(drawn[:, :4]) > 0.5).all(), "the description still counts most"


def test_a_few_texts_draw_little_and_a_topic_read_all_day_draws_less_than_its_share():
    two, fifty, thousand = towards(0.3, 0, 0, 0, 0.4), towards(0, 0.3, 0, 0, 0, 0.4), towards(0, 0, 0.3, 0, 0, 0, 0.4)
    even = read_directions(
        anchors(), MEAN, TOPICS, {"sport": seen(2, two), "economy": seen(50, fifty), "health": seen(50, thousand)}
    )
    uneven = read_directions(
        anchors(), MEAN, TOPICS, {"sport": seen(2, two), "economy": seen(50, fifty), "health": seen(5_000, thousand)}
    )

    assert even[0, 4] < 0.5 * even[1, 5]
    assert uneven[2, 6] < 0.5 * even[2, 6]
