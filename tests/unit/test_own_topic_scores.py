"""When a text counts as about an own topic: where it lies near, not where it merely lies nearer than to all others."""

import numpy as np
import pytest

from siftline.analyze.topics.anchors import AnchorCache, unit
from siftline.analyze.topics.own_topics import OwnTopics
from siftline.analyze.topics.topic_scoring import MeanRule, PullRule, TopicRule, mean_vector
from tests.models import WordEmbedder
from tests.reading import LABELS, NEWS


@pytest.mark.parametrize(("cosine", "counts"), [(0.1, False), (0.13, False), (0.4, True)])
def test_a_text_is_about_an_own_topic_only_where_it_lies_near(tmp_path, cosine: float, counts: bool) -> None:
    embedder = WordEmbedder()
    anchor_cache = AnchorCache(embedder, LABELS, NEWS, lambda: [tmp_path])
    anchors = anchor_cache.of("en")
    rng = np.random.default_rng(3)
    directions = anchors.directions.astype(np.float64)
    kept, _ = np.linalg.qr(np.vstack([directions, rng.normal(size=(2, embedder.dimensions))]).T)
    own, rest = kept.T[-2:]  # at right angles to the shared topics, so that the own one leads
    mean = mean_vector(anchors, anchor_cache.topics, {}, MeanRule())
    text = mean + 0.5 * (cosine * own + np.sqrt(1 - cosine**2) * rest)

    topics = OwnTopics(embedder, anchor_cache, TopicRule(), MeanRule(), PullRule())
    (found,) = topics.read(
        text[None].astype(np.float32), "en", {}, {"mine": {"en": unit(own.astype(np.float32))}}, None
    )

    assert [topic.topic for topic in found] == (["mine"] if counts else [])
