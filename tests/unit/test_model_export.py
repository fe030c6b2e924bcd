"""What is made of an exported graph. The export itself needs torch and is shown by ``make test-export``."""

import json
import logging

import pytest

from layers.model.export import main
from layers.model.finish import Wish, finish
from layers.model.golden import ASKED, GOLDEN
from layers.model.wheel import AssemblyError
from siftline.analyze.topics.cascade import Cascade
from siftline.analyze.topics.nli import EntailmentModel
from siftline.analyze.topics.topic_list import shipped_hypotheses, shipped_labels
from siftline.models.model_folders import ModelFolder, is_whole
from tests.nli_models import tiny_graph, tiny_tokenizer, words_of

CASCADE = Cascade(shipped_labels().labels, shipped_hypotheses(), None)
SENTENCES = {
    (topic, golden.language): CASCADE.hypothesis(topic, golden.language, "{}") for topic in ASKED for golden in GOLDEN
}


@pytest.fixture
def raw(tmp_path):
    """What optimum leaves: a float32 graph that knows the topics' words, a tokenizer, the hub's description."""
    folder = tmp_path / "raw"
    folder.mkdir()
    words = words_of(*(sentence.replace(":", " ") for sentence in SENTENCES.values()))
    (folder / "model.onnx").write_bytes(tiny_graph(words))
    tiny_tokenizer(words).save(str(folder / "tokenizer.json"))
    describe(folder, {"0": "contradiction", "1": "ENTAILMENT", "2": "neutral"})
    return folder


@pytest.fixture(autouse=True)
def quiet(caplog):
    """onnxruntime's quantiser logs a piece of advice for graphs it did not prepare itself."""
    caplog.set_level(logging.ERROR)


def describe(folder, labels, architecture="TinyForSequenceClassification"):
    config = {"architectures": [architecture], "id2label": labels, "hidden_size": 3, "max_position_embeddings": 256}
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "tokenizer_config.json").write_text(json.dumps({"model_max_length": 1e30}))


def made(raw, out, **wish):
    said: list[str] = []
    return finish(raw, out, Wish("acme/Tiny NLI", **wish), said.append), said


def test_an_export_becomes_a_model_folder_that_the_second_pass_reads(raw, tmp_path):
    manifest, said = made(raw, tmp_path / "out", proven=False)

    assert is_whole(tmp_path / "out")
    assert manifest.model_version.startswith("acme-tiny-nli-int8-")
    assert (manifest.task, manifest.entailment, manifest.contradiction, manifest.max_tokens) == ("nli", 1, 0, 256)
    assert manifest.labels == ("contradiction", "ENTAILMENT", "neutral")
    judge = EntailmentModel(str(tmp_path / "out"), tmp_path)
    sport = CASCADE.hypothesis("sport", "en", judge.template)
    assert judge.entailment("The football match ended without a goal", sport) > judge.entailment("It rained.", sport)
    assert any("int8" in line for line in said)


def test_the_manifest_reports_how_well_int8_and_float32_agree(raw, tmp_path):
    report = made(raw, tmp_path / "out", proven=False)[0].report

    assert report["pairs"] == len(GOLDEN) * len(ASKED)
    assert report["same_answer"] >= 0.9
    assert 0 <= report["difference_max"] < 0.2
    assert {"golden", "apart"} <= set(report)
    assert ModelFolder(str(tmp_path / "out"), tmp_path).manifest.report == report


def test_a_model_that_fails_the_golden_set_is_refused_and_leaves_nothing(raw, tmp_path):
    """Case A13: a file whose labels are all alike, however sure of each, does not become the second pass's model."""
    (raw / "model.onnx").write_bytes(tiny_graph(["nothing"]))
    tiny_tokenizer(["nothing"]).save(str(raw / "tokenizer.json"))

    with pytest.raises(AssemblyError, match="golden texts"):
        made(raw, tmp_path / "out")
    assert [path.name for path in tmp_path.iterdir()] == ["raw"]


