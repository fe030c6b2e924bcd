"""Search by words over a real PostgreSQL and Qdrant's engine: languages, phrases, typing errors, marks."""

import unicodedata
from collections.abc import Iterator

import pytest

from siftline.api.search_routes import Wanted
from siftline.kit.db import Database
from siftline.kit.errors import TransientError
from siftline.operate.migrate import MIGRATIONS
from siftline.rank import words_store
from siftline.rank.query import parse
from siftline.text.words import signed
from tests.searching import Library, titles

AWAY = TransientError("The model could not be fetched now.", code="model_unavailable")


@pytest.fixture
def library(database: Database, qdrant: str) -> Iterator[Library]:
    library = Library(database, qdrant)
    yield library
    library.index.close()


@pytest.fixture
def words(library: Library) -> Library:
    """A library whose model is away, so that words alone are matched."""
    library.meaning = AWAY
    return library


@pytest.mark.parametrize(
    ("lang", "title", "query"),
    [
        ("en", "Governments are lowering taxes", "lowered tax government"),
        ("de", "Die Häuser am Fluß werden geräumt", "haus fluss"),
        ("fr", "Élections présidentielles anticipées", "election presidentielle"),
        ("es", "Más niños nadan en la bahía", "nino bahia"),
        ("ru", "Выборы прошли в России", "выбор россия"),
        ("tr", "Kitaplar okundu", "kitap"),
        ("xx", "Zażółć gęślą jaźń", "zazolc gesla"),
        ("ja", "東京都で地震がありました", "地震"),
        ("ja", "東京都で地震がありました", "東京都 地震"),
        ("ja", "黒い猫", "猫"),
        ("zh", "中国经济增长放缓", "经济增长"),
        ("ko", "한국은행이 금리를 올렸다", "한국은행 금리"),
        ("th", "รถไฟฟ้าสายใหม่เปิดแล้ว", "สายใหม่"),
        (None, "\uff26\uff35\uff2c\uff2c width letters", "full width"),
    ],
)
def test_words_are_found_by_the_grammar_of_their_language(words: Library, lang: str | None, title: str, query: str):
    user = words.user()
    words.give(user, title, lang=lang)
    words.give(user, "Something else altogether", lang="en")

    assert titles(user.get("/v1/search", q=query)) == [title]


def test_what_stands_in_the_title_goes_before_the_summary_before_the_text(words: Library):
    user = words.user()
    words.give(user, "Third", text="Nothing but a zeppelin here. A zeppelin!")
    words.give(user, "Second", summary="A zeppelin landed.", text="Nothing.")
    words.give(user, "A zeppelin", text="Nothing.")
    words.give(user, "Fourth", text="Nothing of the kind.", tags=[])

    assert titles(user.get("/v1/search", q="zeppelins")) == ["A zeppelin", "Second", "Third"]


def test_a_text_that_was_changed_is_found_by_its_new_words_alone(words: Library):
    user = words.user()
    content = words.content("Old tidings")
    words.hold(user, content)
    words.sql("update contents set title = 'Fresh tales', text = 'New.' where id = %s", content)

    assert titles(user.get("/v1/search", q="tidings")) == []
    assert titles(user.get("/v1/search", q="tales")) == ["Fresh tales"]


def test_meaning_and_words_are_fused_and_what_both_find_comes_first(library: Library):
    user = library.user()
    library.give(user, "Container ships wait", "The Zylkor prize", "Ships and containers everywhere and more")

    answer = user.get("/v1/search", q="zylkor")

    assert (answer.json["mode"], titles(answer)[0]) == ("hybrid", "The Zylkor prize")
    assert answer.json["items"][0]["score"] == 1.0
    assert [item["highlights"] != [] for item in answer.json["items"]] == [True, False, False]


