"""What a claimed instant is worth: the one place that reads dates which strangers wrote, and decides which to believe.

Feeds, pages and files state when something was published as a standard wants it, as their language writes it, or as
some program left it. What is stated is read; what cannot be read is never guessed at: it is undated, and says why.

- A text counts only as a whole. A word that is neither a name of a month or a day, nor one of those that stand between
  (``siftline.text.date_words``), makes it unreadable. So does a date without its day.
- ``8/9/2018`` is read by what its day of the week, the other dates of the same feed or the feed's language tell of the
  order; where none does, it is ambiguous.
- Without an offset, or with a zone that nobody knows, an instant counts as UTC (RFC 5322, section 4.3); without a time
  of day, or with one that cannot be, it is the day's first moment. An offset that cannot be makes it unreadable.
- Believed is what lies between ``EARLIEST`` and ``LATEST`` and is no zero of a computer's clock, and what does not lie
  further ahead of now than ``AHEAD_MAX`` (``plausible_at``).
"""

import html
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta, timezone, tzinfo
from functools import cache, cached_property
from typing import NoReturn

from siftline.kit.lines import line
from siftline.kit.zones import zone, zone_names
from siftline.text.date_words import (
    BUDDHIST_AHEAD,
    BUDDHIST_SURELY_FROM,
    ERAS,
    ZONES,
    ZONES_IN_SHORT,
    ZONES_OF_LANGUAGE,
    Words,
    folded,
    from_solar_hijri,
    halves_of_day,
    in_figures,
    whole_year,
    words,
)

EARLIEST = datetime(1900, 1, 3, tzinfo=UTC)
"""Archives publish again what was printed long ago; what claims to be older still is a program's mistake."""
LATEST = datetime(2200, 1, 1, tzinfo=UTC)
AHEAD_MAX = timedelta(days=366)
"""What is announced for next month is dated so; what claims to come later than in a year is a mistake."""

UNREADABLE = "date_unreadable"
AMBIGUOUS = "date_ambiguous"
IMPLAUSIBLE = "date_implausible"
CLAIM_MAX_CHARS = 100
"""Of a claim that is kept; one that is longer says more than a date."""

_DAY = timedelta(days=1)
_FIRST, _LAST = datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)
# From here on no clock has its zero.
_SURELY = datetime(1980, 1, 8, tzinfo=UTC)
# The zeros of Unix (1970), Mac OS and NTP (1904, 1900), FAT and GPS (1980), and the last moment of 32 bits (2038); of
# others (years 1, 1601, 1753) all lie before EARLIEST. Zones put them a day off.
_ZEROS = tuple(
    datetime(*zero, tzinfo=UTC) for zero in ((1904, 1, 1), (1970, 1, 1), (1980, 1, 1), (1980, 1, 6), (2038, 1, 19))
)
_LAST_OF_32_BITS = datetime(2038, 1, 19, 3, 14, 7, tzinfo=UTC)
_DAY_MIN = 24 * 60
# As numbers only what the web can have published is believed: nothing else tells that a number is an instant.
_NUMBER_FROM_S, _NUMBER_UNTIL_S = 631_152_000, 4_102_444_800  # 1990 and 2100

_DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_ENGLISH = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
# What nearly all of RSS writes, and what its months are in ISO 8601.
_USUAL = re.compile(r"[A-Z][a-z]{2}, (\d\d) ([A-Z][a-z]{2}) (\d{4}) (\d\d:\d\d:\d\d) (GMT|[+-]\d{4})", re.ASCII)
_NEARLY_USUAL = re.compile(
    r"(?:[A-Za-z]{3,9},? )?(\d{1,2}) ([A-Za-z]{3}) (\d{4}) (\d\d:\d\d)(:\d\d)?(?: (?:([A-Za-z]{1,5})|([+-]\d{4})))?",
    re.ASCII,
)
_USUAL_MONTHS = {name.title(): f"{number:02}" for number, name in enumerate(_ENGLISH, 1)}

