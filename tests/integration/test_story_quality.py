"""Stories by the shipped model: one event is one story in whatever words and language, and another event is another."""

from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from siftline.analyze.anchors import Shelf
from siftline.analyze.labels import shipped_labels, shipped_news
from siftline.cluster.joining import Rule, Telling, join
from siftline.cluster.means import centred, shipped
from siftline.kit.embedder import OnnxEmbedder
from siftline.kit.ids import new_id
from siftline.kit.models import ModelFolder
from tests.made_news import precision_and_recall, reports, vectors
from tests.models import real_model

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def embedder(tmp_path_factory):
    return OnnxEmbedder(ModelFolder(str(real_model()), tmp_path_factory.mktemp("models")), tokens_max=192)


@pytest.fixture(scope="module")
def told(embedder):
    """All reports, with their centred vectors."""
    news = reports("case", "fit", "proof")
    rows = centred(vectors(news, embedder.embed_passage), [one.language for one in news], embedder.model_version, {})
    return list(zip(news, rows, strict=True))


def stories_of(told, *, one_by_one=None):
    """The stories of reports that come within an hour, at once or in an order of their own, one after the other."""
    start = datetime(2026, 3, 1, tzinfo=UTC)
    ids = [new_id() for _ in told]
    tellings = [
        Telling(content_id, content_id, start + timedelta(minutes=place % 60), vector)
        for place, (content_id, (_, vector)) in enumerate(zip(ids, told, strict=True))
    ]
    found: dict = {}
    for batch in [tellings] if one_by_one is None else [[tellings[at]] for at in one_by_one]:
        held = [
            Telling(one.content_id, one.original_id, one.at, one.vector, found[one.content_id], loose=False)
            for one in tellings
            if one.content_id in found
        ]
        for story in join([*held, *batch], Rule()):
            story_id = story.id or new_id()
            found.update(dict.fromkeys(story.members, story_id))
    return [found[content_id] for content_id in ids]


def only(told, *halves):
    wanted = {one.title for one in reports(*halves)}
    return [pair for pair in told if pair[0].title in wanted]


def test_six_headlines_of_one_strait_are_one_story_and_six_others_are_apart(told):
    case = only(told, "case")
    found = stories_of(case)

    strait = {story for story, (one, _) in zip(found, case, strict=True) if one.event == "strait"}
    assert len(case) == 12
    assert len(strait) == 1
    assert len(set(found)) == 7


def test_the_reports_on_which_the_rule_was_chosen_come_out_right(told):
    fit = only(told, "fit")

    assert precision_and_recall(stories_of(fit), [one.event for one, _ in fit]) == (1.0, 1.0)


@pytest.mark.parametrize("order", [None, 0, 1, 2])
def test_of_reports_it_was_not_chosen_on_no_two_events_meet_and_most_of_each_come_together(told, order):
    one_by_one = None if order is None else np.random.default_rng(order).permutation(len(only(told, "proof")))
    proof = only(told, "proof")

    precision, recall = precision_and_recall(stories_of(proof, one_by_one=one_by_one), [one.event for one, _ in proof])

    print(f"precision {precision:.2f}, recall {recall:.2f}")  # noqa: T201  the figures are what this test is for
    assert precision == 1.0
    assert recall >= 0.8


def test_all_reports_together_keep_their_events_apart(told):
    precision, recall = precision_and_recall(stories_of(told), [one.event for one, _ in told])

    assert precision >= 0.95
    assert recall >= 0.85


def test_stories_hold_several_languages(told):
    found = stories_of(told)
    spoken: dict = {}
    for story, (one, _) in zip(found, told, strict=True):
        spoken.setdefault(story, set()).add(one.language)

    assert sum(len(languages) >= 2 for languages in spoken.values()) >= 15


def test_the_shipped_means_are_those_of_the_shipped_model(embedder, tmp_path):
    shelf = Shelf(embedder, shipped_labels(), shipped_news(), lambda: [real_model(), tmp_path])

    for language in ("en", "de", "fr", "es"):
        mean = shipped()[f"{embedder.model_version}/{language}"]
        assert np.allclose(mean, shelf.of(language).news_mean, atol=2e-3)