@pytest.mark.parametrize("away", [False, True])
def test_a_phrase_must_stand_so_and_what_is_left_out_never_appears(library: Library, away: bool):
    user = library.user()
    library.give(user, "White house painted", "House white as snow", "White house sold by a bank", "A bank robbed")
    if away:
        library.meaning = AWAY

    assert set(titles(user.get("/v1/search", q='"white house"'))) == {
        "White house painted",
        "White house sold by a bank",
    }
    assert titles(user.get("/v1/search", q='"white house" -bank')) == ["White house painted"]
    assert set(titles(user.get("/v1/search", q='house -"white house"'))) - {"A bank robbed"} == {"House white as snow"}
    assert "A bank robbed" not in titles(user.get("/v1/search", q="house -banks"))
    assert titles(user.get("/v1/search", q='"no such phrase"')) == []


def test_one_word_or_another(words: Library):
    user = words.user()
    words.give(user, "Oil rises", "Gas falls", "Wind blows")

    assert set(titles(user.get("/v1/search", q="oil or gas"))) == {"Oil rises", "Gas falls"}


def test_a_phrase_of_a_writing_without_spaces(words: Library):
    user = words.user()
    words.give(user, "東京都知事", "京都と東京", lang="ja")

    assert titles(user.get("/v1/search", q='"東京都"')) == ["東京都知事"]


@pytest.mark.parametrize("away", [False, True])
@pytest.mark.parametrize(
    ("typed", "meant"),
    [("goverment", "government"), ("presdient", "president"), ("zeppelni", "zeppelin"), ("election", "élection")],
)
def test_a_word_that_nothing_holds_is_mended(library: Library, typed: str, meant: str, away: bool):
    user = library.user()
    library.give(user, f"A new {meant} today", "Weather", lang=None)
    if away:
        library.meaning = AWAY

    answer = user.get("/v1/search", q=f"new {typed}")

    assert titles(answer)[0] == f"A new {meant} today"
    assert answer.json["corrected"] in (None if typed == "election" else f"new {meant}", None)
    assert answer.json["items"][0]["highlights"]


@pytest.mark.parametrize(
    ("typed", "meant"),
    [("trem", "tram"), ("beez", "bees"), ("hony", "honey"), ("zrem", "trem"), ("zepplins", "zeppelins")],
)
def test_a_word_is_mended_however_many_words_of_others_are_spelt_alike(words: Library, typed: str, meant: str):
    user = words.user()
    words.give(user, f"About {meant}", "Weather", lang=None)
    words.sql(
        "insert into search_spellings (word) select distinct %s || chr(97 + a) || chr(97 + b) || repeat('x', c)"
        " from generate_series(0, 25) a, generate_series(0, 25) b, generate_series(0, 9) c on conflict do nothing",
        typed[:2],
    )

    answer = user.get("/v1/search", q=typed)

    assert (titles(answer), answer.json["corrected"]) == ([f"About {meant}"], meant)


def test_a_word_that_only_others_hold_mends_nothing(words: Library):
    reader, stranger = words.user(), words.user()
    words.give(stranger, "The secret zeppelin project")
    words.give(reader, "Weather")

    answer = reader.get("/v1/search", q="zepelin")

    assert (titles(answer), answer.json["corrected"]) == ([], None)


def test_without_the_model_what_holds_more_of_the_words_comes_first_rare_ones_count_more(words: Library):
    user = words.user()
    words.give(user, *(f"Market news {number}" for number in range(8)), "Zylkor closes", "Market news of Zylkor")

    assert titles(user.get("/v1/search", q="zylkor market news"))[:2] == ["Market news of Zylkor", "Zylkor closes"]


def test_other_tenants_texts_are_not_found_by_words(words: Library):
    reader, stranger = words.user(), words.user()
    words.give(stranger, "A zeppelin lands")

    assert titles(reader.get("/v1/search", q="zeppelin")) == []


