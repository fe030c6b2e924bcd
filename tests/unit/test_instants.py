"""Claimed instants: read in the forms that people write, believed where they can be, and never invented."""

from datetime import UTC, date, datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from siftline.text.date_words import names
from siftline.text.instants import (
    AHEAD_MAX,
    CLAIM_MAX_CHARS,
    EARLIEST,
    LATEST,
    Claimed,
    Dates,
    believed,
    claimed,
    day_in_path,
    in_zone,
    plausible_at,
    shifted,
    usual,
)

NOON = datetime(2018, 8, 21, 12, tzinfo=UTC)
DAYS = st.dates(date(1990, 1, 1), date(2099, 12, 31))
MOMENTS = st.datetimes(datetime(1990, 1, 3), datetime(2099, 12, 29)).map(lambda at: at.replace(microsecond=0))  # noqa: DTZ001 - made aware where it is used
MONTHS = names("months")
WEEKDAYS = names("weekdays")
PATIENT = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
CODE = {"date_unreadable", "date_ambiguous", "date_implausible"}


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "right"),
    [
        ("8/21/2018 9:00:00 AM", "2018-08-21 09:00"),
        ("12/31/2018 12:00:00 AM", "2018-12-31 00:00"),
        ("8/21/2018 12:30 pm", "2018-08-21 12:30"),
        ("ma, 08 okt 2018 10:09", "2018-10-08 10:09"),
        ("2018年10月8日 10:09", "2018-10-08 10:09"),
        ("2018年10月8日(月) 15時09分", "2018-10-08 15:09"),
        ("2018年10月8日 星期一 下午3:09", "2018-10-08 15:09"),
        ("二〇一八年十月二十一日", "2018-10-21 00:00"),
        ("十月 8, 2018", "2018-10-08 00:00"),
        ("平成30年10月8日", "2018-10-08 00:00"),
        ("令和元年5月1日", "2019-05-01 00:00"),
        ("民國107年10月8日", "2018-10-08 00:00"),
        ("2018년 10월 8일 오후 3:09", "2018-10-08 15:09"),
        ("2018. 10. 8. 오전 12:09", "2018-10-08 00:09"),
        ("10월 8, 2018", "2018-10-08 00:00"),
        ("Tue, 17 Mar 2020 23:00:00 AEDT", "2020-03-17 12:00"),
        ("Tue, 17 Mar 2020 23:00:00 NZDT", "2020-03-17 10:00"),
        ("Tue, 17 Mar 2020 23:00:00 CEST", "2020-03-17 21:00"),
        ("Tue, 17 Mar 2020 23:00:00 PST", "2020-03-18 07:00"),
        ("Tue, 17 Mar 2020 23:00:00 IST (+0200)", "2020-03-17 21:00"),
        ("Tue, 17 Mar 2020 23:00:00 XYZT", "2020-03-17 23:00"),
        ("Sept. 8, 2018, 3:15 p.m. ET", "2018-09-08 19:15"),
        ("Sept. 8, 2018, 3 p.m.", "2018-09-08 15:00"),
        ("Tue Aug 21 09:00:00 CST 2018", "2018-08-21 15:00"),
        ("Tue Aug 21 09:00:00 +0200 2018", "2018-08-21 07:00"),
        ("Tue Aug 21 2018 09:00:00 GMT+0200 (Central European Summer Time)", "2018-08-21 07:00"),
        ("Tuesday, 21-Aug-18 09:00:00 UTC", "2018-08-21 09:00"),
        ("Tue, 21 Aug 18 09:00 EST", "2018-08-21 14:00"),
        ("Tue, 21 Aug 98 09:00:00 GMT", "1998-08-21 09:00"),
        ("08/Oct/2018:10:09:00 +0200", "2018-10-08 08:09"),
        ("21st August 2018 at 9:05 pm", "2018-08-21 21:05"),
        ("August 21st, 2018", "2018-08-21 00:00"),
        ("2018-08-21T09:00+02:00[Europe/Paris]", "2018-08-21 07:00"),
        ("2018-08-21 09:00 Europe/Paris", "2018-08-21 07:00"),
        ("2018-08-21 9:00 PM", "2018-08-21 21:00"),
        ("2018-08-21 09:00:00 UTC", "2018-08-21 09:00"),
        ("2018-08-21+02:00", "2018-08-20 22:00"),
        ("2018-W34-2", "2018-08-21 00:00"),
        ("2018W342T090000Z", "2018-08-21 09:00"),
        ("2018-233", "2018-08-21 00:00"),
        ("20180821", "2018-08-21 00:00"),
        ("20180821T090000Z", "2018-08-21 09:00"),
        ("20180821090000", "2018-08-21 09:00"),
        ("2018-08-21T09:00:00.1234567Z", "2018-08-21 09:00"),
        ("2026-11-20 08:00:00 +0100", "2026-11-20 07:00"),
        ("2026-11-20T08:00:00.250Z", "2026-11-20 08:00"),
        ("2026/11/20", "2026-11-20 00:00"),
        ("2026-11-20T25:61:00Z", "2026-11-20 00:00"),
        ("2018-08-21T24:00:00Z", "2018-08-22 00:00"),
        ("2016-12-31T23:59:60Z", "2016-12-31 23:59:59"),
        ("1661362853", "2022-08-24 17:40:53"),
        ("1661362853000", "2022-08-24 17:40:53"),
        ("1661362853.25", "2022-08-24 17:40:53"),
        ("/Date(1534842000000)/", "2018-08-21 09:00"),
        ("D:20180821090000+02'00'", "2018-08-21 07:00"),
        ("D:20180821090000-23'59'", "2018-08-22 08:59"),
        ("D:20180821090000Z00'00'", "2018-08-21 09:00"),
        ("D:20180821235960", "2018-08-21 23:59:59"),
        ("D:20180821999999", "2018-08-21 00:00"),
        ("20180821999999", "2018-08-21 00:00"),
        ("201808212561", "2018-08-21 00:00"),
        ("２０１８年８月２１日\u3000９：００", "2018-08-21 09:00"),
        ("&nbsp;8 Oct 2018&#160;10:09 ", "2018-10-08 10:09"),
        ("8&amp;nbsp;Oct 2018", "2018-10-08 00:00"),
        ("\u200e8/\u200e21/\u200e2018 9:00:00 AM", "2018-08-21 09:00"),
        ("21.08.2018, 9.05 Uhr", "2018-08-21 09:05"),
        ("8. lokakuuta 2018 klo 10.09", "2018-10-08 10:09"),
        ("mar. 8 mar. 2018", "2018-03-08 00:00"),
        ("lundi 8 octobre 2018 à 10h09", "2018-10-08 10:09"),
        ("8 de octubre de 2018, 10:09 h", "2018-10-08 10:09"),
        ("seg, 8 out 2018 10:09:00 -0300", "2018-10-08 13:09"),
        ("8 октября 2018 г. в 10:09", "2018-10-08 10:09"),
        ("2018. október 8., hétfő 10:09", "2018-10-08 10:09"),
        ("8 Ekim 2018 Pazartesi 10:09", "2018-10-08 10:09"),
        ("Sen, 8 Okt 2018 10:09 WIB", "2018-10-08 03:09"),
        ("Thứ Hai, 8 tháng 10, 2018 10:09", "2018-10-08 10:09"),
        ("ngày 8 tháng 10 năm 2018", "2018-10-08 00:00"),
        ("٨ أكتوبر ٢٠١٨ ١٠:٠٩ ص", "2018-10-08 10:09"),
        ("8 تشرين الأول 2018", "2018-10-08 00:00"),
        ("יום שני, 8 באוקטובר 2018 בשעה 10:09", "2018-10-08 10:09"),
        ("۱۶ مهر ۱۳۹۷ ۱۰:۰۹", "2018-10-08 10:09"),
        ("८ अक्टूबर २०१८", "2018-10-08 00:00"),
        ("8 ตุลาคม 2561 10:09 น.", "2018-10-08 10:09"),
        ("วันจันทร์ที่ 8 ต.ค. 2561", "2018-10-08 00:00"),
        ("1975-05-01", "1975-05-01 00:00"),
        ("5 มี.ค. 68", "2025-03-05 00:00"),
        ("5 มีนาคม 68 10:00 น.", "2025-03-05 10:00"),
        ("中華民國114年3月5日", "2025-03-05 00:00"),
        ("民國 114 年 3 月 5 日", "2025-03-05 00:00"),
        ("2025年3月5日 25:00", "2025-03-06 01:00"),
        ("2025年12月31日 24時30分", "2026-01-01 00:30"),
        ("2025年3月5日 30:00", "2025-03-05 00:00"),
        ("Tue, 21 Aug 2018 25:05:00 GMT", "2018-08-21 00:00"),
        ("Noon, March 5, 2025", "2025-03-05 12:00"),
        ("March 5, 2025, 12 noon EST", "2025-03-05 17:00"),
        ("12:00 noon, 5 March 2025", "2025-03-05 12:00"),
        ("5 Mar 2025 12:00 midnight", "2025-03-05 00:00"),
        ("Midnight, March 5, 2025", "2025-03-05 00:00"),
        ("mercredi 5 mars 2025 à midi", "2025-03-05 12:00"),
        ("5. März 2025, Mittag", "2025-03-05 12:00"),
        ("2018年8月21日 晚上8:05", "2018-08-21 20:05"),
        ("2018年8月21日 晚上22:05", "2018-08-21 22:05"),
        ("2018年8月21日 凌晨12:05", "2018-08-21 00:05"),
        ("2018年8月21日 中午11:50", "2018-08-21 11:50"),
        ("2018年8月21日 中午12:05", "2018-08-21 12:05"),
        ("2018年8月21日 中午1:05", "2018-08-21 13:05"),
        ("5/3/2025 10:30 مساءً", None),
        ("25/03/2025 10:30 مساءً", "2025-03-25 22:30"),
        ("5 مارس 2025 - 10:30 صباحا", "2025-03-05 10:30"),
        ("5 مارس 2025 - 10:30 صباحًا", "2025-03-05 10:30"),
        ("5 مارس 2025 12:30 ظهراً", "2025-03-05 12:30"),
        ("5 آذار/مارس 2025", "2025-03-05 00:00"),
        ("5 كانون الثاني/يناير 2025 10:30", "2025-01-05 10:30"),
        ("5 آذار/أبريل 2025", None),
        ("Rabu, 5 Maret 2025 | 10:30 WIB", "2025-03-05 03:30"),
        ("25.03.2025 | 10:30", "2025-03-25 10:30"),
        ("10:30｜5 March 2025", "2025-03-05 10:30"),
        ("2025-03-05 │ 10:30", "2025-03-05 10:30"),
        ("5 March 2025 | 6 March 2025", None),
        ("5 марта 2025, 10:30 МСК", "2025-03-05 07:30"),
        ("25.03.2025 10:30 (мск)", "2025-03-25 07:30"),
        ("Sat, 03 May 2025 10:00:00 US/Pacific", "2025-05-03 17:00"),
        ("Sat, 03 May 2025 10:00:00 Asia/Tokyo", "2025-05-03 01:00"),
        ("Sat, 03 May 2025 10:00:00 (America/Argentina/Buenos_Aires)", "2025-05-03 13:00"),
        ("Sat, 03 May 2025 10:00:00 America/Port-au-Prince", "2025-05-03 14:00"),
        ("Sat, 03 May 2025 10:00:00 Etc/GMT+5", "2025-05-03 15:00"),
        ("Sat, 03 May 2025 10:00:00 EST5EDT", "2025-05-03 14:00"),
        ("Sat, 03 May 2025 10:00:00 Japan", "2025-05-03 01:00"),
        ("2025-05-03 10:00 [Asia/Kolkata]", "2025-05-03 04:30"),
        ("978307199000", "2000-12-31 23:59:59"),
        ("631152000000", "1990-01-01 00:00"),
        ("999999999999", "2001-09-09 01:46:39"),
    ],
)  # fmt: skip
def test_a_date_is_read_as_people_and_programs_write_it(text: str, right: str | None) -> None:
    assert claimed(text).at == (right and at(right))


