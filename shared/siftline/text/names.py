"""Names of organisations, people and places in one normal form, and the id that follows from it alone."""

import base64
import hashlib
import hmac
import re
import unicodedata
from dataclasses import dataclass

from siftline.text.legal_forms import COUNTRIES_OF, UNSPACED
from siftline.text.normal_form import nfc

NAME_MAX_CHARS = 200
"""A longer name is none."""
# Between single letters a dot or a stroke is no space: S.p.A., A/S, I.B.M.
_INITIALS = re.compile(r"(?<![^\W_])([^\W_])[./](?=[^\W_](?![^\W_]))")
_PUNCTUATION = re.compile(r"[^\w()\u0300-\u036f]|_")
_BRACKETS = re.compile(r"[()]")
_FORM_WORDS_MAX = max(len(form.split()) for form in COUNTRIES_OF)


@dataclass(frozen=True, slots=True)
class Normalised:
    """A name's normal form, and the legal form that was dropped from it (``""`` for none)."""

    name: str
    legal_form: str = ""

    @property
    def countries(self) -> frozenset[str]:
        """The countries that the legal form points to."""
        return COUNTRIES_OF.get(self.legal_form, frozenset())


def parsed(name: str) -> Normalised:
    """Return a name's normal form and its legal form.

    Unicode's form NFKC (which takes care of width), no case, dots of abbreviations gone, other punctuation and white
    space one space, legal forms dropped at the end, in writings without spaces at the beginning too. A name that is
    nothing but a legal form stays.

    >>> parsed("\\uff21CME  Holding, S.p.A.")
    Normalised(name='acme holding', legal_form='spa')
    """
    folded = unicodedata.normalize("NFKC", nfc(name[:NAME_MAX_CHARS])).casefold()
    folded = unicodedata.normalize("NFKC", folded)
    words = _PUNCTUATION.sub(" ", _INITIALS.sub(r"\1", folded)).split()
    bare, form = _unspaced(" ".join(words))
    words = _BRACKETS.sub(" ", bare).split()
    while len(words) > 1:
        ending = _ending(words)
        if not ending:
            break
        words, form = words[: -len(ending.split())], form or ending
    return Normalised(" ".join(words), form)


def normalise(name: str) -> str:
    """Return a name's normal form: two spellings of one name have the same.

    >>> normalise("Müller & Söhne GmbH & Co. KG") == normalise("MÜLLER & SÖHNE")
    True
    """
    return parsed(name).name


def temporary_id(name: str, salt: str) -> str:
    """Return the id of a name as long as nobody has told who it is: 32 letters and digits, the same in every run.

    HMAC-SHA1 (RFC 2104) of the normal form under ``salt``, in base32 (RFC 4648) without padding, in lower case: without
    the salt the name cannot be found by trying names.
    """
    digest = hmac.new(salt.encode(), normalise(name).encode("utf-8", "surrogatepass"), hashlib.sha1).digest()
    return base64.b32encode(digest).decode().rstrip("=").lower()


def _ending(words: list[str]) -> str:
    """Return the longest legal form that ends these words and leaves one of them."""
    for length in range(min(_FORM_WORDS_MAX, len(words) - 1), 0, -1):
        ending = " ".join(words[-length:])
        if ending in COUNTRIES_OF:
            return ending
    return ""


def _unspaced(name: str) -> tuple[str, str]:
    for form in UNSPACED:
        for bare in (name.removeprefix(form).strip(), name.removesuffix(form).strip()):
            if bare and bare != name:
                return bare, form
    return name, ""
