import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from siftline.models.embedder import OnnxEmbedder, open_embedder
from siftline.models.model_folders import Manifest, ModelFolder, facts_of, write_manifest
from siftline.models.onnx_model import ModelUnfitError
from siftline.models.unit_vector import UnusableVectorError
from tests.models import HIDDEN, tiny_embedder, tiny_model


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tiny_model(tmp_path_factory.mktemp("tiny"))


@pytest.fixture(scope="module")
def embedder(folder):
    return tiny_embedder(folder)


def test_a_text_becomes_a_unit_vector_the_same_every_time(embedder):
    first, second = embedder.embed_passage("the team won the match"), embedder.embed_passage("the team won the match")

    assert first.dtype == np.float32
    assert first.shape == (HIDDEN,) == (embedder.dimensions,)
    assert np.linalg.norm(first) == pytest.approx(1, abs=1e-5)
    assert np.array_equal(first, second)


def test_texts_that_share_words_are_nearer_than_others(embedder):
    match, same, bank = (
        embedder.embed_passage(text)
        for text in ("the football team won the match", "a football match the team won", "inflation and interest rates")
    )

    assert match @ same > match @ bank


def test_queries_and_passages_take_the_prefixes_of_the_manifest(embedder):
    assert not np.array_equal(embedder.embed_query("football"), embedder.embed_passage("football"))
    assert (embedder.model_id, embedder.model_version) == ("multilingual-e5-small", "e5-small-int8-1")


def test_what_lies_beyond_the_tokens_changes_nothing(folder):
    short = tiny_embedder(folder, tokens_max=16)
    text = "the striker scored a goal and the football team won the match " * 3

    assert np.array_equal(short.embed_passage(text), short.embed_passage(text + "inflation " * 100_000))


@pytest.mark.parametrize("text", ["", " \n ", "\udc80", "\x00", "日本語", "🚀" * 1000, "a\u0301" * 50])
def test_any_text_has_a_vector(embedder, text):
    assert np.isfinite(embedder.embed_passage(text)).all()


def test_a_process_has_one_embedder_a_model(folder, tmp_path):
    first = open_embedder(str(folder), str(tmp_path), tokens_max=64, threads=1)

    assert open_embedder(str(folder), str(tmp_path), tokens_max=64, threads=1) is first


def made(folder, tmp_path, output, *, inputs=("input_ids",), shape=("b", "s")):
    """A model folder whose graph gives ``output`` (a node's inputs are the tokens), with the tiny tokenizer."""
    nodes, out_shape = output
    values = [helper.make_tensor_value_info(name, TensorProto.INT64, list(shape)) for name in inputs]
    out = helper.make_tensor_value_info("out", TensorProto.FLOAT, out_shape)
    model = helper.make_model(helper.make_graph(nodes, "g", values, [out]), opset_imports=[helper.make_opsetid("", 20)])
    model.ir_version = 10
    onnx.save(model, tmp_path / "model.onnx")
    (tmp_path / "tokenizer.json").write_bytes((folder / "tokenizer.json").read_bytes())
    files = {name: facts_of(tmp_path / name) for name in ("model.onnx", "tokenizer.json")}
    write_manifest(tmp_path, Manifest(model_id="m", model_version="m-1", dimensions=3, max_tokens=8, files=files))
    return OnnxEmbedder(ModelFolder(str(tmp_path), tmp_path), threads=1)


def constant(values):
    array = np.array(values, np.float32)
    tensor = helper.make_tensor("value", TensorProto.FLOAT, array.shape, array.ravel())
    return [helper.make_node("Constant", [], ["out"], value=tensor)], list(array.shape)


@pytest.mark.parametrize("values", [[[0, 0, 0]], [[float("nan"), 1, 1]], [[float("inf"), 1, 1]]])
def test_a_vector_without_direction_is_refused(folder, tmp_path, values):
    embedder = made(folder, tmp_path, constant(values))

    with pytest.raises(UnusableVectorError):
        embedder.embed_passage("text")


def test_a_model_that_gives_a_vector_a_token_is_pooled(folder, tmp_path):
    embedder = made(folder, tmp_path, constant([[[3, 0, 0], [0, 0, 4], [3, 0, 0]]]))

    assert embedder.embed_passage("text") == pytest.approx([6 / 52**0.5, 0, 4 / 52**0.5], abs=1e-6)


def test_a_model_of_other_dimensions_is_refused(folder, tmp_path):
    with pytest.raises(ModelUnfitError, match="instead of 3"):
        made(folder, tmp_path, constant([[1, 2]])).embed_passage("text")


def test_a_model_with_other_inputs_is_refused(folder, tmp_path):
    with pytest.raises(ModelUnfitError, match="pixel_values"):
        made(folder, tmp_path, constant([[1, 2, 3]]), inputs=("pixel_values",)).load()


@pytest.mark.parametrize("name", ["model.onnx", "tokenizer.json"])
def test_a_file_that_cannot_be_loaded_is_named(folder, tmp_path, name):
    embedder = made(folder, tmp_path, constant([[1, 2, 3]]))
    data = (tmp_path / name).read_bytes()
    (tmp_path / name).write_bytes(b"\xff" * len(data))

    with pytest.raises(ModelUnfitError, match=name):
        embedder.load()