@pytest.mark.parametrize("number", [1_661_362_853, 1_661_362_853.9, 1_661_362_853_000, 1_661_362_853 * 10**9])
def test_a_number_is_an_instant_as_unix_counts_whatever_its_unit(number: float) -> None:
    assert claimed(number) == Claimed(at("2022-08-24 17:40:53"))


@pytest.mark.parametrize(
    "claim",
    [
        "Mon, 01 Jan 0001 00:00:00 +0000", "0001-01-01T00:00:00Z", "1/1/0001 12:00:00 AM", "0", 0, -62_135_596_800,
        "1970-01-01", "Thu, 01 Jan 1970 00:00:00 GMT", "Wed, 31 Dec 1969 16:00:00 -0800", "0000-00-00 00:00:00",
        "1899-12-30T00:00:00Z", "1900-01-01", "1601-01-01T00:00:00Z", "1904-01-01", "1980-01-01T00:00:00Z",
        "2038-01-19T03:14:07Z", "9999-12-31T23:59:59Z", "9999-12-31T23:59:59-14:00", "99999999999999", "2018", 10**400,
    ],
)  # fmt: skip
def test_a_zero_of_a_clock_and_what_lies_out_of_range_is_undated_and_says_so(claim: object) -> None:
    found = claimed(claim)
    assert found.at is None
    assert found.undated_code in {"date_implausible", "date_unreadable"}
    assert found.claim


