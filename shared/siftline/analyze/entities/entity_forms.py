"""Names that a legal form ends, in writings with spaces and in those without."""

import re
from collections.abc import Iterator, Sequence

from siftline.analyze.entities import entity_cues as cues
from siftline.analyze.entities.entity_text import Token
from siftline.text.legal_forms import COUNTRIES_OF
from siftline.text.names import parsed

# Forms that alone, and without dots, are more often something else.
_ALONE_NONE = frozenset({"Co", "SE", "Company", "AD", "AE", "CV", "HF", "KY", "RT", "BT", "DD", "AS", "EV", "LP", "GK"})
_FIRST_LETTERS = frozenset(form[0] for form in COUNTRIES_OF)
_FIRST_WORDS = frozenset(form.split()[0] for form in COUNTRIES_OF)
_FORM_TOKENS_MAX = 7
_NAME_TOKENS_MAX = 6
_WITHIN = frozenset({"&", "und", "and", "et", "y", "e", "+", "-", "de", "of"})
# Letters that a company's name has in Chinese and Japanese; hiragana and what links words end it.
_PART = "[\u30a0-\u30ff\u3005\u4e00-\u9fffA-Za-z0-9\uff21-\uff3a\uff41-\uff5a]"
_JAPANESE = "株式会社|有限会社|合同会社"
_BEHIND = f"{_JAPANESE}|股份有限公司|集团有限公司|有限责任公司|有限公司"
_LINKING = "了在的与和对是由被据从及或於于與對從"
_UNSPACED = re.compile(
    rf"(?:{_JAPANESE}){_PART}{{2,15}}|(?:(?![{_LINKING}]){_PART}){{2,15}}?(?:{_BEHIND})"
    r"|주식회사\s?[가-힣]{2,15}|[가-힣]{2,15}\s?주식회사"
)


def legal_spans(tokens: Sequence[Token]) -> Iterator[tuple[int, int]]:
    """Yield the places of names with their legal forms: ``Müller & Söhne GmbH & Co. KG``, ``Acme, Inc.``."""
    place, after = 1, 0
    while place < len(tokens):
        end = _form_end(tokens, place)
        start = _name_start(tokens, place, after) if end > place else place
        if start < place:
            yield start, end
            place = after = end
        else:
            place += 1


def unspaced_spans(text: str) -> Iterator[tuple[int, int]]:
    """Yield the places of names with their legal forms in Chinese, Japanese and Korean: ``株式会社日立製作所``."""
    for match in _UNSPACED.finditer(text):
        yield match.span()


def _form_end(tokens: Sequence[Token], place: int) -> int:
    """Return where the longest legal form that begins at a place ends; ``place`` where none does."""
    first = tokens[place].text
    bare = first.replace(".", "").replace("/", "").lower()
    dotted = "." in first[:-1] and bare[:1] in _FIRST_LETTERS
    if not (bare in _FIRST_WORDS or dotted) or (first.islower() and "." not in first):
        return place
    for end in range(min(place + _FORM_TOKENS_MAX, len(tokens)), place, -1):
        surface = " ".join(token.text for token in tokens[place:end])
        last = tokens[end - 1].text
        if not last[0].isalnum():
            continue
        found = parsed(f"x {surface}")
        if found.legal_form and found.name == "x" and surface not in _ALONE_NONE:
            return end
    return place


def _name_start(tokens: Sequence[Token], end: int, after: int) -> int:
    """Return where the name in front of a legal form begins, not before ``after``; ``end`` where there is none."""
    start = end
    if start > 1 and tokens[start - 1].text == ",":
        start -= 1
    first = start
    while start > after and first - start < _NAME_TOKENS_MAX:
        before = tokens[start - 1]
        if before.cap and not _is_cue(before.text):
            start -= 1
        elif start < first and before.text in _WITHIN and start - 2 >= after and tokens[start - 2].cap:
            start -= 2
        else:
            break
        if tokens[start].opens:
            break
    return start if start < first else end


def _is_cue(word: str) -> bool:
    """Say whether a word says what follows, in the German genitive too: ``des Unternehmens Nordlicht AG``."""
    return any(
        form in cues.CUES or form in cues.TITLES for form in (word, word.removesuffix("s"), word.removesuffix("es"))
    )
