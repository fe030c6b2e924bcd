"""When two texts are one, and when an edit is none that matters: the measures, apart from where they are kept."""

from siftline.ingest.duplicates.duplicates_store import Traits
from siftline.ingest.duplicates.signature import likeness, signature
from siftline.ingest.ingest_store import AnalysedText, Found
from siftline.net.urls import is_home

DUPLICATE_LIKENESS_MIN = 0.85
"""Share of their runs of words that two texts must have in common, by their signatures, to be one in two places."""
MINOR_EDIT_LIKENESS_MIN = 0.9
"""To be one text after a correction, so that what was found in the one holds for the other: a word in a hundred may
be another, each being part of five runs, or one place of a twentieth of the text."""


def traits_of(found: Found) -> Traits:
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