@pytest.mark.parametrize(
    "text",
    [
        "yesterday", "3 hours ago", "soon", "2018-13-45", "Mon, 99 Jan 99999 99:99:99 GMT", "31 February 2018",
        "October 2018", "2018-10", "2018年10月", "10月8日", "8 Smarch 2018", "8 Oct 2018 by Ann 12", "2018-10-08 v2",
        "Version 3.11.7", "v2.10.2018", "2.7.18", "10.15.7", "1.2.3.4", "192.168.10.12", "€ 1.299,00", "12,50 €",
        "+1 (555) 123-4567", "020 7946 0958", "+49 30 12-34-56", "978-3-16-148410-0", "12-34-56", "Room 8, 2018",
        "x" * 500, "8 Oct 2018 " + "x" * 200, "8 Oct Nov 2018", "-", "🕐",
    ],
)  # fmt: skip
def test_what_is_no_whole_date_is_none(text: str) -> None:
    found = claimed(text)
    assert (found.at, found.undated_code in CODE) == (None, True)
    assert found.claim
    assert len(found.claim) <= CLAIM_MAX_CHARS


@pytest.mark.parametrize(
    "text",
    [
        "D:20240506150405+99'99'", "D:20240506150405-24", "D:20240506150405+24'00'", "Mon, 06 May 2024 15:04:05 +9999",
        "2024-05-06T15:04:05+99:99", "20240506T150405+2400", "6 May 2024 15:04 GMT+24", "2024-05-06+24:00",
        "6 May 2024 15:04 XYZ (GMT-99:99)", "5/6/2024 15:04:05 -2500",
        "D:20240506150405-12'60'", "2024-05-06T15:04:05-12:60", "Mon, 06 May 2024 15:04:05 -1260",
        "6 May 2024 15:04 GMT+0090", "2024-05-06+01:60", "20240506T150405+0199",
    ],
)  # fmt: skip
def test_a_zone_that_cannot_be_makes_a_date_unreadable(text: str) -> None:
    assert Dates("en-US").read(text) == Claimed(None, "date_unreadable", text)