def test_deleted_items_are_not_found_by_words_and_their_words_go(words: Library):
    """Case C11, the text side: gone at once, with the content's row."""
    user = words.user()
    [item] = words.give(user, "A zeppelin lands")
    words.sql("delete from items where id = %s", item)
    assert titles(user.get("/v1/search", q="zeppelin")) == []
    words.sql("delete from contents")
    with words.database.transaction() as connection:
        assert connection.execute("select count(*) from content_words").fetchone() == (0,)


def test_filters_hold_for_words(words: Library):
    user = words.user()
    words.give(user, "Zeppelin one", lang="de")
    words.give(user, "Zeppelin two", lang="en")

    assert titles(user.get("/v1/search", q="zeppelin", lang="de")) == ["Zeppelin one"]
    assert titles(user.get("/v1/search", q="zeppelin", starred="true")) == []


@pytest.mark.parametrize(
    "query",
    [
        "the and of",
        "a:* & b | !c \\' \\",
        "'; drop table contents; --",
        "lands -zeppelin",
        'lands -"zeppelin lands"',
        "%s %(user_id)s {}",
        "\u0007 zeppelin \u202e",
        "-".join("ab" for _ in range(160)),
        "a" * 500,
        " ".join(f"w{number}" for number in range(120)),
        "漢" * 500,
        "http://example.org/a?b=c zeppelin@example.org 3.14 -2.7",
    ],
    ids=range(12),
)
@pytest.mark.parametrize("away", [False, True])
def test_whatever_is_typed_is_answered(library: Library, query: str, away: bool):
    user = library.user()
    library.give(user, "A zeppelin lands", "東京都で地震")
    if away:
        library.meaning = AWAY

    answer = user.get("/v1/search", q=query)

    assert answer.status == 200, answer.text
    if query.startswith("lands"):
        assert "A zeppelin lands" not in titles(answer)


@pytest.mark.parametrize(
    "query",
    [
        *("-", '"', '""', "%", "- -- ---", "or", "or or or", "-or", "!!! ((( ))) ::: *** <-> | & '", "👾🚀", '"' * 500),
        *("-zeppelin", '-"zeppelin lands"'),
    ],
    ids=range(13),
)
def test_where_nothing_is_looked_for_that_is_said(library: Library, query: str):
    user = library.user()
    library.give(user, "A zeppelin lands")
    answer = user.get("/v1/search", q=query)
    assert (answer.status, answer.code) == (422, "no_words")


def test_the_same_question_has_the_same_answer_and_a_smaller_one_is_its_beginning(library: Library):
    user = library.user()
    library.give(user, *(f"Zeppelin number {number}" for number in range(30)))

    whole = titles(user.get("/v1/search", q="zeppelin", limit=30))

    assert titles(user.get("/v1/search", q="zeppelin", limit=30)) == whole
    assert titles(user.get("/v1/search", q="zeppelin", limit=7)) == whole[:7]


def test_marks_are_places_in_plain_text(words: Library):
    user = words.user()
    text = f"{'Filler words. ' * 60}The <b>Zeppelin</b> & its zeppelins landed. {'More words. ' * 60}"
    words.give(user, "Über Zeppelíne: <i>tags</i>", summary="Nothing.", text=text, lang="en")

    [item] = user.get("/v1/search", q="zeppeline").json["items"]

    marks = {one["field"]: [one["text"][start:end] for start, end in one["marks"]] for one in item["highlights"]}
    assert marks == {"title": ["Zeppelíne"], "text": ["Zeppelin", "zeppelins"]}
    passage = next(one["text"] for one in item["highlights"] if one["field"] == "text")
    assert passage.startswith("… ")
    assert passage.endswith(" …")
    assert "<b>Zeppelin</b>" in passage
    assert len(passage) < 300


def test_marks_in_a_writing_without_spaces(words: Library):
    user = words.user()
    words.give(user, "昨日東京都で地震", lang="ja", text="。")

    [item] = user.get("/v1/search", q="東京都 地震").json["items"]

    [title] = item["highlights"]
    assert [title["text"][start:end] for start, end in title["marks"]] == ["東京都", "地震"]


