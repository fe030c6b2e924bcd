"""When two texts are one, and when an edit is none that matters: the measures, apart from where they are kept.

What a text has in common with others, in a few numbers: MinHash over runs of words (Broder 1997).

Two texts have as many of their hashes alike as they have runs in common (Jaccard similarity), with a standard error of
at most 0.045. For look-up the hashes are banded (Leskovec et al., Mining of Massive Datasets, 3.4): texts that share
one of ``BANDS`` bands of ``ROWS`` hashes are candidates, which at similarity s happens with 1 - (1 - s^ROWS)^BANDS:
0.99 at 0.85, 0.61 at 0.7, 0.06 at 0.5; the turn is at (1 / BANDS)^(1 / ROWS), 0.71. With 32 bands of 4 it would be 0.87
at 0.5: what only shares a site's phrases would be compared again and again.
"""

import re
import struct
import zlib
from collections.abc import Sequence
from dataclasses import dataclass

from rensa import RMinHash

from siftline.ingest.ingest_store import AnalysedText, StoredReading
from siftline.net.urls import is_home
from siftline.text.words import UNPARTED

DUPLICATE_LIKENESS_MIN = 0.85
"""Share of their runs of words that two texts must have in common, by their signatures, to be one in two places."""
MINOR_EDIT_LIKENESS_MIN = 0.9
"""To be one text after a correction, so that what was found in the one holds for the other: a word in a hundred may
be another, each being part of five runs, or one place of a twentieth of the text."""

SIGNATURE_VERSION = 1
"""Goes up with any change of what is hashed or how (``RMinHash.ALGORITHM_VERSION`` 2): only equals are compared."""
BANDS = 16
ROWS = 8
WORDS_MIN = 100
"""A shorter text is like many others by chance, or a notice: it has no signature."""
_RUN = 5
_SEED = 20_260
_WORD = re.compile(rf"[{UNPARTED}]|[^\W{UNPARTED}]+")


@dataclass(frozen=True, slots=True)
class Signature:
    """``hashes``: 16 bits of each minimum, signed. ``bands``: one 32-bit hash of each band, signed, without order."""

    hashes: tuple[int, ...]
    bands: tuple[int, ...]


def signature(text: str) -> Signature | None:
    """Return a text's signature, ``None`` for one of fewer than ``WORDS_MIN`` words."""
    words = _WORD.findall(text.casefold())
    if len(words) < WORDS_MIN:
        return None
    sketch = RMinHash(num_perm=BANDS * ROWS, seed=_SEED)
    sketch.update([" ".join(words[at : at + _RUN]) for at in range(len(words) - _RUN + 1)])
    digest = sketch.digest()
    parts = (struct.pack(f"<I{ROWS}I", band, *digest[band * ROWS : (band + 1) * ROWS]) for band in range(BANDS))
    hashes = struct.unpack(f"<{len(digest)}h", struct.pack(f"<{len(digest)}H", *(one & 0xFFFF for one in digest)))
    return Signature(hashes, tuple(struct.unpack("<i", struct.pack("<I", zlib.crc32(part)))[0] for part in parts))


def likeness(one: Sequence[int], other: Sequence[int]) -> float:
    """Return the estimated share of runs that two texts have in common, from their ``hashes``, between 0 and 1."""
    return sum(map(int.__eq__, one, other)) / len(one)


@dataclass(frozen=True, slots=True)
class Traits:
    """What a content is compared by. ``url_keys`` are the other names that its page gives itself."""

    content_sha256: bytes
    word_count: int
    title: str | None
    url_keys: Sequence[str]
    signature: Signature | None
    likeness_min: float


def traits_of(found: StoredReading) -> Traits:
    """Return what a text is compared by. A site's first page is no other name of any page, whoever says so."""
    return Traits(
        content_sha256=found.content_sha256,
        word_count=found.word_count,
        title=found.title,
        url_keys=[key for key in found.url_keys if not is_home(key)],
        signature=signature(found.text),
        likeness_min=DUPLICATE_LIKENESS_MIN,
    )


def is_minor_edit(analysed: AnalysedText | None, traits: Traits) -> bool:
    """Return whether a text differs so little from the one analysed last that it need not be analysed again.

    Measured against that one and not against the last edit, so that many small edits count together. A text too
    short for a signature has no minor edits.
    """
    if analysed is None or traits.signature is None:
        return False
    short, long = sorted((analysed.word_count, traits.word_count))
    alike = likeness(analysed.hashes, traits.signature.hashes)
    return short >= MINOR_EDIT_LIKENESS_MIN * long and alike >= MINOR_EDIT_LIKENESS_MIN