@pytest.mark.parametrize("claim", [None, "", "  ", "&nbsp;", True, [], {"date": "2018"}])
def test_nothing_claimed_is_nothing_to_tell(claim: object) -> None:
    assert claimed(claim) == Claimed()


@pytest.mark.parametrize(
    ("language", "others", "right"),
    [
        ("en-US", [], "2018-08-09"),
        ("en_us", [], "2018-08-09"),
        ("en-GB", [], "2018-09-08"),
        ("de", [], "2018-09-08"),
        ("fr-CA", [], "2018-09-08"),
        ("en", [], None),
        ("", [], None),
        ("en", ["8/21/2018 9:00"], "2018-08-09"),
        ("", ["21/8/2018", "1/2/2018"], "2018-09-08"),
        ("en-US", ["21/8/2018"], "2018-09-08"),
        ("", ["21/8/2018", "8/21/2018"], None),
    ],
)
def test_the_order_of_day_and_month_is_told_by_other_dates_or_the_language_or_it_is_ambiguous(
    language: str, others: list[str], right: str | None
) -> None:
    found = Dates(language, lambda: others).read("8/9/2018")
    assert found == (Claimed(at(right)) if right else Claimed(None, "date_ambiguous", "8/9/2018"))


def test_a_day_of_the_week_tells_the_order_of_day_and_month() -> None:
    assert claimed("Thursday, 8/9/2018").at == at("2018-08-09")
    assert claimed("Saturday, 8/9/2018").at == at("2018-09-08")