def hostile() -> dict[str, str]:
    return {
        "hyphens": "-".join(f"{number:x}" for number in range(80_000)),
        "words": " ".join(f"{number * 2_654_435_761:x}" for number in range(200_000)),
        "han": "".join(chr(0x4E00 + number * 7_919 % 20_000) for number in range(200_000)),
        "marks": "a" + "\u0301\u0323" * 50_000,
        "one": "x" * 500_000,
        "addresses": " ".join(f"http://a{number}.example/{number}" for number in range(50_000)),
    }


@pytest.mark.parametrize("kind", sorted(hostile()))
def test_whatever_a_page_holds_it_becomes_ready_and_is_found_by_its_title(words: Library, kind: str):
    user = words.user()
    words.give(user, "A strange page", text=hostile()[kind])

    assert titles(user.get("/v1/search", q="strange page")) == ["A strange page"]


def test_a_page_too_large_for_a_vector_keeps_its_title(words: Library):
    with words.database.transaction() as connection:
        [(whole,)] = connection.execute("select pg_get_functiondef('search_cut'::regproc)").fetchall()
    words.sql(
        "create or replace function search_cut(words text, chars integer) returns text language sql immutable as"
        " $$ select left(coalesce(words, ''), 2000000) $$"
    )
    try:
        user = words.user()
        words.give(user, "A strange page", text=hostile()["words"])
        assert titles(user.get("/v1/search", q="strange page")) == ["A strange page"]
    finally:
        words.sql(whole)


def test_the_database_and_the_query_part_the_same_characters(words: Library):
    signs = [chr(code) for code in range(0x0E00, 0xFB00) if unicodedata.is_normalized("NFC", chr(code))]
    signs = [sign for sign in signs if sign.isalpha()]
    with words.database.transaction() as connection:
        parted = connection.execute(
            "select array_agg(search_parted(sign || sign) <> sign || sign order by place)"
            " from unnest(%s::text[]) with ordinality as given (sign, place)",
            (signs,),
        ).fetchone()
    assert parted is not None
    differing = [
        sign for sign, does in zip(signs, parted[0], strict=True) if does != parse(f"{sign}", plain=True).terms[0].first
    ]
    assert differing == []


LANGUAGES = ["What C++23 brings", "What C# 12 brings", "What C brings", "What F# brings"]


@pytest.mark.parametrize(
    ("query", "found"),
    [("C++", 0), ('"C++ 23"', 0), ("C++23", 0), ("c#", 1), ("C# 12", 1), ("C", 2), ("F#", 3)],
)
@pytest.mark.parametrize("lang", ["en", "de", "xx"])
def test_names_that_end_in_signs_are_words_of_their_own(words: Library, lang: str, query: str, found: int):
    """Case T24."""
    user = words.user()
    for title in LANGUAGES:
        words.give(user, title, lang=lang)

    assert titles(user.get("/v1/search", q=query)) == [LANGUAGES[found]]
    assert sorted(titles(user.get("/v1/search", q=f"brings -{LANGUAGES[found].split()[1]}"))) == sorted(
        title for place, title in enumerate(LANGUAGES) if place != found
    )


