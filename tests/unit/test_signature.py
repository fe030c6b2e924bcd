"""What texts have in common, estimated by their signatures."""

import hashlib
import random
import struct

import pytest

from siftline.ingest.duplicates import (
    BANDS,
    ROWS,
    SIGNATURE_VERSION,
    WORDS_MIN,
    Signature,
    is_minor_edit,
    likeness,
    signature,
    traits_of,
)
from siftline.ingest.ingest_store import AnalysedText, StoredReading
from tests.texts import prose, retold


def signed(text: str) -> Signature:
    found = signature(text)
    assert found is not None
    return found


def found(text: str, *url_keys: str) -> StoredReading:
    values = dict.fromkeys(StoredReading.__dataclass_fields__)
    values |= {"text": text, "word_count": len(text.split()), "content_sha256": b"", "url_keys": url_keys}
    return StoredReading(**values)  # type: ignore[arg-type]  # by name


def test_a_signature_is_the_same_everywhere_and_for_ever() -> None:
    one = signed(prose(1))
    packed = struct.pack(f"<{BANDS * ROWS}h{BANDS}i", *one.hashes, *one.bands)
    assert (SIGNATURE_VERSION, hashlib.sha256(packed).hexdigest()[:16]) == (1, "63d709aaf8b880ea")


def test_case_spaces_and_punctuation_make_no_difference() -> None:
    assert signed(prose(1)) == signed(prose(1).upper().replace(" ", "\n\n- "))


@pytest.mark.parametrize("changed", [0, 2, 5, 10, 20, 40, 80])
def test_likeness_is_about_the_share_of_runs_in_common(changed: int) -> None:
    errors = []
    for seed in range(20):
        one, other = prose(seed, 600), retold(prose(seed, 600), changed, seed)
        runs = [{tuple(text.split()[at : at + 5]) for at in range(596)} for text in (one, other)]
        exact = len(runs[0] & runs[1]) / len(runs[0] | runs[1])
        errors.append(likeness(signed(one).hashes, signed(other).hashes) - exact)
    assert abs(sum(errors) / len(errors)) < 0.03
    assert max(map(abs, errors)) < 0.16


def test_texts_that_are_alike_share_a_band() -> None:
    shared = [
        bool(set(signed(prose(seed, 600)).bands) & set(signed(retold(prose(seed, 600), 6, seed)).bands))
        for seed in range(100)
    ]
    assert sum(shared) >= 98


def test_other_texts_share_no_band() -> None:
    bands = [band for seed in range(200) for band in signed(prose(seed)).bands]
    assert len(set(bands)) == len(bands)


def test_a_script_without_spaces_is_compared_by_characters() -> None:
    rng = random.Random(1)
    text = "".join(chr(rng.randrange(0x4E00, 0x9000)) for _ in range(400))
    edited = text[:200] + "\u4e00" + text[201:]
    assert likeness(signed(text).hashes, signed(edited).hashes) > 0.9
    assert likeness(signed(text).hashes, signed(text[::-1]).hashes) < 0.1


def test_a_short_text_has_no_signature() -> None:
    words = prose(1).split()
    assert signature(" ".join(words[: WORDS_MIN - 1])) is None
    assert signature(" ".join(words[:WORDS_MIN])) is not None
    assert signature("") is None


@pytest.mark.parametrize(
    ("words", "changed", "added", "minor"),
    [
        (600, 0, 0, True),
        (600, 2, 0, True),
        (600, 0, 3, True),
        (600, 30, 0, False),
        (600, 0, 100, False),
        (80, 1, 0, False),
    ],
)
def test_a_correction_is_a_minor_edit_and_a_rewriting_is_not(words: int, changed: int, added: int, minor: bool) -> None:
    before = prose(3, words)
    one = signature(before)
    analysed = AnalysedText(one.hashes, words) if one else None
    after = " ".join([retold(before, changed, 3), *prose(4, 100).split()[:added]])
    assert is_minor_edit(analysed, traits_of(found(after))) is minor


def test_the_same_words_over_and_over_are_no_minor_edit() -> None:
    sentence = prose(5, 20)
    one = signed(" ".join([sentence] * 8))
    assert not is_minor_edit(AnalysedText(one.hashes, 160), traits_of(found(" ".join([sentence] * 9))))


def test_a_sites_first_page_is_no_other_name_of_a_page() -> None:
    names = ("https://n.example/", "https://n.example/?p=7", "https://n.example/story")
    assert traits_of(found(prose(1), *names)).url_keys == list(names[1:])