@pytest.mark.parametrize(
    ("text", "language", "right"),
    [
        ("8 lip 2018", "pl", "2018-07-08 00:00"),
        ("8 lip 2018", "hr", "2018-06-08 00:00"),
        ("8 listopada 2018", "hr-HR", "2018-10-08 00:00"),
        ("8 Oct 2018 10:09 CST", "zh-CN", "2018-10-08 02:09"),
        ("8 Oct 2018 10:09 IST", "he", "2018-10-08 08:09"),
        ("8 Oct 2018 10:09 IST", "en-IN", "2018-10-08 04:39"),
        ("21/08/2561 09:00", "th", "2018-08-21 09:00"),
        ("1397/07/16", "fa", "2018-10-08 00:00"),
        ("18/10/08", "ja", "2018-10-08 00:00"),
        ("05/03/68", "th", "2025-03-05 00:00"),
        ("68/03/05", "th", "2025-03-05 00:00"),
        ("29/02/67 10:00", "th-TH", "2024-02-29 10:00"),
        ("114年3月5日", "zh-TW", "2025-03-05 00:00"),
        ("107年8月21日", "zh_Hant_TW", "2018-08-21 00:00"),
        ("114年3月5日 下午 2:30", "zh-Hant", "2025-03-05 14:30"),
        ("2025-03-05 25:00", "ja", "2025-03-06 01:00"),
        ("2025/03/05 26:30", "ja-JP", "2025-03-06 02:30"),
        ("2025.03.05. du. 2:30", "hu", "2025-03-05 14:30"),
        ("2025. március 5. délután 2:30", "hu", "2025-03-05 14:30"),
    ],
)  # fmt: skip
def test_the_language_tells_what_a_word_a_zone_or_a_year_means(text: str, language: str, right: str) -> None:
    assert claimed(text, language).at == at(right)
    assert claimed(text, "en-US" if language != "en-IN" else "hi").at != at(right) or language == "en-IN"


@pytest.mark.parametrize(
    ("text", "language", "right"),
    [
        ("5 มี.ค. 18", "th", None),
        ("05/03/18", "th", None),
        ("Tue, 21 Aug 18 15:05 +0700", "th", "2018-08-21 08:05"),
        ("114年3月5日", "", None),
        ("114年3月5日", "ja", None),
        ("98年3月5日", "zh-TW", None),
        ("18年3月5日", "zh-TW", "2018-03-05 00:00"),
        ("98年3月5日", "zh-CN", "1998-03-05 00:00"),
        ("2018年8月21日 晚上12:05", "zh", None),
        ("2018年8月21日 晚上1:05", "zh", None),
        ("2018年8月21日 中午5:05", "zh", None),
    ],
)
def test_what_a_year_or_an_hour_may_mean_twice_is_ambiguous(text: str, language: str, right: str | None) -> None:
    found = claimed(text, language)
    assert (found.at, found.undated_code) == ((at(right), None) if right else (None, "date_ambiguous"))


def test_a_word_that_is_two_months_in_two_languages_is_ambiguous_without_a_language() -> None:
    assert claimed("8 lip 2018").undated_code == "date_ambiguous"


@pytest.mark.parametrize("language", MONTHS)
def test_every_name_of_a_month_is_read_in_its_language(language: str) -> None:
    for number, forms in enumerate(MONTHS[language], 1):
        for name in forms:
            texts = f"8 {name} 2018", f"{name.upper()} 8, 2018", f"2018 {name} 8."
            assert {claimed(text, language).at for text in texts} == {datetime(2018, number, 8, tzinfo=UTC)}


@settings(PATIENT, max_examples=1_000)
@given(language=st.sampled_from(sorted(set(WEEKDAYS) & set(MONTHS))), day=DAYS, data=st.data())
def test_a_date_goes_round_through_the_words_of_every_language(language: str, day: date, data: st.DataObject) -> None:
    month = data.draw(st.sampled_from(MONTHS[language][day.month - 1]))
    weekday = data.draw(st.sampled_from(WEEKDAYS[language][day.weekday()]))
    for text in (f"{weekday}, {day.day} {month} {day.year} 10:09:08", f"{weekday} {day.day:02}. {month}, {day.year}"):
        found = claimed(text, language).at
        assert found is not None
        assert found.date() == day


