"""Whether a query finds texts in other languages as well as those in its own: the sample articles, the shipped model.

Each query once as the model reads it, and once levelled (``siftline.rank.languages``): the place of the article that a
frozen query must find (``events/samples/queries.yaml``), and how well topics' terms find the articles of that topic,
all of them and those in other languages than the terms (mean average precision; precision at each of those).
"""

import tomllib
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from numpy.typing import NDArray

from siftline.models.embedder import OnnxEmbedder
from siftline.models.model_folders import ModelFolder
from siftline.rank.languages import apart_of, levelled

Vectors = NDArray[np.float32]
Level = Callable[[Vectors], Vectors]
_SAMPLES = Path("events/samples")


def compared(model: Path) -> list[dict[str, Any]]:
    """Return a row for queries as they are, and one for levelled ones."""
    embedder = OnnxEmbedder(ModelFolder(str(model), model), tokens_max=192, threads=2)
    articles = _articles()
    texts = np.stack([embedder.embed_passage(f"{one['title']}\n\n{one['body']}") for one in articles])
    apart = apart_of([(one["language"], row.tobytes()) for one, row in zip(articles, texts, strict=True)])
    frozen = yaml.safe_load((_SAMPLES / "queries.yaml").read_text(encoding="utf-8"))["queries"]
    asked = [(embedder.embed_query(one["query"]), one["slug"]) for one in frozen]
    topics = _topics(embedder)
    ways: list[tuple[str, Level]] = [
        ("as the model reads it", lambda row: row),
        ("levelled", lambda row: levelled(row, apart)),
    ]
    return [_row(name, level, articles, texts, asked, topics) for name, level in ways]


def _row(
    name: str,
    level: Level,
    articles: list[dict[str, Any]],
    texts: Vectors,
    asked: list[tuple[Vectors, str]],
    topics: list[tuple[Vectors, str, str]],
) -> dict[str, Any]:
    places = []
    for query, slug in asked:
        order = np.argsort(-(texts @ level(query)))
        places.append([articles[at]["slug"] for at in order].index(slug) + 1)
    every, other = [], []
    for query, language, topic in topics:
        order = np.argsort(-(texts @ level(query)))
        about = np.array([topic in articles[at].get("topics", ()) for at in order])
        foreign = np.array([articles[at]["language"] != language for at in order])
        precision = np.cumsum(about) / np.arange(1, len(order) + 1)
        every.extend([float(precision[about].mean())] if about.any() else [])
        other.extend([float(precision[about & foreign].mean())] if (about & foreign).any() else [])
    return {
        "query": name,
        "frozen first": sum(place == 1 for place in places),
        "frozen worst place": max(places),
        "topics' articles": round(float(np.mean(every)), 3),
        "in other languages": round(float(np.mean(other)), 3),
    }


def _articles() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for path in sorted((_SAMPLES / "articles").glob("*.yaml")):
        feed = yaml.safe_load(path.read_text(encoding="utf-8"))
        whole = (one for one in feed["articles"] if one.get("title") and one.get("body"))
        found.extend({"language": feed["language"], **one} for one in whole)
    return found


def _topics(embedder: OnnxEmbedder) -> list[tuple[Vectors, str, str]]:
    """Return a query for each topic in each language that most of the articles are in."""
    text = (files("siftline.analyze.topics") / "data" / "topics.toml").read_text(encoding="utf-8")
    return [
        (embedder.embed_query(topic[language]), language, topic["id"])
        for topic in tomllib.loads(text)["topics"]
        for language in ("en", "de", "fr", "es")
        if language in topic
    ]