def taught(folder, **answers):
    """Make the float32 graph one that knows the golden texts' topics; ``answers`` say how sure it is of them.

    To it all words that only one topic's texts and sentences have are one word.
    """
    of_topic = {
        topic: set(
            words_of(
                *(golden.text for golden in GOLDEN if golden.topic == topic),
                *(sentence for (asked, _), sentence in SENTENCES.items() if asked == topic),
            )
        )
        for topic in ASKED
    }
    (folder / "model.onnx").write_bytes(tiny_graph(ASKED, **answers))
    tokenizer = json.loads(tiny_tokenizer(ASKED).to_str())
    for topic, words in of_topic.items():
        own = words.difference(*(other for name, other in of_topic.items() if name != topic))
        tokenizer["model"]["vocab"] |= dict.fromkeys(own, tokenizer["model"]["vocab"][topic])
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer))


def test_a_model_that_passes_the_golden_set_is_kept(raw, tmp_path):
    taught(raw)

    report = made(raw, tmp_path / "out")[0].report
    assert report["golden"] >= 0.7
    assert report["apart"] >= 0.2


@pytest.mark.parametrize(
    ("answers", "least", "most"),
    [
        pytest.param({"step": 0.4, "start": (0.0, -0.5, 0.5)}, 0.1, 0.5, id="under-confident"),
        pytest.param({"step": 1.0, "start": (0.0, 5.0, -1.0)}, 0.98, 1.0, id="all-of-them-at-.99"),
    ],
)
def test_a_model_that_ranks_rightly_but_hardly_tells_topics_apart_is_refused(raw, tmp_path, answers, least, most):
    """Case A13: under-confident as some quantised models are, or sure of everything; no label's score means a thing."""
    taught(raw, **answers)
    report = made(raw, tmp_path / "kept", proven=False)[0].report
    assert report["golden"] >= 0.7
    judge = EntailmentModel(str(tmp_path / "kept"), tmp_path)
    said = [
        judge.entailment(golden.text, CASCADE.hypothesis(topic, golden.language, judge.template))
        for golden in GOLDEN
        for topic in ASKED
    ]
    assert least <= min(said) <= max(said) <= most

    with pytest.raises(AssemblyError, match=r"tells topics apart by 0\.0"):
        made(raw, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_outputs_without_entailment_are_no_model_of_inference(raw, tmp_path):
    describe(raw, {"0": "LABEL_0", "1": "LABEL_1", "2": "LABEL_2"})

    with pytest.raises(AssemblyError, match="none of them is entailment"):
        made(raw, tmp_path / "out")


@pytest.mark.parametrize(
    ("architecture", "task"),
    [("BertForTokenClassification", "token"), ("BertModel", "embedding"), ("XForSequenceClassification", "nli")],
)
def test_the_task_follows_from_the_architecture(raw, tmp_path, architecture, task):
    describe(raw, {"0": "contradiction", "1": "entailment", "2": "neutral"}, architecture)

    assert made(raw, tmp_path / "out", proven=False)[0].task == task


@pytest.mark.parametrize(
    ("raised", "why"),
    [
        (
            "huggingface_hub.errors.HFValidationError: Repo id must be in the form 'name': '/nope'.",
            "Repo id must be in",
        ),
        (
            "OSError: acme/tiny is not a local folder and is not a valid model identifier.\nIf it is",
            "acme/tiny is not a",
        ),
    ],
)
def test_a_model_that_is_not_there_is_said_in_a_sentence(tmp_path, capsys, monkeypatch, raised, why):
    optimum = tmp_path / "optimum-cli"
    optimum.write_text(
        f'#!/bin/sh\ncat >&2 <<END\nTraceback (most recent call last):\n  File "hub.py"\n{raised}\nEND\nexit 1\n'
    )
    optimum.chmod(0o755)
    monkeypatch.setattr("layers.model.export.OPTIMUM", optimum)

    assert main(["--model", "acme/tiny", "--out", str(tmp_path / "out")]) == 1
    [line] = capsys.readouterr().err.splitlines()
    assert line.startswith(f"export: acme/tiny cannot be loaded: {why}")


def test_without_optimum_the_command_says_what_to_do(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("layers.model.export.OPTIMUM", tmp_path / "optimum-cli")

    assert main(["--model", "acme/tiny", "--out", str(tmp_path / "out")]) == 1
    assert "make export-model" in capsys.readouterr().err
