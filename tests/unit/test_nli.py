import pytest

from siftline.analyze.topics.nli import EntailmentModel, TopicModelUnfitError, open_entailment
from siftline.models.model_folders import MANIFEST
from tests.models import tiny_model
from tests.nli_models import tiny_graph, tiny_nli

WORDS = ["football", "match", "goal", "bank", "money"]
MATCH = "A football match was won by a goal."
SPORT, ECONOMY = "This text is about football, match, goal.", "This text is about bank, money."


@pytest.fixture
def model(tmp_path):
    return EntailmentModel(str(tiny_nli(tmp_path / "nli", WORDS)), tmp_path)


def test_a_sentence_that_follows_is_more_probable_than_one_that_does_not(model):
    assert model.entailment(MATCH, SPORT) > 0.99
    assert model.entailment(MATCH, ECONOMY) < 0.2


def test_the_model_says_what_it_is(model):
    assert (model.model_id, model.model_version) == ("tiny-nli", "tiny-nli-1")
    assert model.template == "This text is about {}."


def test_a_long_text_is_cut_and_the_sentence_is_not(model):
    assert model.entailment(MATCH + " Rain fell." * 5_000, SPORT) > 0.99
    assert model.entailment("Rain fell. " * 5_000 + MATCH, SPORT) < 0.2


def test_without_contradiction_entailment_is_weighed_against_all_else(tmp_path):
    alone = EntailmentModel(str(tiny_nli(tmp_path / "nli", WORDS, contradiction=None)), tmp_path)
    against = EntailmentModel(str(tiny_nli(tmp_path / "other", WORDS)), tmp_path)

    assert alone.entailment("Rain.", SPORT) < against.entailment("Rain.", SPORT)


def test_half_a_character_is_no_reason_to_fail(model):
    assert model.entailment("A football \ud83d match goal", SPORT) > 0.5


def test_a_missing_damaged_or_other_model_is_named_as_the_topic_model(tmp_path):
    with pytest.raises(TopicModelUnfitError, match="TOPIC_MODEL_URI") as missing:
        EntailmentModel(str(tmp_path / "nowhere"), tmp_path)
    assert (missing.value.provider, missing.value.error_code) == ("topic_model", "model_missing")

    folder = tiny_nli(tmp_path / "nli", WORDS)
    (folder / "model.onnx").write_bytes(b"half")
    with pytest.raises(TopicModelUnfitError) as damaged:
        EntailmentModel(str(folder), tmp_path).entailment(MATCH, SPORT)
    assert damaged.value.error_code == "model_damaged"

    with pytest.raises(TopicModelUnfitError, match="for embedding, not for inference"):
        EntailmentModel(str(tiny_model(tmp_path / "embedding")), tmp_path)


def test_a_graph_of_other_outputs_than_the_manifest_names_is_refused(tmp_path):
    folder = tiny_nli(tmp_path / "nli", WORDS)
    size = (folder / "model.onnx").stat().st_size
    graph = tiny_graph(WORDS, outputs=2)
    (folder / "model.onnx").write_bytes(graph)
    text = (folder / MANIFEST).read_text()
    (folder / MANIFEST).write_text(text.replace(f'"size_bytes": {size}', f'"size_bytes": {len(graph)}'))

    with pytest.raises(TopicModelUnfitError, match="manifest states 3"):
        EntailmentModel(str(folder), tmp_path).entailment(MATCH, SPORT)


@pytest.mark.parametrize(
    "facts",
    [
        {"entailment": None},
        {"entailment": 3},
        {"entailment": 0},
        {"labels": ()},
        {"hypothesis_template": "This text."},
    ],
    ids=["no entailment", "beyond the labels", "both the same", "no labels", "no place for the topic"],
)
def test_a_manifest_that_does_not_say_what_the_outputs_mean_is_refused(tmp_path, facts):
    with pytest.raises(ValueError, match=r"entailment|labels|hypothesis"):
        tiny_nli(tmp_path / "nli", WORDS, **facts)


def test_a_process_opens_a_model_once(tmp_path):
    folder = str(tiny_nli(tmp_path / "nli", WORDS))

    assert open_entailment(folder, str(tmp_path)) is open_entailment(folder, str(tmp_path))
