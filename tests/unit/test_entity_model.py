"""A tiny token classifier in ONNX: labels become names at their exact places, over windows of a long text."""

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from tokenizers import Tokenizer, models, pre_tokenizers, processors

from siftline.analyze.entities.entity_onnx import EntityModelUnfitError, OnnxRecognizer
from siftline.analyze.entities.mentions import Kind
from siftline.models.model_folders import Manifest, facts_of, write_manifest

BIO = ("O", "B-ORG", "I-ORG", "B-PER", "I-PER", "B-MISC")
PIECES = {
    "Acme": "B-ORG",
    "Robot": "I-ORG",
    "##ics": "O",
    "Inc": "I-ORG",
    "Anna": "B-PER",
    "Weber": "I-PER",
    "Cup": "B-MISC",
    "met": "O",
    "at": "O",
    "the": "O",
}


def tiny_classifier(folder: Path, labels: tuple[str, ...] = BIO, pieces: dict[str, str] = PIECES, **manifest) -> Path:
    """Write a model folder whose graph looks each token's label up in a table."""
    folder.mkdir(exist_ok=True)
    vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", *pieces]
    table = np.zeros((len(vocabulary), len(labels)), np.float32)
    for row, piece in enumerate(vocabulary):
        table[row, labels.index(pieces.get(piece, "O"))] = 5.0
    graph = helper.make_graph(
        [helper.make_node("Gather", ["table", "input_ids"], ["logits"])],
        "tiny",
        [helper.make_tensor_value_info("input_ids", TensorProto.INT64, ["batch", "tokens"])],
        [helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["batch", "tokens", len(labels)])],
        [numpy_helper.from_array(table, "table")],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    onnx.save(model, str(folder / "model.onnx"))
    tokenizer = Tokenizer(models.WordPiece({piece: row for row, piece in enumerate(vocabulary)}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    tokenizer.save(str(folder / "tokenizer.json"))
    values = {"model_id": "tiny", "model_version": "1", "task": "token", "labels": labels, "max_tokens": 64}
    files = {name: facts_of(folder / name) for name in ("model.onnx", "tokenizer.json")}
    write_manifest(folder, Manifest(**values | manifest, files=files))
    return folder


def found(recognizer: OnnxRecognizer, text: str) -> list[tuple[str, Kind]]:
    return [(text[one.start : one.end], one.kind) for one in recognizer.recognize(text, "en")]


def test_words_of_several_tokens_and_names_of_several_words_are_found_whole(tmp_path):
    recognizer = OnnxRecognizer(str(tiny_classifier(tmp_path / "m")), tmp_path, threads=1)

    assert found(recognizer, "the Acme  Robotics, Anna Weber at Acme Inc. met Cup") == [
        ("Acme  Robotics", Kind.ORGANISATION),
        ("Anna Weber", Kind.PERSON),
        ("Acme Inc", Kind.ORGANISATION),
    ]
    assert (recognizer.model_id, recognizer.model_version) == ("tiny", "1")


def test_labels_that_say_where_names_end_part_neighbours(tmp_path):
    labels = ("O", "B-ORG", "L-ORG", "U-ORG")
    pieces = {"Acme": "B-ORG", "Inc": "L-ORG", "Anna": "U-ORG"}
    recognizer = OnnxRecognizer(str(tiny_classifier(tmp_path / "m", labels, pieces)), tmp_path, threads=1)

    assert [name for name, _ in found(recognizer, "Acme Inc Anna Anna Acme Inc")] == [
        "Acme Inc",
        "Anna",
        "Anna",
        "Acme Inc",
    ]


@pytest.mark.parametrize("tokens_max", [8, 9, 16, 64])
def test_a_long_text_is_read_in_windows_and_no_place_shifts(tmp_path, tokens_max):
    recognizer = OnnxRecognizer(str(tiny_classifier(tmp_path / "m")), tmp_path, tokens_max=tokens_max, threads=1)
    text = "\ud800 the Acme Robotics met. \U0001f600 at Anna Weber. " * 30

    assert found(recognizer, text) == [("Acme Robotics", Kind.ORGANISATION), ("Anna Weber", Kind.PERSON)] * 30


@pytest.mark.parametrize("text", ["", " ", "x" * 5_000, "\n" * 300])
def test_texts_without_names_or_spaces_are_read_to_their_end(tmp_path, text):
    recognizer = OnnxRecognizer(str(tiny_classifier(tmp_path / "m")), tmp_path, tokens_max=8, threads=1)

    assert found(recognizer, text) == []


def test_a_folder_of_another_kind_or_none_names_its_own_provider(tmp_path):
    with pytest.raises(EntityModelUnfitError) as missing:
        OnnxRecognizer(str(tmp_path / "nothing"), tmp_path)
    folder = tiny_classifier(tmp_path / "m", task="nli", entailment=0)
    with pytest.raises(EntityModelUnfitError):
        OnnxRecognizer(str(folder), tmp_path)

    assert (missing.value.provider, missing.value.error_code) == ("entity_model", "model_missing")


def test_a_graph_that_gives_another_number_of_labels_is_refused(tmp_path):
    folder = tiny_classifier(tmp_path / "m", labels=BIO)
    manifest = Manifest.model_validate_json((folder / "manifest.json").read_bytes())
    write_manifest(folder, manifest.model_copy(update={"labels": BIO[:3]}))

    with pytest.raises(EntityModelUnfitError):
        OnnxRecognizer(str(folder), tmp_path).recognize("Acme", None)
