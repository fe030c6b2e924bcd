"""Organisations as a small model of spaCy finds them; runs in an environment of its own, beside nothing of ours.

``python -m benchmarks.spacy_peer MODEL < sentences.json > found.json``: a list of texts in, and out the seconds that
finding took and, for each text, the places ``[start, end]`` of its organisations.
"""

import json
import sys
import time

import spacy


def main() -> None:
    """Find them."""
    nlp = spacy.load(sys.argv[1])
    texts = json.load(sys.stdin)
    nlp(texts[0])  # the first text pays for what is loaded when first needed
    started = time.perf_counter()
    found = [
        [(entity.start_char, entity.end_char) for entity in nlp(text).ents if entity.label_ == "ORG"] for text in texts
    ]
    json.dump({"seconds": time.perf_counter() - started, "found": found}, sys.stdout)


if __name__ == "__main__":
    main()
