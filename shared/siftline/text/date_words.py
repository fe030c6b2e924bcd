"""The words that dates are written with: months, days of the week and what stands between, in some fifty languages.

Kept here and not guessed: a word that is in no table makes a text unreadable as a date, and so nothing is invented.
"""

import re
import tomllib
import unicodedata
from functools import cache
from importlib import resources

_CODE = re.compile(r"[a-z]{2,3}")
# Accents, vowel points and the like, and what is not seen.
_MARKS = re.compile(
    "[\u0300-\u036f\u0591-\u05c7\u0640\u064b-\u0655\u0670\u093c\u09bc\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]"
)
_ALIKE = {
    **dict.fromkeys(map(ord, "\u2019\u2018\u02bc\u00b4`"), "'"),
    **dict.fromkeys(map(ord, "\u2010\u2011\u2012\u2013\u2014\u2212"), "-"),
    **dict.fromkeys(map(ord, "\u060c\u3001"), ","),
    **dict.fromkeys(map(ord, "\u3002\u06d4"), "."),
    **dict.fromkeys(map(ord, "\u00b7\u2022"), " "),
    # Dotless i, and the Arabic letters that Persian writes otherwise.
    0x131: "i",
    0x64A: "\u06cc",
    0x649: "\u06cc",
    0x643: "\u06a9",
    0x629: "\u0647",
}


def folded(text: str) -> str:
    """Return a text as the tables have it: small letters, no accents, ASCII digits, signs that look alike as one."""
    text = unicodedata.normalize("NFKD", text).casefold()
    if not text.isascii():
        text = unicodedata.normalize("NFKC", _MARKS.sub("", text)).translate(_ALIKE)
        text = "".join(str(unicodedata.decimal(sign)) if sign.isdecimal() else sign for sign in text)
    return text


class Words:
    """The tables, folded. Names of several words or with dots stand in ``phrases``, and without these in the others."""

    def __init__(self) -> None:
        self.months: dict[str, dict[int, frozenset[str]]] = {}
        """A word's months, 1 to 12, each with the languages in which it is that; 101 to 112 are the solar ones."""
        self.weekdays: dict[str, frozenset[int]] = {}
        """A word's days, 0 for Monday, in whichever language."""
        self.fillers: frozenset[str] = frozenset()
        self.phrases: list[tuple[str, str]] = []
        phrases: dict[str, str] = {}
        tables = _tables()
        for language, line in tables["months"].items():
            for number, name in _names(line, phrases):
                self._month(name, number + 1, _CODE.match(language)[0])  # type: ignore[index]  # all begin with one
        for number, name in _names(tables["solar_hijri"]["fa"], phrases):
            self._month(name, number + 101, "fa")
        for line in tables["weekdays"].values():
            for number, name in _names(line, phrases):
                self.weekdays[name] = self.weekdays.get(name, frozenset()) | {number}
        self.hours = {
            name: hour
            for key, hour in (("noon", 12), ("midnight", 0))
            for _, name in _names(tables["hours"][key], phrases)
        }
        """The words for noon and midnight, each with its hour."""
        self.hours_named = re.compile(
            rf"(?:(?<![\d:.])12(?::00)?(?: uhr)? )?(?<![^\W\d_])({'|'.join(self.hours)})(?![^\W\d_])"
        )
        self.fillers = frozenset(name for _, name in _names(tables["fillers"]["any"], phrases))
        self.phrases = sorted(phrases.items(), key=lambda phrase: -len(phrase[0]))

    def _month(self, name: str, number: int, language: str) -> None:
        known = self.months.setdefault(name, {})
        known[number] = known.get(number, frozenset()) | {language}


@cache
def words() -> Words:
    """Return the tables, made once, when a date needs them: most are written as RSS and Atom want it."""
    return Words()


def names(table: str) -> dict[str, list[list[str]]]:
    """Return the forms of each month (``months``) or day (``weekdays``) as they are written, by language."""
    return {
        language: [[form.replace("_", " ") for form in forms.split("/")] for forms in line.split()]
        for language, line in _tables()[table].items()
    }


@cache
def _tables() -> dict[str, dict[str, str]]:
    return tomllib.loads(resources.files("siftline.text").joinpath("data/date_words.toml").read_text("utf-8"))


def _names(line: str, phrases: dict[str, str]) -> list[tuple[int, str]]:
    found = []
    for number, forms in enumerate(line.split()):
        for form in forms.split("/"):
            name = folded(form.replace("_", " "))
            bare = re.sub(r"[ .'-]", "", name)
            if bare != name:
                phrases[name] = bare
            found.append((number, bare))
    return found
