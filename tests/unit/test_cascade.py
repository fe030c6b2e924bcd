import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from siftline.analyze.topics.cascade import Cascade, CascadeRule
from siftline.analyze.topics.nli import EntailmentModel
from siftline.analyze.topics.topic_list import Label, shipped_hypotheses, shipped_labels
from siftline.analyze.topics.topic_scoring import Topic, TopicRule, TopicVerdict
from tests.nli_models import Sayings, tiny_nli, words_of

LABELS = (
    Label("sport", {"en": ("sport", "football"), "de": ("Sport", "Fußball")}),
    Label("economy", {"en": ("economy", "banks"), "de": ("Wirtschaft", "Banken")}),
    Label("health", {"en": ("health", "hospitals"), "de": ("Gesundheit", "Kliniken")}),
    Label("weather", {"en": ("weather", "rain")}),
)
TEXT = "The coach of the home side saw a doctor."
SURE, UNSURE = 0.2, 0.001
OF_ECONOMY = {"sport": 0.03, "economy": 0.97, "health": 0.05}


def verdict(margin, **scores):
    ranking = tuple(Topic(topic, score) for topic, score in sorted(scores.items(), key=lambda pair: -pair[1]))
    return TopicVerdict(ranking, TopicRule().counted(ranking), margin)


def close(margin=UNSURE):
    return verdict(margin, sport=0.5, economy=0.45, health=0.3, weather=0.02)


def decide(judge, passed, *, prior=(), language="en", text=TEXT, **options):
    cascade = Cascade(LABELS, shipped_hypotheses(), judge, CascadeRule(candidates=3), **options)
    return cascade.decide(text, language, passed, prior, TopicRule())


def test_below_the_margin_the_second_pass_decides():
    decision = decide(Sayings(OF_ECONOMY), close())

    assert [topic.topic for topic in decision.topics] == ["economy"]
    assert decision.ranking[0].score > 0.8
    assert decision.details["second_pass"] == {
        "outcome": "asked",
        "model_id": "sayings",
        "model_version": "sayings-1",
        "entailment": [["sport", 0.03], ["economy", 0.97], ["health", 0.05]],
    }


@given(st.lists(st.floats(0, 1), min_size=3, max_size=3), st.floats(0.05, 1), st.floats(0, 1))
def test_from_the_margin_on_nothing_changes_the_outcome(answers, margin, share):
    """The first pass stands, whatever the model would say and whatever the source writes about; it is not asked."""
    judge = Sayings(dict(zip(("sport", "economy", "health"), answers, strict=True)))
    passed = close(margin)
    decision = decide(judge, passed, prior=[Topic("economy", share)])

    assert (decision.ranking, decision.topics) == (passed.ranking, passed.topics)
    assert judge.asked == []
    assert decision.details == {"second_pass": {"outcome": "not needed"}}


def test_without_a_model_the_first_pass_stands_and_the_derivation_says_that_there_is_none():
    passed = close()
    decision = decide(None, passed)

    assert decision.topics == passed.topics
    assert decision.details == {"second_pass": None}


@given(st.floats(0.0, 1.0))
def test_a_model_that_answers_the_same_to_everything_changes_nothing(answer):
    """Case A13: labels of .99 each tell nothing apart, nor do those of an under-confident quantised model."""
    passed = close()
    decision = decide(Sayings(dict.fromkeys(OF_ECONOMY, answer)), passed)

    assert [topic.topic for topic in decision.ranking] == [topic.topic for topic in passed.ranking]
    assert [topic.score for topic in decision.ranking] == pytest.approx([t.score for t in passed.ranking], abs=1e-4)


@given(st.lists(st.floats(0, 1), min_size=3, max_size=3))
def test_scores_stay_between_zero_and_one_and_fall_along_the_ranking(answers):
    decision = decide(Sayings(dict(zip(OF_ECONOMY, answers, strict=True))), close())
    scores = [topic.score for topic in decision.ranking]

    assert all(0 <= score <= 1 for score in scores)
    assert scores == sorted(scores, reverse=True)


def test_only_the_best_few_are_asked_about_in_the_language_of_the_text():
    judge = Sayings({"Sport": 0.5, "Wirtschaft": 0.5, "Gesundheit": 0.5})
    decide(judge, close(), language="de", text="Ein Text. " * 1_000)

    assert [hypothesis for _, hypothesis in judge.asked] == [
        "In diesem Text geht es um Sport, Fußball.",
        "In diesem Text geht es um Wirtschaft, Banken.",
        "In diesem Text geht es um Gesundheit, Kliniken.",
    ]
    assert {len(premise) for premise, _ in judge.asked} == {1_000}


@pytest.mark.parametrize("language", ["sw", None])
def test_a_topic_without_words_in_the_language_is_put_in_english_as_the_model_knows_it(language):
    judge = Sayings(OF_ECONOMY)
    decide(judge, close(), language=language)

    assert judge.asked[0][1] == "This text is about sport, football."


def test_a_second_pass_that_takes_too_long_counts_for_nothing_and_says_so():
    passed, ticks = close(), itertools.count(step=3)
    decision = decide(Sayings(OF_ECONOMY), passed, clock=lambda: next(ticks))

    assert decision.topics == passed.topics
    assert decision.details["second_pass"]["outcome"] == "out of time"
    assert decision.details["second_pass"]["entailment"] == [["sport", 0.03]]


def test_what_the_source_writes_about_counts_where_the_text_leaves_it_open():
    decision = decide(None, close(), prior=[Topic("economy", 0.8), Topic("astrology", 1.0)])

    assert decision.ranking[0].topic == "economy"
    assert decision.details["prior"] == [["economy", 0.8]]
    assert decide(None, close(SURE), prior=[Topic("economy", 0.8)]).ranking[0].topic == "sport"


def test_a_model_folder_decides_between_two_close_topics(tmp_path):
    words = words_of("sport football coach", "economy banks money", "health hospitals")
    judge = EntailmentModel(str(tiny_nli(tmp_path / "nli", words)), tmp_path)
    text = "Banks lend more money: what that means for the economy."

    assert decide(judge, close(), text=text).ranking[0].topic == "economy"
    assert decide(judge, close(SURE), text=text).ranking[0].topic == "sport"


def test_every_shipped_topic_can_be_put_in_every_language_that_it_is_described_in():
    labels = shipped_labels()
    cascade = Cascade(labels.labels, shipped_hypotheses(), None)

    assert set(labels.languages) <= set(shipped_hypotheses())
    assert all(template.count("{}") == 1 for template in shipped_hypotheses().values())
    said = {cascade.hypothesis(topic, language, "{}") for topic in labels.ids for language in labels.languages}
    assert len(said) == len(labels.ids) * len(labels.languages)