@PATIENT
@given(moment=MOMENTS, hours=st.integers(-14, 14), half=st.sampled_from([0, 30, 45]))
def test_what_is_written_by_the_standards_is_read_as_it_was(moment: datetime, hours: int, half: int) -> None:
    aware = moment.replace(tzinfo=timezone(timedelta(hours=hours, minutes=half)))
    right = aware.astimezone(UTC)
    texts = (
        aware.isoformat(), aware.isoformat(" "), aware.strftime("%a, %d %b %Y %H:%M:%S %z"),
        aware.strftime("%A, %d-%b-%Y %I:%M:%S %p %z"), aware.strftime("%a %b %d %H:%M:%S %z %Y"),
        aware.strftime("%Y%m%dT%H%M%S%z"), aware.strftime("%m/%d/%Y %H:%M:%S GMT%z"),
    )  # fmt: skip
    dates = Dates("en-US")
    assert [dates.read(text).at for text in texts] == [right] * len(texts)
    assert usual(texts[0]) in {right, None}
    assert usual(aware.strftime("%a, %-d %b %Y %H:%M:%S %z")) in {right, None}
    assert claimed(int(right.timestamp())).at == right


@PATIENT
@given(claim=st.one_of(st.text(), st.integers(), st.floats(), st.binary(), st.none()), language=st.text(max_size=8))
@example(claim="8/8/0000", language="th")
@example(claim="99/99/99 99:99 +99:99", language="")
@example(claim="1 Jan 0001 00:00 +2359", language="")
@example(claim="31 Dec 9999 23:59 -2359", language="")
@example(claim="9999-366", language="")
def test_anything_claimed_is_an_instant_in_range_or_undated(claim: object, language: str) -> None:
    found = claimed(claim, language)
    if found.at is None:
        assert (found.undated_code is None) == (found.claim is None)
        assert found.undated_code is None or found.undated_code in CODE
    else:
        assert (found.undated_code, found.claim) == (None, None)
        assert EARLIEST <= found.at < LATEST
        assert (found.at.tzinfo, found.at.microsecond) == (UTC, 0)


_PARTS = st.sampled_from(
    [
        *"0123456789/-.:,+ ()[]TZ年月日월일",
        "Oct",
        "Mon",
        "okt",
        "am",
        "PM",
        "GMT",
        "2018",
        "10",
        "08",
        "12:30",
        "元",
        "th",
        "+02:00",
    ]
)


@PATIENT
@given(st.lists(_PARTS, max_size=14).map("".join), st.sampled_from(["", "de", "en-US", "th", "fa", "ja", "hu"]))
def test_what_is_built_of_the_parts_of_dates_raises_nothing_and_stays_in_range(text: str, language: str) -> None:
    found = Dates(language, lambda: (text,)).read(text)
    assert found.at is None or (EARLIEST <= found.at < LATEST and found.at.tzinfo is UTC)


_NO_DATES = st.one_of(
    st.tuples(st.integers(0, 40), st.integers(0, 40), st.integers(0, 9)).map(lambda parts: "{}.{}.{}".format(*parts)),
    st.tuples(st.integers(0, 40), st.integers(0, 40), st.integers(0, 99)).map(lambda parts: "v{}.{}.{}".format(*parts)),
    st.integers(0, 10**6).map(lambda cents: f"{cents // 100:,}.{cents % 100:02} €"),
    st.integers(0, 10**6).map(lambda cents: f"${cents / 100:.2f}"),
    st.from_regex(r"\+[1-9]\d{0,2} \(?[2-9]\d{2}\)? \d{3}[- ]\d{4}", fullmatch=True).filter(str.isascii),
    st.from_regex(r"0\d{2,3} \d{3,4} \d{3,4}", fullmatch=True).filter(str.isascii),
    st.from_regex(r"97[89]-\d-\d{2}-\d{6}-\d", fullmatch=True).filter(str.isascii),
    st.integers(1, 59).map(lambda number: f"{number} minutes ago"),
    st.integers(1, 12).map(lambda number: f"Part {number} of 12"),
    st.integers(0, 2_100).map(str),
)


