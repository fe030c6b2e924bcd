"""What a text has in common with others, in a few numbers: MinHash over runs of words (Broder 1997).

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

from siftline.text.words import UNPARTED

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
