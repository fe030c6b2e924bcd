"""Topics of labelled articles, the way the product finds them: for ``score_topics.py MODULE:CALLABLE``.

Honest about the start: the first article meets only the average news that are shipped, each later one what the running
mean has learnt from the articles before it, in the order of the file. No label of an article is seen.
"""

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from siftline.analyze.anchors import ANY, Shelf
from siftline.analyze.labels import labels_of, shipped_news
from siftline.analyze.language import LanguageDetector
from siftline.analyze.means import Seen, mean_vector
from siftline.analyze.reader import Article
from siftline.analyze.topics import classify
from siftline.kit.embedder import open_embedder

MODEL = Path(__file__).resolve().parent.parent / ".local" / "model"


def classify_articles(
    articles: Sequence[Mapping[str, str]], labels: Mapping[str, str], model: Path = MODEL, *, tokens_max: int = 192
) -> list[list[tuple[str, float]]]:
    """Return all labels of each article with their scores, best first."""
    with tempfile.TemporaryDirectory() as scratch:
        embedder = open_embedder(str(model), scratch, tokens_max=tokens_max)
        shelf = Shelf(embedder, labels_of(labels), shipped_news(), lambda: [Path(scratch)])
        detector = LanguageDetector()
        seen: dict[str, dict[str, Seen]] = {}
        rankings = []
        for item in articles:
            article = Article(item["title"], item["text"])
            found = detector.detect(article.whole)
            language = found.language if found else ANY
            anchors, learnt = shelf.of(language), seen.setdefault(language, {})
            vector = embedder.embed_passage(article.whole)
            verdict = classify(vector, mean_vector(anchors, shelf.topics, learnt), shelf.topics, anchors.directions)
            if verdict.topics:
                best = verdict.topics[0].topic
                before = learnt.get(best, Seen(0, np.zeros(vector.size)))
                learnt[best] = Seen(before.documents + 1, before.vector_sum + vector)
            rankings.append([(topic.topic, topic.score) for topic in verdict.ranking])
    return rankings