_ZONES_WITH_DOUBT = frozenset(name for name, _ in ZONES_OF_LANGUAGE)
# Whose dates in figures begin with the month, and whose with the year where it has two figures.
_MONTH_FIRST = frozenset({"en-us", "en-ph", "fil", "es-us", "es-pr", "en-pr", "en-gu"})
_YEAR_FIRST = frozenset({"ja", "zh", "ko", "hu", "lt", "mn"})
# English alone does not say whose.
_UNDECIDED = frozenset({"", "en", "en-ca", "mul", "und", "es-mx"})
# Who counts the years from 1911 and may leave the era out.
_MINGUO = frozenset({"zh-tw", "zh-hant", "zh-hant-tw"})
_MINGUO_FROM = 1911
# What Japan calls 25 o'clock is one in the morning of the next day, until its programmes end.
_LATE_HOUR_MAX = 29

_ISO = re.compile(
    r"\d{4}-\d\d-\d\d(?:[Tt ]\d[\d:.,+Zz -]*)?|\d{8}[Tt]\d[\d:.,+Zz-]*|\d{4}-?[Ww]\d\d-?\d(?:[Tt ]\d[\d:.,+Zz -]*)?",
    re.ASCII,
)
_ISO_OFFSET_OF_NONE = re.compile(r"[+-]\d\d:?[6-9]\d$", re.ASCII)
_NUMBER_MAX = 1e20
_NUMBER = re.compile(r"-?\d{1,20}(?:\.\d{1,9})?")
_DOT_NET = re.compile(r"/date\((-?\d{1,18})(?:[+-]\d{4})?\)/")
# ISO 32000-1, section 7.9.4.
_PDF = re.compile(r"d:(\d{4})(\d\d)?(\d\d)?(\d\d)?(\d\d)?(\d\d)?(?:([+-])(\d\d)'?(?:(\d\d)'?)?|z(?:00'?00'?)?)?")
_COMPACT = re.compile(r"(\d{4})(\d\d)(\d\d)(?:(\d\d)(\d\d)(\d\d)?)?")
_DAY_OF_YEAR = re.compile(r"(\d{4})-(\d{3})")
_DAY_WITH_OFFSET = re.compile(r"(\d{4}-\d\d-\d\d) ?(z|[+-]\d\d:\d\d)")
_BEGINS_WITH_DAY = re.compile(r"(\d{4})([-/.])(\d\d)\2(\d\d)[t ][\d:.,tz +-]*")
_CLOCK = re.compile(r"(?<![\d:.+])(?<!\d-)(\d{1,2}):(\d{1,2})(?::(\d{1,2})(?:[.,]\d+)?)?(?![\d:])")
_CLOCK_IN_WORDS = (
    re.compile(r"(?<!\d)(\d{1,2}) ?[時时點点시](?: ?(\d{1,2}) ?[分분])?(?: ?(\d{1,2}) ?[秒초])?"),
    re.compile(r"(?<![\d.])(\d{1,2}) ?h ?(\d{2})?(?: ?m(?:in)?)?(?![^\W\d_]|\d)"),
    re.compile(r"(?<![\d.:])(\d{1,2})()()(?= ?[ap]\.? ?m\b)"),
)
_CLOCK_WITH_DOT = re.compile(
    r"(?<=\D )(\d{1,2})\.(\d{2})(?:\.(\d{2}))?(?![\d.])|(?<=\d{4} )(\d{1,2})\.(\d{2})(?![\d.])"
)
# The hours for which a word of the second half is one. Noon has hours before twelve too, and the last hour of an
# evening is another day's first.
_NOONS = frozenset({"中午", "ظهرا"})
_NOON_HOURS = frozenset({10, 11, 12, 1, 2})
_EVENINGS = frozenset({"晚上"})
_EVENING_HOURS = frozenset(range(5, 12))
_OFFSET = re.compile(
    r" ?[(\[]?(?:(?:gmt|utc|ut|z) ?)?([+-])(\d{1,2})(?::?(\d{2}))?(?::\d{2})?[)\]]?"
    r"(?= *(?:$|[(\[]|\d{4}\b)| [a-z]{2,5}\b)"
)
_ZONE_NAME = re.compile(
    r" ?[(\[]?([a-z]+(?:/[a-z\d_+-]+){1,2}|[a-z]{3}\d[a-z]{3}|мск|[a-z]{2,5}|z)(?![^\W\d_]|/)[)\]]?(?![^\W\d_])"
)
_INNER_OFFSET = re.compile(r"\((?:gmt|utc)? ?([+-])(\d{1,2}):?(\d{2})?\)")
_REMARK = re.compile(r"[(\[][^()\[\]]*[)\]]")
_EAST_ASIAN = re.compile(
    rf"({'|'.join(ERAS)})? ?(\d{{1,4}}|元) ?[年년] ?(\d{{1,2}}) ?[月월] ?(\d{{1,2}}) ?[日일号號]?(?!\d)"
)
_MONTH_NUMBERED = re.compile(r"(?<!\d)(\d{1,2}) ?[月월]|\bthang (\d{1,2})\b")
_CHINESE_NUMBER = re.compile(r"[〇零一二三四五六七八九十]{1,4}(?=[ ]?[年月日号號])")
_FIGURES = re.compile(r"(?<![a-z\d./-])(\d{1,4}) ?([./-]) ?(\d{1,2}) ?\2 ?(\d{1,4})\.?(?![\d/-])")
_BAR = re.compile("[|\u00a6\u2502]")
_TOKEN = re.compile(r"\d+|[^\s\d.,:;/()\[\]+\-'\"“”„_]+")
_VIETNAMESE_DAY = re.compile(r"\b(?:thu|t) ?([2-7])(?=,)")
_LEADING_WORD = re.compile(r"^[^\W\d_]+[.]?, ")
_THAI = re.compile("[\u0e01-\u0e5b]")
_IN_PATH = re.compile(r"/(?:(\d{4})/(\d{1,2})/(\d{1,2})|(\d{4})-(\d{2})-(\d{2}))(?=[/_-]|$)")