@pytest.mark.parametrize(
    ("lang", "title", "query", "marked"),
    [
        ("zh", "使用Python编程的方法", "python", "Python"),
        ("zh", "使用Python编程的方法", "使用python", "使用Python"),
        ("zh", "使用Python编程的方法", '"用Python编程"', "用Python编程"),
        ("zh", "用iPhone15拍照", "iphone15", "iPhone15"),
        ("zh", "使用C++编程的方法", "C++", "C++"),
        ("zh", "使用C++编程的方法", "编程", "编程"),
        ("ja", "プログラミング言語C#の新しい標準", "C#", "C#"),
        ("ja", "ＣとＣ＋＋とＣ＃の新しい標準", "C++", "Ｃ＋＋"),  # noqa: RUF001  # wide letters are meant
        ("ja", "ＣとＣ＋＋とＣ＃の新しい標準", "Ｃ＃", "Ｃ＃"),  # noqa: RUF001  # wide letters are meant
        ("ja", "ＣとＣ＋＋とＣ＃の新しい標準", "c", "Ｃ"),  # noqa: RUF001  # wide letters are meant
        ("ja", "3月のＮＡＴＯ会議", '"3月" nato', "3月"),  # noqa: RUF001  # wide letters are meant
        ("ko", "C#은 언어다", "C#", "C#"),
        ("ko", "삼성Galaxy를 발표", "galaxy", "Galaxy"),
        ("th", "ใช้Pythonเขียนโปรแกรม", "python", "Python"),
        ("ja", "ロシアのМирが着陸", "мир", "Мир"),
    ],
)
def test_words_that_touch_a_writing_without_spaces_are_found(
    words: Library, lang: str, title: str, query: str, marked: str
):
    """Case T24 in other writings."""
    user = words.user()
    words.give(user, title, lang=lang)
    words.give(user, "What F brings", lang="en")

    [found] = user.get("/v1/search", q=query).json["items"]
    assert found["title"] == title
    highlight = found["highlights"][0]
    assert marked in [highlight["text"][start:end] for start, end in highlight["marks"]]


def test_the_database_and_the_query_spell_signs_the_same(words: Library):
    texts = [*LANGUAGES, "i+++j a_c++ x.c++ (C++)", "Installation# #tag A#B é# eC# C#12 C#. C## C#_", "", "c+", "++"]
    texts += [
        "用C++和C#的3月x用y用é",
        "ＡＢｃ９と",
        "Ｃ＋＋とＣ＃の９月",  # noqa: RUF001  # wide letters are meant
        "은C#은F#é",
        "ไทยC++ไทย",
        "用_C++用_x",
        "+用#",
    ]
    with words.database.transaction() as connection:
        spelt = connection.execute(
            "select array_agg(search_signed(search_spaced(search_narrow(text)))) from unnest(%s::text[]) as text",
            (texts,),
        ).fetchone()
    assert spelt == ([signed(text) for text in texts],)


@pytest.mark.parametrize(
    ("title", "query", "before", "step", "comment"),
    [
        ("What C++ brings", "C++", "c:2A bring:3A", "0005_signed_words", "-- What was read"),
        ("使用C++编程", "C++", "使:1A 使用:2A 用c:3A 编程:4A", "0006_words_beside_cjk", "-- Texts with"),
    ],
)
def test_texts_that_were_read_before_are_read_again(
    words: Library, title: str, query: str, before: str, step: str, comment: str
):
    user = words.user()
    words.give(user, title)
    words.sql("update content_words set words = %s::tsvector", before)
    assert titles(user.get("/v1/search", q=query)) == []
    words.sql((MIGRATIONS / f"{step}.sql").read_text().partition(comment)[2].partition("\n")[2])
    assert titles(user.get("/v1/search", q=query)) == [title]


def test_only_grammars_that_texts_are_in_are_asked(words: Library):
    user = words.user()
    words.give(user, "Eins", lang="de")
    words.give(user, "One", lang="en")
    with words.database.transaction() as connection:
        terms = words_store.parse(connection, parse("the houses"))

    assert terms.grammars == ["siftline_english", "siftline_german"]
    assert terms.whole == ["(('hous'))", "(('the') & ('hous'))"]


