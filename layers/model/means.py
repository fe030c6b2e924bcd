"""Writes the mean vectors of average news that ``siftline.cluster.language_means`` ships, from a model folder.

``PYTHONPATH=shared:. .venv/bin/python -m layers.model.means FOLDER``: again after a change of the model or of
``analyze/topics/data/news.toml``.
"""

import argparse
import json
from pathlib import Path

import numpy as np

OUT = Path(__file__).resolve().parents[2] / "shared" / "siftline" / "cluster" / "data" / "news_means.npz"


def main() -> None:
    """Write them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder
    version = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))["model_version"]
    means = {}
    for path in sorted(folder.glob("anchors-*.npz")):
        with np.load(path) as anchors:
            means[f"{version}/{path.name.split('-')[1]}"] = anchors["news_mean"].astype(np.float16)
    np.savez_compressed(OUT, **means)


if __name__ == "__main__":
    main()