@dataclass(frozen=True, slots=True)
class Claimed:
    """What a claim is worth: an instant in UTC, to the second; or why it is none, and what it says; or nothing."""

    at: datetime | None = None
    undated_code: str | None = None
    """``date_unreadable``, ``date_ambiguous`` or ``date_implausible``."""
    claim: str | None = None
    """What was claimed and is not used, at most ``CLAIM_MAX_CHARS`` characters."""
    written: str | None = field(default=None, compare=False)
    """An instant as its origin wrote it, for ``plausible_at``."""


_NOTHING = Claimed()


class _RefusedError(Exception):
    """Why a text is no instant; the argument is the code."""


def usual(text: str) -> datetime | None:
    """Return the instant of a text in the forms that nearly all feeds have, in UTC and to the second, quickly.

    ``None`` for any other text, and for an instant that is not believed: ``Dates`` reads these.
    """
    if text[4:5] == "-" and text[10:11] in {"T", " ", ""}:
        moment = _iso(text)
    elif (match := _USUAL.fullmatch(text)) and (month := _USUAL_MONTHS.get(match[2])):
        day, _, year, time, offset = match.groups()
        moment = _iso(f"{year}-{month}-{day}T{time}{'Z' if offset == 'GMT' else offset}")
    elif (match := _NEARLY_USUAL.fullmatch(text)) and (month := _USUAL_MONTHS.get(match[2].title())):
        day, _, year, minutes, seconds, name, offset = match.groups("")
        if name:
            ahead_min = ZONES.get(name.lower())
            if ahead_min is None or name.lower() in _ZONES_WITH_DOUBT:
                return None
            moment = _iso(f"{year}-{month}-{day:0>2}T{minutes}{seconds}Z")
            moment = moment and shifted(moment, timedelta(minutes=-ahead_min))
        else:
            moment = _iso(f"{year}-{month}-{day:0>2}T{minutes}{seconds}{offset or 'Z'}")
    else:
        return None
    return moment if moment is not None and believed(moment) else None


def believed(moment: datetime) -> bool:
    """Return whether an instant may be when something was published: in range, and no zero of a computer's clock."""
    if _SURELY <= moment < LATEST:
        return moment != _LAST_OF_32_BITS
    return EARLIEST <= moment < LATEST and all(abs(moment - zero) >= _DAY for zero in _ZEROS)


