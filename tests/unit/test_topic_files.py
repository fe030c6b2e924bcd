import re

import numpy as np
import pytest

from siftline.analyze.topics.anchors import ANY, AnchorCache
from siftline.analyze.topics.topic_list import (
    TopicsFileError,
    labels_of,
    load_labels,
    shipped_labels,
    shipped_news,
    terms_of,
)
from tests.models import WordEmbedder

NEWS = {"en": ["Rain fell.", "A team won."], "fr": ["Il pleut.", "Une équipe gagne."]}


def test_the_shipped_topics_are_about_twenty_in_eight_languages_with_short_ids():
    labels = shipped_labels()

    assert 18 <= len(labels.ids) <= 26
    assert len(set(labels.ids)) == len(labels.ids)
    assert {"sport", "politics", "economy", "health", "technology", "science"} <= set(labels.ids)
    assert labels.languages == ("de", "en", "es", "fr", "it", "ja", "pt", "ru")
    assert all(5 <= len(terms) <= 12 for label in labels.labels for terms in label.terms.values())


def test_the_shipped_news_are_as_many_in_every_language_and_differ():
    news = shipped_news()

    assert len(news) >= 10
    assert {len(texts) for texts in news.values()} == {28}
    assert all(len(set(texts)) == 28 for texts in news.values())


def test_a_description_is_read_thing_by_thing_in_any_language():
    assert terms_of("Economy: inflation, taxes and growth") == ("Economy", "inflation", "taxes", "growth")
    assert terms_of("経済\uff1aインフレ、税金、成長") == ("経済", "インフレ", "税金", "成長")
    assert terms_of("Politik") == ("Politik",)


def write(tmp_path, text):
    file = tmp_path / "topics.toml"
    file.write_text(text)
    return file


def test_topics_of_ones_own_may_be_sentences_or_lists_and_have_examples(tmp_path):
    labels = load_labels(
        write(
            tmp_path,
            """
            [[topics]]
            id = "sport"
            en = "Sport: football and tennis"
            examples = { en = ["The team won."] }
            [[topics]]
            id = "money"
            en = ["banks", "shares, bonds"]
            """,
        )
    )

    assert labels.ids == ("sport", "money")
    assert labels.labels[0].terms["en"] == ("Sport", "football", "tennis")
    assert labels.labels[0].examples == {"en": ("The team won.",)}
    assert labels.labels[1].terms["en"] == ("banks", "shares, bonds")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[[topics", "is not valid TOML"),
        ('[[topics]]\nid = "a"\nen = "x"', "topics"),
        ('[[topics]]\nid = "Not An Id"\nen = "x"\n[[topics]]\nid = "b"\nen = "y"', "topics.0.id"),
        ('[[topics]]\nid = "a"\nen = "x"\n[[topics]]\nid = "a"\nen = "y"', "more than once"),
        ('[[topics]]\nid = "a"\nen = "x"\n[[topics]]\nid = "b"\nde = "y"', "at least one common language"),
        ('[[topics]]\nid = "a"\nen = ""\n[[topics]]\nid = "b"\nen = "y"', "topics.0.en"),
        ('[[topics]]\nid = "a"\nen = []\n[[topics]]\nid = "b"\nen = "y"', "at least 1 item"),
        ('[[topics]]\nid = "a"\nen = "x\\u0000"\n[[topics]]\nid = "b"\nen = "y"', "U+0000"),
        ('[[topics]]\nid = "a"\nen = ["x\\u0000"]\n[[topics]]\nid = "b"\nen = "y"', "U+0000"),
        ('[[topics]]\nid = "a"\nen = ", , ,"\n[[topics]]\nid = "b"\nen = "y"', "must contain a letter"),
        ('[[topics]]\nid = "a"\nen = "\\u200b"\n[[topics]]\nid = "b"\nen = "y"', "must contain a letter"),
        ('topic = 1\n[[topics]]\nid = "a"\nen = "x"\n[[topics]]\nid = "b"\nen = "y"', "topic"),
    ],
)
def test_a_file_of_topics_that_says_too_little_is_refused_with_the_place(tmp_path, text, told):
    with pytest.raises(TopicsFileError, match=re.escape(told)):
        load_labels(write(tmp_path, text))


