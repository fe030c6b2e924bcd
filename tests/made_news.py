"""The made-up news of ``tests/data/stories.toml``, with a model's vectors, and how well stories fit its events."""

import tomllib
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

_FILE = Path(__file__).parent / "data" / "stories.toml"


@dataclass(frozen=True)
class Report:
    """What one paper says of an event."""

    event: str
    topic: str
    language: str
    title: str
    text: str

    @property
    def passage(self) -> str:
        """What a model reads."""
        return f"{self.title}\n{self.text}"


def reports(*halves: str) -> list[Report]:
    """Return the reports of these halves: ``case``, ``fit``, ``proof``."""
    events = tomllib.loads(_FILE.read_text(encoding="utf-8"))["events"]
    return [
        Report(event["id"], event["topic"], *item)
        for event in events
        if event["half"] in halves
        for item in event["items"]
    ]


def vectors(texts: Sequence[Report], embed: Callable[[str], NDArray[np.float32]]) -> NDArray[np.float32]:
    return np.stack([embed(text.passage) for text in texts])


def precision_and_recall(found: Sequence[Hashable], true: Sequence[Hashable]) -> tuple[float, float]:
    """Return, of the pairs that were put together, how many belong together; and of those that do, how many were."""
    pairs = [(a, b) for b in range(len(true)) for a in range(b)]
    together = [pair for pair in pairs if found[pair[0]] == found[pair[1]]]
    belonging = [pair for pair in pairs if true[pair[0]] == true[pair[1]]]
    right = len(set(together) & set(belonging))
    return right / max(1, len(together)), right / max(1, len(belonging))