def plausible_at(moment: datetime, now: datetime, written: str | None = None) -> Claimed:
    """Return what an instant is worth at ``now``: what lies more than ``AHEAD_MAX`` ahead is implausible.

    ``written`` is what its origin wrote, if that is known.
    """
    if believed(moment) and moment <= now + AHEAD_MAX:
        return Claimed(moment)
    return Claimed(None, IMPLAUSIBLE, line(written or "", CLAIM_MAX_CHARS) or moment.isoformat())


def shifted(moment: datetime, by: timedelta) -> datetime:
    """Return an instant moved; where years end (1 and 9999) it stays at the last that there is."""
    try:
        return moment + by
    except OverflowError:
        return (_LAST if by > timedelta() else _FIRST).replace(tzinfo=moment.tzinfo)


def in_zone(moment: datetime, place: tzinfo) -> datetime:
    """Return an instant as a zone's clocks show it; in UTC where years end, for there no zone can."""
    try:
        return moment.astimezone(place)
    except (OverflowError, ValueError):
        return moment


def claimed(claim: object, language: str | None = None) -> Claimed:
    """Return what a single claim is worth; see ``Dates.read``."""
    return Dates(language).read(claim)


def day_in_path(path: str) -> datetime | None:
    """Return midnight of the day that an address's path names, if it names one."""
    match = _IN_PATH.search(path)
    if match is None:
        return None
    try:
        moment = _day(*(int(part) for part in match.groups() if part is not None))
    except _RefusedError:
        return None
    return moment if believed(moment) else None


