"""How similarity becomes a score, for an embedding model and a set of topics: ``data/calibrations.toml``."""

import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from siftline.analyze.topics.topic_list import LabelSet, shipped_labels
from siftline.analyze.topics.topic_scoring import Calibration


class _Fitted(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    similarity: float = Field(gt=0)
    lead: float = Field(ge=0)
    offset: float
    offsets: dict[str, float]


_FITTED: TypeAdapter[dict[str, _Fitted]] = TypeAdapter(dict[str, _Fitted])


def calibration_for(model_version: str, labels: LabelSet) -> Calibration:
    """Return the calibration of a model's scores; a topic's own offset only where it is described as shipped."""
    fitted = _fitted().get(model_version)
    if fitted is None:
        return Calibration()
    shipped = {label.id: label for label in shipped_labels().labels}
    own = {
        label.id: fitted.offsets[label.id]
        for label in labels.labels
        if label.id in fitted.offsets and shipped.get(label.id) == label
    }
    return Calibration(fitted.similarity, fitted.lead, fitted.offset, own)


@cache
def _fitted() -> Mapping[str, _Fitted]:
    raw = (files("siftline.analyze.topics") / "data" / "calibrations.toml").read_text(encoding="utf-8")
    return _FITTED.validate_python(tomllib.loads(raw))
