"""What dates are written with: names of months, days and zones, halves of a day, other calendars, other figures.

Months, days of the week and what stands between them are known in some fifty languages.
Kept here and not guessed: a word that is in no table makes a text unreadable as a date, and so nothing is invented.
"""

import re
import tomllib
import unicodedata
from datetime import date
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

# Minutes from UTC. Of names that several zones bear: those of RFC 822 (section 5.1) as it says, else the one that most
# people mean by it, unless the feed's language tells of another.
ZONES = {
    name: round(hours * 60)
    for hours, names in (
        (0, "z ut utc gmt wet"), (1, "cet mez met west wat bst"), (2, "cest mesz mest eet cat sast"),
        (3, "eest msk мск eat trt oesz"), (3.5, "irst"), (4, "msd gst amt azt samt"), (4.5, "irdt aft"),
        (5, "pkt uzt yekt"), (5.5, "ist slst"), (5.75, "npt"), (6, "omst almt"), (6.5, "mmt"), (7, "ict wib novt krat"),
        (8, "awst hkt sgt myt pht wita irkt"), (9, "jst kst wit yakt"), (9.5, "acst"), (10, "aest chst vlat"),
        (10.5, "acdt"), (11, "aedt magt sakt"), (12, "nzst pett fjt"), (13, "nzdt"), (-10, "hst"), (-9, "akst hdt"),
        (-8, "pst akdt"), (-7, "mst pdt"), (-6, "cst mdt"), (-5, "est cdt pet cot"), (-4, "edt ast vet clt bot"),
        (-3.5, "nst"), (-3, "adt brt art uyt clst"), (-2.5, "ndt"), (-2, "brst"), (-1, "azot"),
    )
    for name in names.split()
}  # fmt: skip
ZONES_OF_LANGUAGE = {
    ("ist", "he"): 120, ("ist", "ga"): 60, ("ist", "en-ie"): 60, ("cst", "zh"): 480, ("ast", "ar"): 180,
    ("bst", "bn"): 360,
}  # fmt: skip
# By summer or winter, as it is that day.
ZONES_IN_SHORT = {
    "et": "America/New_York", "ct": "America/Chicago", "mt": "America/Denver", "pt": "America/Los_Angeles",
}  # fmt: skip
ERAS = {
    "令和": 2018, "平成": 1988, "昭和": 1925, "大正": 1911,
    "民國": 1911, "民国": 1911, "中華民國": 1911, "中华民国": 1911,
}  # fmt: skip
# Thailand's years are 543 ahead. Of two figures, those from 2533 (1990) on have none but this meaning.
BUDDHIST_AHEAD = 543
BUDDHIST_SURELY_FROM = 33
_CHINESE_DIGITS = {sign: number for number, sign in enumerate("〇一二三四五六七八九")} | {"零": 0}
# The halves of a day, as words beside the time, and those that mean it in one language only.
_HALVES = (
    (
        r"a\.? ?m\.?", "午前", "上午", "凌晨", "早上", "오전", r"π\.?μ\.?", "ص", "صباحا?", "فجرا", r"ق\.?ظ\.?",
        "पूर्वाह्न", "ก่อนเที่ยง",
    ),
    (
        r"p\.? ?m\.?", "午後", "下午", "晚上", "中午", "오후", r"μ\.?μ\.?", "م", "مساءا?", "عصرا", "ظهرا", r"ب\.?ظ\.?",
        "अपराह्न", "หลังเที่ยง",
    ),
)  # fmt: skip
_HALVES_OF_LANGUAGE = {"hu": ("de|délelőtt", "du|délután"), "tr": ("oo", "os"), "vi": ("sa", "ch")}


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


@cache
def halves_of_day(language: str) -> list[tuple[re.Pattern[str], re.Pattern[str]]]:
    """Return, for either half of the day, what it looks like behind a time of day and before it."""
    own = _HALVES_OF_LANGUAGE.get(language)
    found = []
    for half, names in enumerate(_HALVES):
        one = "|".join(map(folded, (*names, *((own[half],) if own else ()))))
        found.append((re.compile(rf" ?({one})(?![^\W\d_])"), re.compile(rf"(?<![^\W\d_])({one})\.? ?$")))
    return found


def in_figures(match: re.Match[str]) -> str:
    """Return a number in Chinese signs as figures: by places (二〇一八) or by tens (二十一)."""
    text = match[0]
    if "十" not in text:
        return "".join(str(_CHINESE_DIGITS[sign]) for sign in text)
    tens, _, ones = text.partition("十")
    return str(10 * (_CHINESE_DIGITS.get(tens[-1:], 1)) + _CHINESE_DIGITS.get(ones[:1], 0))


def whole_year(text: str, *, thai: bool = False) -> int:
    """Return a year; one of two or three figures as RFC 5322 (section 4.3) reads it, or Thailand; 0 in doubt."""
    year = int(text)
    if thai and len(text) == 2:
        return year + 2500 - BUDDHIST_AHEAD if year >= BUDDHIST_SURELY_FROM else 0
    if len(text) == 2:
        return year + (2000 if year < 50 else 1900)
    return year + 1900 if len(text) == 3 else year


def from_solar_hijri(year: int, month: int, day: int) -> tuple[int, int, int] | None:
    """Return the common date of one of Iran's calendar, by the 33-year rule, right from 1178 to 1633; else ``None``."""
    if not (1178 <= year <= 1633 and 1 <= month <= 12 and 1 <= day <= 31):
        return None
    days = 365 * (year - 1) + (8 * year + 21) // 33 + (31 * (month - 1) if month <= 7 else 30 * (month - 1) + 6) + day
    common = date.fromordinal(days + 226_894)
    return common.year, common.month, common.day