def test_how_many_of_the_users_texts_hold_a_word_is_counted_for_a_rare_one_and_told_by_a_sample_for_a_common_one(
    words: Library,
):
    user, other = words.user(), words.user()
    words.give(user, "One zeppelin", "Another zeppelin")
    words.give(other, "Their zeppelin")
    words.sql(
        "insert into contents (id, url, url_key, status, lang, title) select id, 'https://a.example/' || id, id::text,"
        " 'READY', 'en', 'A balloon' from (select ('0199ffff-0000-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid as id"
        " from generate_series(1, 800) as n) as made"
    )
    words.sql(
        "insert into items (id, user_id, content_id) select gen_random_uuid(), %s, id from contents"
        " where title = 'A balloon'",
        user.user_id,
    )
    with words.database.statement() as connection:
        terms = words_store.parse(connection, parse("zeppelin balloon kite"))
        found = words_store.counted(connection, user.user_id, Wanted(), terms)
        some = words_store.counted(connection, user.user_id, Wanted(), terms, most=1)

    assert found == words_store.Counted(802, [2, 800, 0])
    assert some.found == [1, 1, 0]


def test_similar_by_words_takes_no_sign_of_a_title_as_one(words: Library):
    user = words.user()
    first, *_ = words.give(user, 'The "zeppelin" -lands or not', "A zeppelin lands", "Weather")

    assert titles(user.get(f"/v1/items/{first}/similar")) == ["A zeppelin lands"]


@pytest.mark.parametrize(
    ("lang", "title", "query", "marked"),
    [
        ("ar", "ضربت العاصفة الساحل", "العاصفة", "العاصفة"),
        ("ar", "ضربت العاصفة الساحل", "عاصفة", "العاصفة"),
        ("ar", "المدن والعواصف بالساحل", "الساحل", "بالساحل"),
        ("ar", "أخبار المدينة", "اخبار", "أخبار"),
        ("ar", "ذهب إلى المدارس", "مدارس", "المدارس"),
        ("ar", "ضَرَبَتِ العَاصِفَةُ", "العاصفة", "العَاصِفَةُ"),
        ("ar", "انتخابات رئاسية مبكرة", "انتخابات", "انتخابات"),
        ("ar", "الرئيس المصري", "رئيس", "الرئيس"),
        ("he", "חדשות העיר", "העיר", "העיר"),
        ("fa", "توفان شدید در شمال", "توفان", "توفان"),
        ("fa", "کتاب‌های تازه", "کتاب‌های", "کتاب‌های"),
        ("ur", "لاہور میں بارش", "بارش", "بارش"),
        ("el", "Ειδήσεις από την Αθήνα", "ειδησεις", "Ειδήσεις"),
        ("el", "ΜΕΓΆΛΟΣ ΣΕΙΣΜΌΣ", "σεισμός", "ΣΕΙΣΜΌΣ"),
        ("el", "Η Αθήνας κυβέρνηση", "κυβερνησης", "κυβέρνηση"),  # noqa: RUF001  # letters of another writing are meant
        ("tr", "İSTANBUL'da kış", "istanbul", "İSTANBUL"),  # noqa: RUF001  # letters of another writing are meant
        ("tr", "Ilık bir kış", "ılık", "Ilık"),  # noqa: RUF001  # letters of another writing are meant
        ("tr", "Kitaplar ve şiirler", "şiir", "şiirler"),
        ("de", "Große Straße gesperrt", "strasse", "Straße"),
        ("de", "Grosse Strasse gesperrt", "straße", "Strasse"),
        ("de", "Häuser geräumt", "haus", "Häuser"),
        ("en", "İstanbul quakes", "istanbul", "İstanbul"),
        ("ru", "Ёлка стоит", "елка", "Ёлка"),
        ("hi", "दिल्ली में बारिश", "दिल्ली", "दिल्ली"),
        ("bn", "ঢাকায় বৃষ্টি", "বৃষ্টি", "বৃষ্টি"),
        ("ta", "சென்னையில் மழை", "மழை", "மழை"),
        ("hy", "Երևանում անձրև", "անձրև", "անձրև"),
        ("vi", "Thời tiết Hà Nội", "thoi tiet", "Thời"),
        ("pl", "Łódź wygrywa", "lodz", "Łódź"),
    ],
    ids=range(29),
)
def test_a_word_that_is_found_is_marked_in_every_writing(
    words: Library, lang: str, title: str, query: str, marked: str
) -> None:
    user = words.user()
    words.give(user, unicodedata.normalize("NFC", title), lang=lang)
    [found] = user.get("/v1/search", q=query).json["items"]
    shown = [one["text"][start:end] for one in found["highlights"] for start, end in one["marks"]]
    assert shown[:1] == [unicodedata.normalize("NFC", marked)]


