"""Is the quantised model the model? Agreement with the float32 graph, and the right answers to a few questions."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

from layers.model.cases import Cases
from layers.model.wheel import AssemblyError
from siftline.models.onnx_model import open_session

COSINE_MIN = 0.99


def agreement(quantised: Path, reference: bytes, tokenizer: Tokenizer, cases: Cases) -> float:
    """Return the least cosine between the two models' vectors; raise ``AssemblyError`` where they disagree."""
    texts = [f"passage: {text}" for text in cases.passages] + [f"query: {text}" for text, _ in cases.queries]
    exact = _vectors(open_session(reference, threads=2), tokenizer, texts)
    close = _vectors(open_session(quantised, threads=2), tokenizer, texts)
    least = float((exact * close).sum(axis=1).min())
    if not least >= COSINE_MIN:  # NaN must not pass
        raise AssemblyError(
            f"The quantised model differs from the float32 one on this processor (cosine {least:.4f}, at least "
            f"{COSINE_MIN} is needed). Assemble it on another machine and copy the folder."
        )
    for number, (query, answer) in enumerate(cases.queries):
        for name, vectors in (("float32", exact), ("quantised", close)):
            passages, asked = vectors[: len(cases.passages)], vectors[len(cases.passages) + number]
            found = int((passages @ asked).argmax())
            if found != answer:
                raise AssemblyError(
                    f"The {name} model answers {query!r} with {cases.passages[found]!r}: it is not the expected model."
                )
    return least


def _vectors(session: Any, tokenizer: Tokenizer, texts: Sequence[str]) -> NDArray[np.float32]:
    rows = []
    for text in texts:
        ids = np.array([tokenizer.encode(text).ids], np.int64)
        rows.append(session.run(None, {"input_ids": ids, "attention_mask": np.ones_like(ids)})[0][0])
    return np.stack(rows)
