"""A tiny model of inference, made on the spot: a topic's sentence follows from a text where they share words.

Its graph is a few ``onnx`` nodes that count the words in common; manifest, tokenizer and graph are read by the very
code that reads an export.
"""

import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

from siftline.models.model_folders import Manifest, facts_of, write_manifest

SPECIAL = ("[PAD]", "[CLS]", "[SEP]", "[UNK]")
LABELS = ("contradiction", "entailment", "neutral")


class Sayings:
    """A judge for tests of what is done with answers: it says of each sentence what was given for a word in it."""

    model_id = "sayings"
    model_version = "sayings-1"
    template = "This text is about {}."

    def __init__(self, answers: dict[str, float]) -> None:
        self.answers = answers
        self.asked: list[tuple[str, str]] = []

    def entailment(self, premise: str, hypothesis: str) -> float:
        """Return the answer for the first word given that the sentence holds."""
        self.asked.append((premise, hypothesis))
        return next(answer for word, answer in self.answers.items() if word in hypothesis)


def tiny_graph(
    words: Sequence[str],
    outputs: int = len(LABELS),
    *,
    step: float = 4.0,
    start: tuple[float, float, float] = (2.0, 0.0, 0.0),
) -> bytes:
    """Return a graph that knows ``SPECIAL`` and these words and says how many of them the two have in common.

    Its logits are ``start``, and ``step`` more for entailment a common word.
    """
    vocabulary = len(SPECIAL) + len(words)
    counts = np.array([0.0] * len(SPECIAL) + [1.0] * len(words), np.float32)[:, None]
    weights = {
        "one_hot": np.eye(vocabulary, dtype=np.float32),
        "counts": np.hstack([counts * 0, counts, counts * 0])[:, :outputs] * np.float32(step),
        "start": np.array([start], np.float32)[:, :outputs],
        "last": np.array([-1], np.int64),
    }
    nodes = [
        helper.make_node("Gather", ["one_hot", "input_ids"], ["words"]),
        helper.make_node("Cast", ["token_type_ids"], ["second"], to=TensorProto.FLOAT),
        helper.make_node("Unsqueeze", ["second", "last"], ["second_column"]),
        helper.make_node("Mul", ["words", "second_column"], ["asked"]),
        helper.make_node("Sub", ["words", "asked"], ["told"]),
        helper.make_node("ReduceMax", ["asked"], ["asked_words"], axes=[1], keepdims=0),
        helper.make_node("ReduceMax", ["told"], ["told_words"], axes=[1], keepdims=0),
        helper.make_node("Mul", ["asked_words", "told_words"], ["common"]),
        helper.make_node("MatMul", ["common", "counts"], ["said"]),
        helper.make_node("Add", ["said", "start"], ["logits"]),
    ]
    inputs = [
        helper.make_tensor_value_info(name, TensorProto.INT64, ["batch", "tokens"])
        for name in ("input_ids", "token_type_ids")
    ]
    logits = helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["batch", outputs])
    kept = [numpy_helper.from_array(array, name) for name, array in weights.items()]
    graph = helper.make_graph(nodes, "tiny_nli", inputs, [logits], kept)
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    onnx.checker.check_model(made)
    raw: bytes = made.SerializeToString()
    return raw


def tiny_tokenizer(words: Sequence[str]) -> Tokenizer:
    """Return a tokenizer of whole words that tells a text and what is asked of it apart."""
    places = {word: place for place, word in enumerate((*SPECIAL, *words))}
    tokenizer = Tokenizer(models.WordLevel(places, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.Lowercase()
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS]:0 $A:0 [SEP]:0",
        pair="[CLS]:0 $A:0 [SEP]:0 $B:1 [SEP]:1",
        special_tokens=[("[CLS]", 1), ("[SEP]", 2)],
    )
    return tokenizer


def words_of(*texts: str) -> list[str]:
    """Return the words of texts, each once."""
    return sorted({word for text in texts for word in re.findall(r"\w+", text.lower())})


def tiny_nli(folder: Path, words: Sequence[str], **facts: object) -> Path:
    """Write the model that knows these words into a folder and return it; ``facts`` change its manifest."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "model.onnx").write_bytes(tiny_graph(words))
    tiny_tokenizer(words).save(str(folder / "tokenizer.json"))
    manifest = {
        "model_id": "tiny-nli",
        "model_version": "tiny-nli-1",
        "task": "nli",
        "labels": LABELS,
        "entailment": 1,
        "contradiction": 0,
        "hypothesis_template": "This text is about {}.",
        "max_tokens": 64,
        "files": {name: facts_of(folder / name) for name in ("model.onnx", "tokenizer.json")},
    }
    write_manifest(folder, Manifest.model_validate({**manifest, **facts}))
    return folder
