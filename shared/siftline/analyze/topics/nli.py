"""Does a text say that it is about something? A cross-encoder of natural language inference, in ONNX on the processor.

Premise is the text, hypothesis a sentence with the topic's words; the answer is the probability that one follows from
the other. A model folder says in its manifest which output means that (``task`` is ``nli``). Dear: one run a topic.
"""

from functools import cache
from pathlib import Path

import numpy as np

from siftline.kit.errors import PermanentError
from siftline.models.model_folders import ModelFolder, ModelUnavailableError
from siftline.models.onnx_model import ModelUnfitError, OnnxModel, model_errors_as

_NAME = "The second pass's model (TOPIC_MODEL_URI)"


class TopicModelUnfitError(ModelUnfitError):
    """TOPIC_MODEL_URI names no folder of a model of inference that can be loaded."""

    code = "topic_model_unfit"
    provider = "topic_model"


class TopicModelUnavailableError(ModelUnavailableError):
    """The second pass's model could not be fetched now."""

    code = "topic_model_unavailable"
    provider = "topic_model"


class UnusableAnswerError(PermanentError):
    """The model answered with something that is no number."""

    code = "unusable_answer"


class EntailmentModel:
    """A cross-encoder over a model folder; its files are fetched and loaded at the first question.

    Its errors are ``TopicModelUnfitError`` and ``TopicModelUnavailableError``.
    """

    def __init__(self, uri: str, cache_folder: Path, *, tokens_max: int | None = None, threads: int = 2) -> None:
        with model_errors_as(TopicModelUnfitError, TopicModelUnavailableError, _NAME):
            folder = ModelFolder(uri, cache_folder)
        self._manifest = folder.manifest
        if self._manifest.task != "nli":
            raise TopicModelUnfitError(f"TOPIC_MODEL_URI is a model for {self._manifest.task}, not for inference.")
        self._model = OnnxModel(folder, tokens_max=tokens_max, threads=threads)

    @property
    def model_id(self) -> str:
        """The model's name, from its manifest."""
        return self._manifest.model_id

    @property
    def model_version(self) -> str:
        """The model's version, from its manifest."""
        return self._manifest.model_version

    @property
    def template(self) -> str:
        """The sentence that the model was made for; ``{}`` stands for a topic's words."""
        return self._manifest.hypothesis_template

    def entailment(self, premise: str, hypothesis: str) -> float:
        """Return how probable it is, in (0, 1), that the hypothesis follows from the premise.

        Weighed against contradiction alone where the model knows one, else against all other outputs. A premise that
        is too long is cut, never the hypothesis. Raises ``UnusableAnswerError``.
        """
        with model_errors_as(TopicModelUnfitError, TopicModelUnavailableError, _NAME):
            logits = self._model.run(self._model.encode(premise, hypothesis)).astype(np.float64)
        manifest = self._manifest
        if logits.shape != (len(manifest.labels),) or manifest.entailment is None:
            raise TopicModelUnfitError(
                f"The model returned {logits.shape}, but its manifest states {len(manifest.labels)} labels."
            )
        if not np.isfinite(logits).all():
            raise UnusableAnswerError("The model of the second pass returned values that are not numbers.")
        against = (
            logits[[manifest.contradiction]]
            if manifest.contradiction is not None
            else np.delete(logits, manifest.entailment)
        )
        return float(1.0 / (1.0 + np.exp(np.clip(against - logits[manifest.entailment], -60, 60)).sum()))


@cache
def open_entailment(uri: str, cache_folder: str, *, tokens_max: int | None = None, threads: int = 2) -> EntailmentModel:
    """Return this process's model of inference: its manifest is read now, its files at the first question."""
    return EntailmentModel(uri, Path(cache_folder), tokens_max=tokens_max, threads=threads)