def test_a_language_without_examples_is_as_one_that_is_not_named(tmp_path):
    text = '[[topics]]\nid = "a"\nen = "x"\nexamples = { en = [] }\n[[topics]]\nid = "b"\nen = "y"'
    assert load_labels(write(tmp_path, text)).labels[0].examples == {}


def test_a_file_of_topics_that_is_not_there_is_told(tmp_path):
    with pytest.raises(TopicsFileError, match="cannot be read"):
        load_labels(tmp_path / "nowhere.toml")


@pytest.fixture
def labels():
    return labels_of({"sport": "team, match", "weather": "rain, snow"})


def test_directions_have_unit_length_and_nothing_in_common(tmp_path, labels):
    anchors = AnchorCache(WordEmbedder(), labels, NEWS, lambda: [tmp_path]).of("en")

    assert np.linalg.norm(anchors.directions, axis=1) == pytest.approx([1, 1], abs=1e-5)
    assert anchors.directions[0] @ anchors.directions[1] < 0
    assert anchors.own_news


def test_a_language_without_news_starts_at_the_mean_of_all(tmp_path, labels):
    anchor_cache = AnchorCache(WordEmbedder(), labels, NEWS, lambda: [tmp_path])
    unknown = anchor_cache.of("sw")

    assert unknown is anchor_cache.of(None)
    assert not unknown.own_news
    assert unknown.news_mean == pytest.approx(
        (anchor_cache.of("en").news_mean + anchor_cache.of("fr").news_mean) / 2, abs=1e-5
    )
    assert set(anchor_cache.languages) == {"en", "fr", ANY}


def test_anchors_are_read_from_where_they_were_kept_and_made_anew_for_other_topics(tmp_path, labels):
    made = AnchorCache(WordEmbedder(), labels, NEWS, lambda: [tmp_path]).of("en")
    again, others = WordEmbedder(), WordEmbedder()

    kept = AnchorCache(again, labels, NEWS, lambda: [tmp_path / "model", tmp_path]).of("en")
    AnchorCache(others, labels_of({"sport": "team", "weather": "sun"}), NEWS, lambda: [tmp_path]).of("en")

    assert again.texts == []
    assert np.array_equal(kept.directions, made.directions)
    assert np.array_equal(kept.news_mean, made.news_mean)
    assert others.texts != []


def test_anchors_that_cannot_be_read_are_made_anew(tmp_path, labels):
    anchor_cache = AnchorCache(WordEmbedder(), labels, NEWS, lambda: [tmp_path])
    made = anchor_cache.of("en")
    for file in tmp_path.glob("anchors-en-*"):
        file.write_bytes(b"half a file")

    again = AnchorCache(WordEmbedder(), labels, NEWS, lambda: [tmp_path]).of("en")

    assert np.array_equal(again.directions, made.directions)


def test_examples_pull_a_topic_towards_them(tmp_path):
    plain = '[[topics]]\nid = "sport"\nen = "team"\n[[topics]]\nid = "weather"\nen = "rain"\n'
    taught = plain.replace('en = "team"', 'en = "team"\nexamples = { en = ["Judo", "judo medal"], sw = ["judo"] }')
    judo = WordEmbedder().embed_passage("judo")
    likeness = {}
    for name, text in (("plain", plain), ("taught", taught)):
        anchors = AnchorCache(WordEmbedder(), load_labels(write(tmp_path, text)), NEWS, lambda: [tmp_path]).of("en")
        likeness[name] = anchors.directions[0] @ (judo - anchors.news_mean)

    assert likeness["taught"] > likeness["plain"] + 0.2