@pytest.mark.parametrize("status", ["PENDING", "PROCESSING", "NEW"])
def test_a_text_is_found_by_its_words_once_it_is_stored_by_who_holds_it(library: Library, status: str):
    """T35: it was found only once it had been analysed."""
    user, other = library.user(), library.user()
    library.give(user, "Of other things", lang="en")
    library.give(other, "Of other things", lang="en")
    page = library.content("Harbour dredging", status=status, indexed=False, text=None, lang=None)
    library.hold(user, page)
    assert titles(user.get("/v1/search", q="silted quay")) in ([], ["Of other things"])
    library.sql("update contents set text = 'The silted quay is closed.' where id = %s", page)

    found = user.get("/v1/search", q="silted quay")

    assert "Harbour dredging" in titles(found)
    assert "Harbour dredging" not in titles(other.get("/v1/search", q="silted quay"))
    # AND what its analysis adds is found as well
    library.sql("update contents set status = 'READY', summary = 'Barges wait.', lang = 'en' where id = %s", page)
    assert "Harbour dredging" in titles(user.get("/v1/search", q="barge"))


def test_what_was_read_is_found_while_it_is_read_again(library: Library):
    user = library.user()
    library.give(user, "Harbour dredging", lang="en")
    library.sql("update contents set status = 'PROCESSING'")
    assert titles(user.get("/v1/search", q="harbour")) == ["Harbour dredging"]


def test_a_failed_page_without_a_text_is_not_found(library: Library):
    user = library.user()
    library.give(user, "Harbour dredging", status="FAILED", error_code="gone", text=None, indexed=False)
    assert titles(user.get("/v1/search", q="harbour")) == []


@pytest.mark.parametrize(
    ("lang", "held", "beside", "typed", "meant"),
    [
        ("en", "Water tower with a kestrel nest for a bird", "Power grid", "kestrel nest brid", "kestrel nest bird"),
        ("en", "Water tower with a kestrel nest for a bird", "Power grid", "brid nest", "bird nest"),
        ("en", "Water tower with a kestrel nest for a bird", "Late waste", "watre tower", "water tower"),
        ("en", "Water tower with a kestrel nest for a bird", "A grid wade", "watre brid", "water bird"),
        ("en", "A robot in the solar orchard", "Roto sola", "orchard robto solr", "orchard robot solar"),
        ("de", "Die Brücke am Hafen ist gesperrt", "Der Haken", "brücke hafne", "brücke hafen"),
        ("fr", "Le marché couvert de la gare", "Un garde", "marché gaer", "marché gare"),
        ("es", "La playa del norte sin arena", "Una tarea", "playa arean", "playa arena"),
        ("ru", "Старый мост через реку", "Рост", "старый мсот", "старый мост"),
        ("en", "The government and the parliament", "Parchment", "government parliamnet", "government parliament"),
    ],
    ids=range(10),
)
def test_what_is_spelt_alike_is_tried_until_something_holds_all_the_words(
    words: Library, lang: str, held: str, beside: str, typed: str, meant: str
):
    user = words.user()
    words.give(user, *(f"{held} {number}" for number in range(3)), lang=lang)
    words.give(user, *(f"{beside} {number}" for number in range(6)), lang=lang)

    answer = user.get("/v1/search", q=typed)

    assert answer.json["corrected"] == meant
    assert all(title.startswith(held) for title in titles(answer)[:3])


