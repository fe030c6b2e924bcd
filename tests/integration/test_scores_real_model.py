"""Do interests find what they are about with the real model, whichever languages both are in? A gate on what ships."""

from pathlib import Path

import numpy as np
import pytest
import yaml

from siftline.analyze.topics.anchors import AnchorCache
from siftline.analyze.topics.directions import Directions
from siftline.analyze.topics.topic_list import shipped_labels, shipped_news
from siftline.kit.clock import SystemClock
from siftline.models.embedder import OnnxEmbedder
from siftline.models.model_folders import ModelFolder
from siftline.rank.interest_profile import Liked, centred, interest_likeness, make_profile, ordinary
from tests.models import real_model

pytestmark = pytest.mark.slow
SAMPLES = Path(__file__).resolve().parents[2] / "events" / "samples" / "articles"
# Interests as people write them, and the samples' own word for what they mean.
INTERESTS = {
    "football": "sport",
    "solar energy": "energy",
    "Raumfahrt": "space",
    "la santé": "health",
    "ciencia": "science",
    "交通": "transport",
}


@pytest.fixture(scope="module")
def embedder(tmp_path_factory):
    return OnnxEmbedder(ModelFolder(str(real_model()), tmp_path_factory.mktemp("models")), tokens_max=192)


@pytest.fixture(scope="module")
def articles(embedder) -> list[tuple[str, set[str], bytes]]:
    found = []
    for file in sorted(SAMPLES.glob("*.yaml")):
        feed = yaml.safe_load(file.read_text(encoding="utf-8"))
        for article in feed["articles"]:
            vector = embedder.embed_passage(f"{article['title']}. {article['body']}")
            language = article.get("language", feed["language"])
            found.append((language, set(article["topics"]), vector.astype("<f4").tobytes()))
    return found


@pytest.fixture
def directions(database, embedder, tmp_path):
    anchor_cache = AnchorCache(embedder, shipped_labels(), shipped_news(), lambda: [real_model(), tmp_path])
    return Directions(database, embedder, anchor_cache, SystemClock())


def above(wanted: np.ndarray, others: np.ndarray) -> float:
    """Return how often one that is wanted stands above another (the area under the ROC curve)."""
    return float(np.mean([(one > others).mean() for one in wanted]))


def test_an_interest_stands_nearer_to_what_it_is_about_than_to_the_rest_in_any_language(directions, articles):
    own = centred([(language, vector) for language, _, vector in articles], directions)
    found = {}
    for interest, topic in INTERESTS.items():
        direction, _ = directions.phrase(interest)
        meant = np.array([topic in topics for _, topics, _ in articles])
        found[interest] = above((own @ direction)[meant], (own @ direction)[~meant])

    assert np.mean(list(found.values())) >= 0.85, found


def test_what_is_called_near_to_an_interest_is_mostly_about_it(directions, articles):
    own = centred([(language, vector) for language, _, vector in articles], directions)
    right = []
    for interest, topic in INTERESTS.items():
        cosines = own @ directions.phrase(interest)[0]
        (usual,) = ordinary(cosines[:, None])
        right += [
            topic in topics
            for cosine, (_, topics, _) in zip(cosines, articles, strict=True)
            if interest_likeness(float(cosine), usual) >= 0.5
        ]

    assert len(right) >= 8
    assert np.mean(right) >= 0.6, right


def test_an_interest_names_its_topic(directions):
    assert max(directions.phrase("football")[1].items(), key=lambda told: told[1])[0] == "sport"
    assert max(directions.phrase("Sonnenenergie")[1].items(), key=lambda told: told[1])[0] == "energy"


def test_stars_in_one_language_lift_their_topic_in_others(directions, articles):
    held = [(language, vector) for language, _, vector in articles]
    starred = [row for row, (language, topics, _) in enumerate(articles) if "sport" in topics and language == "es"][:3]
    liked = [Liked(starred=True, age_s=0.0, lang=held[row][0], vector=held[row][1]) for row in starred]
    profile = make_profile((), directions, liked, held, {}, {}, half_life_s=1e6)

    assert profile.history is not None
    rows = centred(held, directions) - profile.centre
    cosines = rows @ profile.history / np.linalg.norm(rows, axis=1)
    meant = np.array(["sport" in topics and language != "es" for language, topics, _ in articles])
    others = np.array(["sport" not in topics for _, topics, _ in articles])
    assert above(cosines[meant], cosines[others]) >= 0.75