class Dates:
    """Reads the dates of one feed or page: ``language`` as it declares it, ``others`` yields its dates as texts."""

    def __init__(self, language: str | None = None, others: Callable[[], Iterable[object]] = tuple) -> None:
        self._language = re.split(r"[\s,;]", (language or "").strip().lower().replace("_", "-"))[0]
        self._others = others
        self._primary = self._language.partition("-")[0]

    def first(self, *claims: object) -> Claimed:
        """Return the first claim that is an instant; where none is, the first that says anything."""
        refused = _NOTHING
        for claim in claims:
            found = self.read(claim) if claim != "" else _NOTHING
            if found.at is not None:
                return found
            refused = refused if refused.claim else found
        return refused

    def read(self, claim: object) -> Claimed:
        """Return what a claim is worth: a text, or a number as Unix counts; of anything else, nothing."""
        if isinstance(claim, bool) or not isinstance(claim, str | int | float):
            return _NOTHING
        text = claim if isinstance(claim, str) else str(claim) if abs(claim) < _NUMBER_MAX else "a number without end"
        if (moment := usual(text)) is not None:
            return Claimed(moment, written=text)
        text = " ".join(_without_references(text[: 10 * CLAIM_MAX_CHARS]).split())
        if not text:
            return _NOTHING
        shown = line(text, CLAIM_MAX_CHARS)
        try:
            moment = self._read(text) if len(text) <= CLAIM_MAX_CHARS else _refuse(UNREADABLE)
        except _RefusedError as error:
            return Claimed(None, str(error), shown)
        return Claimed(moment, written=text) if believed(moment) else Claimed(None, IMPLAUSIBLE, shown)

    def _read(self, text: str) -> datetime:
        if _ISO.fullmatch(text) and (moment := _iso(re.sub(r" (?=(?:Z|[+-]\d\d:?\d\d)$)", "", text.upper()))):
            return moment
        small = " ".join(_BAR.sub(" ", folded(text)).split())
        if (found := _as_figures(small, late=self._primary == "ja")) is not None:
            return found
        return self._in_words(re.sub(r"(?<=\d)t(?=\d)", " ", small))

    def _in_words(self, text: str) -> datetime:
        tables = words()
        for phrase, bare in tables.phrases:
            if phrase in text:
                text = re.sub(rf"(?<![^\W\d_]){re.escape(phrase)}(?![^\W\d_])", f" {bare} ", text)
        text = _VIETNAMESE_DAY.sub(lambda match: f" {_DAYS[int(match[1]) - 2]} ", _CHINESE_NUMBER.sub(in_figures, text))
        text = tables.hours_named.sub(lambda match: f"{tables.hours[match[1]]}:00", text)
        text = re.sub(r"(?<=\d{4}):(?=\d\d:\d\d:\d\d)", " ", text)  # 08/Oct/2018:10:09:00, as servers log it
        clock = _CLOCK.search(text) or next(filter(None, (form.search(text) for form in _CLOCK_IN_WORDS)), None)
        if clock is None:
            try:
                return _day(*self._date(text, tables, alone=True))
            except _RefusedError:
                # 8.10.2018 10.09: a date has two dots, a time of day one
                if (clock := _CLOCK_WITH_DOT.search(text)) is None:
                    raise
        return self._at(text, clock, tables)

    def _at(self, text: str, clock: re.Match[str], tables: Words) -> datetime:
        before, after = text[: clock.start()], text[clock.end() :]
        half, word, before, after = self._half(before, after)
        after = re.sub(r"^ ?(?:uhr|hrs?|h|น\.?|u)(?![^\W\d_])", "", after)
        place, after = self._place(after, tables)
        midnight = _day(*self._date(f"{before} {after}", tables, alone=False))
        hour, minute, second = [*(int(part) for part in clock.groups() if part), 0, 0][:3]
        if half is not None and hour <= 12:
            hour = _hour_of_day(hour, half, word)
        elif 24 <= hour <= _LATE_HOUR_MAX and (self._primary == "ja" or _EAST_ASIAN.search(text)):
            midnight, hour = shifted(midnight, _DAY), hour - 24
        return _moment(midnight, hour, minute, second, place)

    def _half(self, before: str, after: str) -> tuple[int | None, str, str, str]:
        """Return which half of the day is meant, 0 or 1, the word that says so, and what stands around it."""
        for half, (behind, ahead) in enumerate(halves_of_day(self._primary)):
            if match := behind.match(after):
                return half, match[1], before, after[match.end() :]
            if match := ahead.search(before):
                return half, match[1], before[: match.start()], after
        return None, "", before, after

    def _place(self, after: str, tables: Words) -> tuple[tzinfo, str]:
        """Return the offset or the zone that is stated behind a time of day, and what is left behind it."""
        match = _OFFSET.match(after)
        if match and (following := _TOKEN.match(after[match.end() :].lstrip())) and following[0] in tables.months:
            match = None
        if match:
            rest = re.sub(r"^ [a-z]{2,5}\b", "", _REMARK.sub(" ", after[match.end() :]))
            return _ahead(match[1], match[2], match[3]), rest
        match = _ZONE_NAME.match(after)
        if match and match[1] in ZONES_IN_SHORT:
            return zone(ZONES_IN_SHORT[match[1]]), after[match.end() :]
        if match is None or match[1] in tables.months or match[1] in tables.weekdays or match[1] in tables.fillers:
            return UTC, after
        rest = after[match.end() :]
        if inner := _INNER_OFFSET.search(rest):
            return _ahead(*inner.groups()), rest[: inner.start()] + rest[inner.end() :]
        rest = _REMARK.sub(" ", rest)
        if match[1] not in ZONES and (name := _iana_names().get(match[1])):
            return zone(name), rest
        minutes = ZONES.get(match[1], 0)  # a name that nobody knows says nothing
        for language in (self._primary, self._language):
            minutes = ZONES_OF_LANGUAGE.get((match[1], language), minutes)
        return timezone(timedelta(minutes=minutes)), rest

    def _date(self, text: str, tables: Words, *, alone: bool) -> tuple[int, int, int]:
        """Return year, month and day of a text that says nothing else; ``alone``: no time of day stood beside."""
        if match := _EAST_ASIAN.search(text):
            self._expect_only_words(text[: match.start()] + " " + text[match.end() :], tables)
            year = 1 if match[2] == "元" else int(match[2])
            if match[1]:
                year += ERAS[match[1]]
            elif len(match[2]) < 4:
                year = self._year_without_era(match[2])
            return year, int(match[3]), int(match[4])
        if match := _FIGURES.search(text):
            left = text[: match.start()] + " " + text[match.end() :]
            days = self._expect_only_words(left, tables)
            short = len(match[4]) == 2 and len(match[1]) + len(match[3]) < 4
            if short and alone and not days:  # as versions are written
                raise _RefusedError(UNREADABLE)
            return self._in_order(match, days, thai=_THAI.search(left) is not None)
        text = _MONTH_NUMBERED.sub(_month_by_number, text)
        return self._named(text, tables)

    def _expect_only_words(self, text: str, tables: Words) -> frozenset[int]:
        """Return the days of the week that a text names, and refuse one that says anything else."""
        days: frozenset[int] = frozenset()
        for token in _TOKEN.findall(text):
            if token in tables.weekdays:
                days |= tables.weekdays[token]
            elif token not in tables.fillers and token not in ZONES:
                raise _RefusedError(UNREADABLE)
        return days

    def _named(self, text: str, tables: Words) -> tuple[int, int, int]:
        """Return the date of a text that names the month."""
        if re.fullmatch(r" *\d{8} *", text):
            return int(text.strip()[:4]), int(text.strip()[4:6]), int(text.strip()[6:])
        tokens: list[tuple[str, int | None]] = []
        thai = _THAI.search(text) is not None
        leading = _LEADING_WORD.match(text)
        found = _TOKEN.findall(text)
        both = [token for token in found if token in tables.months and token in tables.weekdays]
        sure = [token for token in found if token in tables.months and token not in tables.weekdays]
        days_left = len(both) if sure else len(both) - 1
        for place, token in enumerate(found):
            if token.isdigit():
                tokens.append((token, None))
            elif token in tables.months and not (token in tables.weekdays and days_left > 0):
                month = self._month(tables.months[token])
                if not tokens or tokens[-1][1] != month:  # the Arabic world has two names for it, and gives both
                    tokens.append((token, month))
            elif token in tables.weekdays:
                days_left -= token in tables.months
            elif token not in tables.fillers and token not in ZONES and not (leading and place == 0):
                raise _RefusedError(UNREADABLE)
        return self._arranged(tokens, thai=thai)

    def _arranged(self, tokens: list[tuple[str, int | None]], *, thai: bool) -> tuple[int, int, int]:
        shape = "".join("n" if month is None else "m" for _, month in tokens)
        numbers = [text for text, month in tokens if month is None]
        months = [month for _, month in tokens if month is not None]
        if shape == "nmn" and len(numbers[0]) >= 3:
            year, day = numbers
        elif shape in {"nmn", "mnn"} and len(numbers[0]) <= 2:
            day, year = numbers
        elif shape == "nnm" and len(numbers[0]) == 4:
            year, day = numbers
        else:
            raise _RefusedError(UNREADABLE)
        if len(day) > 2 or not 2 <= len(year) <= 4:
            raise _RefusedError(UNREADABLE)
        if months[0] > 100:
            return from_solar_hijri(int(year), months[0] - 100, int(day)) or _refuse(UNREADABLE)
        # An English month in a Thai feed is as the standard for feeds writes it.
        thai_year = thai or (self._primary == "th" and int(year) >= BUDDHIST_SURELY_FROM)
        common = whole_year(year, thai=thai_year)
        if not common:
            raise _RefusedError(AMBIGUOUS if int(year) else IMPLAUSIBLE)
        return self._common_year(common, thai=thai), months[0], int(day)

    def _month(self, known: dict[int, frozenset[str]]) -> int:
        """Return the month that a word is; of several the one that it is in the feed's language."""
        if len(known) == 1:
            return next(iter(known))
        own = [month for month, languages in known.items() if self._primary in languages]
        return own[0] if len(own) == 1 else _refuse(AMBIGUOUS)

    def _in_order(self, match: re.Match[str], days: frozenset[int], *, thai: bool) -> tuple[int, int, int]:
        """Return the date of three figures, in the order that is certain or that something tells."""
        a, sign, b, c = match.groups()
        if len(a) >= 3:
            if len(a) == 3 or len(c) > 2:
                raise _RefusedError(UNREADABLE)
            if self._primary == "fa" and 1200 < int(a) < 1500:
                return from_solar_hijri(int(a), int(b), int(c)) or _refuse(UNREADABLE)
            return self._common_year(int(a), thai=thai), int(b), int(c)
        orders = _orders(a, sign, b, c, year_first=self._primary in _YEAR_FIRST, thai=self._is_thai(script=thai))
        common = {
            order: (self._common_year(year, thai=thai), month, day) for order, (year, month, day) in orders.items()
        }
        possible = {order: found for order, found in common.items() if _exists(*found)}
        if not possible:
            # The zero date, in whichever order.
            if len(c) == 4 and int(c) < 1000:
                raise _RefusedError(IMPLAUSIBLE)
            raise _RefusedError(AMBIGUOUS if len(c) == 2 and self._is_thai(script=thai) else UNREADABLE)
        named = {order: found for order, found in possible.items() if date(*found).weekday() in days}
        possible = named or possible
        if len(set(possible.values())) > 1:
            for order in filter(None, (self._order_of_others, self._order_of_language(sign))):
                if order in possible:
                    return possible[order]
            if sign == "." and "dmy" in possible:
                return possible["dmy"]
            raise _RefusedError(AMBIGUOUS)
        return next(iter(possible.values()))

    @cached_property
    def _order_of_others(self) -> str | None:
        """Return the order of day, month and year that the other dates of the same origin have, if they agree."""
        certain = set()
        for other in self._others():
            if isinstance(other, str) and (match := _FIGURES.search(folded(other[:CLAIM_MAX_CHARS]))):
                a, sign, b, c = match.groups()
                possible = _orders(a, sign, b, c, year_first=False, thai=self._primary == "th")
                orders = [order for order, found in possible.items() if _exists(*found)]
                if len(a) <= 2 and len(orders) == 1:
                    certain.add(orders[0])
        return certain.pop() if len(certain) == 1 else None

    def _order_of_language(self, sign: str) -> str | None:
        if self._language in _MONTH_FIRST:
            return "mdy"
        if self._primary in _YEAR_FIRST:
            return "ymd"
        return None if self._language in _UNDECIDED and sign != "." else "dmy"

    def _is_thai(self, *, script: bool) -> bool:
        """Return whether a text is in Thai, by its letters or the feed's language."""
        return script or self._primary == "th"

    def _common_year(self, year: int, *, thai: bool) -> int:
        """Return the year as most of the world counts it."""
        return year - BUDDHIST_AHEAD if 2400 < year < 2700 and self._is_thai(script=thai) else year

    def _year_without_era(self, text: str) -> int:
        """Return the year of two or three figures that East Asian signs follow."""
        minguo = self._language in _MINGUO
        if len(text) == 3:
            return int(text) + _MINGUO_FROM if minguo else _refuse(AMBIGUOUS)
        year = whole_year(text)
        return _refuse(AMBIGUOUS) if minguo and year < 2000 else year


