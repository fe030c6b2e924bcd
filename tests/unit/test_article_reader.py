import tomllib
from pathlib import Path

import pytest

from siftline.analyze.article_reader import INSUFFICIENT, Article, Reader
from siftline.analyze.text.language import LanguageDetector
from siftline.analyze.topics.anchors import AnchorCache
from siftline.analyze.topics.cascade import Cascade, CascadeRule
from siftline.analyze.topics.topic_list import labels_of
from siftline.analyze.topics.topic_scoring import Topic
from tests.models import WordEmbedder
from tests.nli_models import Sayings

LABELS = labels_of({"sport": "team, match, goal, coach", "economy": "bank, inflation, money, rates"})
NEWS = {
    "en": [
        "The team won a match by one goal.",
        "A bank fears inflation and wants money.",
        "It rained in the valley again.",
    ]
}
REPORTS = tomllib.loads((Path(__file__).parents[1] / "data" / "reports.toml").read_text("utf-8"))
MATCH = Article(
    "Late goal wins the match",
    "The home team won the match with a goal in the last minute. The coach of the team praised the match. "
    "Nobody in the stadium had expected such a goal. The team plays its next match on Saturday.",
    "en-GB",
)


@pytest.fixture
def reader(tmp_path):
    embedder = WordEmbedder()
    return Reader(embedder, AnchorCache(embedder, LABELS, NEWS, lambda: [tmp_path]), LanguageDetector())


def read(reader, article):
    return reader.read(article, reader.language_of(article), {})


def test_an_article_gets_all_that_is_derived(reader):
    reading = read(reader, MATCH)

    assert reading.language == "en"
    assert reading.vector is not None
    assert reading.topics[0].topic == "sport" == reading.best_topic
    assert "economy" not in [topic.topic for topic in reading.topics]
    assert reading.summary in MATCH.text or all(part in MATCH.text for part in reading.summary.split(". "))
    assert {"match", "team"} & set(reading.tags)
    assert reading.notice_code is None


def test_every_derived_value_names_what_made_it(reader):
    derivations = {derivation.kind: derivation for derivation in read(reader, MATCH).derivations}

    assert set(derivations) == {"language", "embedding", "topics", "summary", "tags"}
    assert derivations["embedding"].model_version == "words-1"
    assert derivations["topics"].model_version == "words-1/topics-3"
    assert derivations["language"].model_id == "lid.176.ftz"
    details = derivations["topics"].details
    assert details["margin"] > 0
    assert details["ranking"][0][0] == "sport"
    assert {"labels", "mean_documents"} <= set(details)


@pytest.mark.parametrize("text", ["p. 1 \u240c", "", "Read more", "Too short to say much."])
def test_of_too_little_text_nothing_is_invented(reader, text):
    """Case A11."""
    reading = read(reader, Article("Parliament passes the budget after a long night of talks", text))

    assert (reading.topics, reading.summary, reading.tags) == ((), None, ())
    assert reading.notice_code == INSUFFICIENT
    assert reading.language == "en"
    assert reading.vector is not None
    assert {derivation.kind for derivation in reading.derivations} == {"language", "embedding"}
    assert reading.best_topic is None


@pytest.mark.parametrize("script", REPORTS)
def test_a_short_article_is_enough_in_every_script(reader, script):
    reading = read(reader, Article("Report", REPORTS[script]))

    assert reading.notice_code is None
    assert reading.summary


def test_of_too_little_text_the_topics_are_those_that_its_source_writes_about_and_it_says_so(reader):
    habits = (Topic("economy", 0.6), Topic("sport", 0.33))
    article = Article("Number 7", "p. 1 \u240c")
    reading = reader.read(article, reader.language_of(article), {}, habits)

    assert reading.topics == (Topic("economy", 0.6),)
    assert (reading.summary, reading.tags, reading.notice_code) == (None, (), INSUFFICIENT)
    assert reading.best_topic is None, "the running mean learns from texts, not from a source's habit"
    made = next(derivation for derivation in reading.derivations if derivation.kind == "topics")
    assert (made.model_id, made.details["source"]) == ("source", [("economy", 0.6), ("sport", 0.33)])


def test_of_too_little_text_nothing_is_said_that_less_than_half_of_its_source_is_about(reader):
    article = Article("Office closed on Monday", "We are back on Tuesday.")
    reading = reader.read(article, reader.language_of(article), {}, (Topic("disaster", 0.33),))

    assert (reading.topics, reading.notice_code) == ((), INSUFFICIENT)
    assert "topics" not in {derivation.kind for derivation in reading.derivations}


def test_the_derivation_of_topics_tells_both_passes_with_their_models(tmp_path):
    embedder, judge = WordEmbedder(), Sayings({"team": 0.002, "bank": 0.998})
    anchor_cache = AnchorCache(embedder, LABELS, NEWS, lambda: [tmp_path])
    cascade = Cascade(LABELS.labels, {}, judge, CascadeRule(margin=2.0))
    both = Article(MATCH.title, f"{MATCH.text} The bank fears inflation, and the money of the bank earns better rates.")
    reading = read(Reader(embedder, anchor_cache, LanguageDetector(), cascade=cascade), both)

    made = next(derivation for derivation in reading.derivations if derivation.kind == "topics")
    assert made.details["first_pass"][0][0] == "sport"
    assert made.details["ranking"][0][0] == "economy" == reading.best_topic
    second = made.details["second_pass"]
    assert (made.model_version, second["model_version"]) == ("words-1/topics-3", "sayings-1")
    assert second["entailment"] == [["sport", 0.002], ["economy", 0.998]]


def test_without_any_letter_there_is_no_vector(reader):
    reading = read(reader, Article("", "1 2 3 \u240c"))

    assert reading.vector is None
    assert reading.derivations == ()
    assert reading.notice_code == INSUFFICIENT


def test_a_long_japanese_text_is_enough(reader):
    text = "議会は徹夜の協議の末に来年度の予算を可決した。野党は二つの条文について裁判で争う構えを見せている。"

    assert read(reader, Article("予算を可決", text)).notice_code is None


def test_the_pages_claim_counts_only_where_the_language_is_not_sure(reader):
    assert reader.language_of(Article("", MATCH.text, "de")).code == "en"
    assert reader.language_of(Article("", "Hm", "de-AT")).code == "de"
    assert reader.language_of(Article("", "Hm", None)).code is None
    assert reader.language_of(Article("", "Hm", None)).group == "und"


def test_title_and_text_become_one():
    assert Article("Who won?", "They did.").whole == "Who won? They did."
    assert Article("Late goal ", "They won.").whole == "Late goal. They won."
    assert Article("", "They won.").whole == "They won."