@PATIENT
@given(_NO_DATES)
def test_versions_prices_and_telephone_numbers_are_no_dates(text: str) -> None:
    assert claimed(text).at is None


def test_of_several_claims_the_first_that_is_an_instant_counts_and_else_the_first_is_told() -> None:
    dates = Dates()
    assert dates.first("", "soon", NOON.isoformat(), "2019-01-01") == Claimed(NOON)
    assert dates.first(None, "soon", "0") == Claimed(None, "date_unreadable", "soon")
    assert dates.first("", None) == Claimed()


def test_what_lies_more_than_a_year_ahead_is_not_believed() -> None:
    assert plausible_at(NOON + AHEAD_MAX, NOON) == Claimed(NOON + AHEAD_MAX)
    late = NOON + AHEAD_MAX + timedelta(seconds=1)
    assert plausible_at(late, NOON) == Claimed(None, "date_implausible", late.isoformat())


@pytest.mark.parametrize(
    ("claim", "told"),
    [
        ("Sat, 28 Nov 2037 10:00:00 GMT", "Sat, 28 Nov 2037 10:00:00 GMT"),
        ("2037-11-28T12:00:00+02:00", "2037-11-28T12:00:00+02:00"),
        ("28 novembre 2037", "28 novembre 2037"),
        ("Sat,\n 28 Nov 2037\u202e 10:00", "Sat, 28 Nov 2037 10:00"),
        (2_143_015_200, "2143015200"),
    ],
)
def test_what_is_not_believed_is_told_as_it_is_written(claim: object, told: str) -> None:
    found = claimed(claim)
    assert found.at is not None
    assert plausible_at(found.at, NOON, found.written) == Claimed(None, "date_implausible", told)


@pytest.mark.parametrize(
    "text",
    [
        "Mon, 01 Jan 0000 00:00:00 GMT",
        "1 Jan 0000",
        "January 1, 0000",
        "0000-01-01T00:00:00Z",
        "1.1.0000",
        "00/00/0000",
    ],
)
@pytest.mark.parametrize("language", ["", "en-US", "de", "th"])
def test_the_year_nought_is_implausible_and_not_ambiguous(text: str, language: str) -> None:
    assert Dates(language).read(text) == Claimed(None, "date_implausible", text)


@pytest.mark.parametrize("clock", ["10:61", "99:99:99", "24:30", "25:61", "10:00:99"])
@pytest.mark.parametrize("form", ["2024-03-05 {}", "2024-03-05T{}Z", "Tue, 05 Mar 2024 {} GMT", "5 March 2024, {}"])
def test_a_time_of_day_that_cannot_be_is_the_beginning_of_its_day(form: str, clock: str) -> None:
    assert claimed(form.format(clock)) == Claimed(at("2024-03-05"))


@pytest.mark.parametrize("moment", [datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC), NOON])
def test_any_instant_can_be_moved_and_shown_in_any_zone(moment: datetime) -> None:
    for by in (timedelta(days=400), timedelta(days=-400), timedelta.max, timedelta.min):
        assert shifted(moment, by).tzinfo is UTC
    for zone in ("Pacific/Kiritimati", "America/Los_Angeles"):
        assert in_zone(moment, ZoneInfo(zone)) == moment
    assert shifted(NOON, timedelta(hours=1)) == NOON + timedelta(hours=1)
    assert not believed(moment) or moment == NOON


def test_a_claim_keeps_nothing_that_is_not_seen() -> None:
    assert claimed("so\x00on\u202e \ud800!\n now").claim == "soon ! now"


@pytest.mark.parametrize(
    ("path", "day"),
    [
        ("/2026/11/20/story", 20), ("/a/2026-11-21-story", 21), ("/2026/1/2", 2), ("/2026/13/40/x", None),
        ("/a/12/11/10", None), ("/0001/01/01/x", None), ("/1970/01/01/x", None), ("/9999/12/31/x", None),
    ],
)  # fmt: skip
def test_only_a_whole_day_in_a_path_is_one(path: str, day: int | None) -> None:
    found = day_in_path(path)
    assert (found.day if found else None) == day