def _iso(text: str) -> datetime | None:
    if not (text[4:5] == "-" or "T" in text or "W" in text):
        return None
    try:
        moment = datetime.fromisoformat(text)
        if moment.microsecond or moment.tzinfo is None:
            moment = moment.replace(microsecond=0, tzinfo=moment.tzinfo or UTC)
        if moment.tzinfo is UTC:
            return moment
        # Python takes 12:60 ahead for 13:00; it is a mistake.
        return None if _ISO_OFFSET_OF_NONE.search(text) else moment.astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def _as_figures(text: str, *, late: bool) -> datetime | None:
    """Return the instant of what is written in figures alone, or as one program hands it to another.

    ``late``: a time of day such as 25:00 may have a meaning, so that it is for others to read.
    """
    if match := _DOT_NET.fullmatch(text):
        return _from_unix(int(match[1]) / 1_000)
    if match := _PDF.fullmatch(text):
        year, month, day, hour, minute, second = (
            int(part or least) for part, least in zip(match.groups()[:6], (1, 1, 1, 0, 0, 0), strict=True)
        )
        place = _ahead(match[7], match[8], match[9]) if match[7] else UTC
        return _moment(_day(year, month, day), hour, minute, second, place)
    if match := _DAY_WITH_OFFSET.fullmatch(text):
        return _iso(f"{match[1]}T00:00:00{match[2].upper()}") or _refuse(UNREADABLE)
    if match := _DAY_OF_YEAR.fullmatch(text):
        if not 1 <= int(match[2]) <= 366:
            raise _RefusedError(UNREADABLE)
        return shifted(_day(int(match[1]), 1, 1), timedelta(days=int(match[2]) - 1))
    if not _NUMBER.fullmatch(text):
        return _day_before_nonsense(text, late=late)
    # What would be a year past belief is a count of milliseconds: twelve figures, before September 2001.
    if (match := _COMPACT.fullmatch(text)) and len(text) != 10 and int(match[1]) < LATEST.year:
        year, month, day, hour, minute, second = (int(part or 0) for part in match.groups())
        return _moment(_day(year, month, day), hour, minute, second, UTC)
    return _from_unix(float(text))