@pytest.mark.parametrize(
    ("lang", "many", "few", "typed", "meant"),
    [
        ("en", "A tower", "It tore", "towre", "tower"),
        ("en", "A bird", "A grid", "brid", "bird"),
        ("en", "A robot", "A roto", "robto", "robot"),
        ("en", "It is solar", "A sola", "solr", "solar"),
        ("en", "A house", "A horse", "hpuse", "house"),
        ("de", "Der Baum", "Der Bauch", "baumm", "baum"),
        ("fr", "Une plage", "Une page", "palge", "plage"),
        ("es", "El campo", "El capo", "camop", "campo"),
        ("pl", "Zamek stoi", "Zanik stoi", "zmaek", "zamek"),
    ],
    ids=range(9),
)
def test_of_words_spelt_as_much_alike_the_one_that_more_is_held_of_is_meant(
    words: Library, lang: str, many: str, few: str, typed: str, meant: str
):
    user = words.user()
    words.give(user, *(f"{many} {number}" for number in range(3)), few, lang=lang)

    assert user.get("/v1/search", q=typed).json["corrected"] == meant


@pytest.mark.parametrize(
    ("lang", "one", "other", "typed", "meant"),
    [
        ("en", "A bird", "A grid", "brid", "bird"),
        ("en", "A robot", "A roto", "robto", "robot"),
        ("en", "It is solar", "A sola", "solr", "solar"),
        ("de", "Der Wald", "Der Wahn", "wlad", "wald"),
    ],
    ids=range(4),
)
def test_letters_swapped_or_left_out_are_more_likely_than_a_wrong_one(
    words: Library, lang: str, one: str, other: str, typed: str, meant: str
):
    user = words.user()
    words.give(user, one, other, lang=lang)

    assert user.get("/v1/search", q=typed).json["corrected"] == meant


@pytest.mark.parametrize("query", ["kestrel nest qzxv", "qzxv nest", "kestrel brd nest", "nest the qzxvw"])
def test_a_word_that_nothing_holds_hides_none_of_the_others(library: Library, query: str):
    user = library.user()
    library.give(user, *(f"A kestrel nest {number}" for number in range(4)), "Weather", "Markets", "Kitchens")

    answer = user.get("/v1/search", q=query)

    assert answer.json["corrected"] is None
    assert all("nest" in title for title in titles(answer)[:4])
    assert all(item["highlights"] for item in answer.json["items"][:4])


@pytest.mark.parametrize(
    ("query", "lang", "title", "other", "foreign", "third"),
    [
        ("reservoir", "en", "The reservoir is full", "fr", "Un siège réservé", "es"),
        ("reservoir", "en", "The reservoir is full", "en", "They reserve seats", "it"),
        ("reservoir hall", "en", "The reservoir at the hall", "fr", "Un siège réservé", "it"),
        ("tower", "en", "A tower", "en", "They tow a car", "fr"),
        ("animal", "fr", "Un animal rare", "fr", "Il anime un bal", "en"),
        ("university", "de", "Die University am See", "fr", "Son univers", "en"),
        ("marché", "fr", "Le marché couvert", "fr", "Du marc sec", "it"),
    ],
    ids=range(7),
)
def test_a_text_is_not_found_by_what_a_word_becomes_in_another_grammar(
    words: Library, query: str, lang: str, title: str, other: str, foreign: str, third: str
):
    user = words.user()
    words.give(user, title, lang=lang)
    words.give(user, foreign, lang=other)
    words.give(user, "Kilo", lang=third)

    found = user.get("/v1/search", q=query)

    assert titles(found) == [title]
    assert found.json["items"][0]["highlights"]


def test_what_is_left_out_and_what_must_stand_so_are_read_by_each_texts_grammar_too(words: Library):
    user = words.user()
    words.give(user, "The hall is reserved", "The hall has a reservoir", "They reserve a hall")
    words.give(user, "Kilo", lang="es")

    assert set(titles(user.get("/v1/search", q="hall -reservoir"))) == {"The hall is reserved", "They reserve a hall"}
    assert titles(user.get("/v1/search", q='"reservoir"')) == ["The hall has a reservoir"]