def _day_before_nonsense(text: str, *, late: bool) -> datetime | None:
    """Return the day of a text in ISO 8601 whose time of day is none; ``None`` for any other text."""
    match = _BEGINS_WITH_DAY.fullmatch(text)
    clock = _CLOCK.search(text) if match else None
    hour_max = _LATE_HOUR_MAX if late else 24
    if match is None or clock is None or (int(clock[1]) <= hour_max and int(clock[2]) < 60 and int(clock[3] or 0) < 61):
        return None
    return _day(int(match[1]), int(match[3]), int(match[4]))


def _from_unix(number: float) -> datetime:
    """Return the instant of a number: seconds since 1970, or thousandths, millionths or billionths of them."""
    for unit in (1.0, 1e3, 1e6, 1e9):
        if _NUMBER_FROM_S <= number / unit < _NUMBER_UNTIL_S:
            return datetime.fromtimestamp(int(number / unit), UTC)
    raise _RefusedError(IMPLAUSIBLE)


def _moment(midnight: datetime, hour: int, minute: int, second: int, place: tzinfo) -> datetime:
    """Return a moment of a day; its first one where the time of day is none."""
    if hour > 24 or minute > 59 or second > 60 or (hour == 24 and minute + second > 0):
        return midnight
    moment = shifted(midnight, timedelta(hours=hour, minutes=minute, seconds=min(second, 59)))
    return in_zone(moment.replace(tzinfo=place), UTC)


def _day(year: int, month: int, day: int) -> datetime:
    try:
        return datetime(year, month, day, tzinfo=UTC)
    except (ValueError, OverflowError):
        raise _RefusedError(IMPLAUSIBLE if year == 0 else UNREADABLE) from None


def _exists(year: int, month: int, day: int) -> bool:
    try:
        date(year, month, day)
    except ValueError:
        return False
    return True


def _orders(a: str, sign: str, b: str, c: str, *, year_first: bool, thai: bool) -> dict[str, tuple[int, int, int]]:
    """Return what three figures may be: day, month and year in the orders that people write; without year, 0."""
    year = int(c) if len(c) == 4 else whole_year(c, thai=thai) if len(c) == 2 else 0
    found = {"dmy": (year, int(b), int(a))}
    if sign != ".":
        found["mdy"] = (year, int(a), int(b))
    if len(a) == 2 and len(c) <= 2 and (sign != "." or year_first):
        found["ymd"] = (whole_year(a, thai=thai), int(b), int(c))
    return found


def _ahead(sign: str, hours: str, minutes: str | None) -> tzinfo:
    ahead_min = int(hours) * 60 + int(minutes or 0)
    if ahead_min >= _DAY_MIN or int(minutes or 0) > 59:
        raise _RefusedError(UNREADABLE)
    return timezone(timedelta(minutes=-ahead_min if sign == "-" else ahead_min))


@cache
def _iana_names() -> dict[str, str]:
    """Return the names of the zones by what they are in small letters."""
    return {name.lower(): name for name in zone_names()}


def _hour_of_day(hour: int, half: int, word: str) -> int:
    """Return the hour of 24 that one of twelve is, by the half of the day and the word that says which."""
    if word in _NOONS:
        return _refuse(AMBIGUOUS) if hour not in _NOON_HOURS else hour if hour >= 10 else hour + 12
    if word in _EVENINGS and hour not in _EVENING_HOURS:
        raise _RefusedError(AMBIGUOUS)
    return hour % 12 + 12 * half


def _month_by_number(match: re.Match[str]) -> str:
    number = int(match[1] or match[2])
    return f" {_ENGLISH[number - 1]} " if 1 <= number <= 12 else match[0]


def _without_references(text: str) -> str:
    return html.unescape(html.unescape(text)) if "&" in text else text


def _refuse(code: str) -> NoReturn:
    raise _RefusedError(code)
