"""What a source mostly writes about: learnt from its contents, of use where a text says too little; real PostgreSQL."""

import json

import pytest
from psycopg.types.json import Jsonb

from siftline.analyze import analyze_store
from siftline.analyze.topics.topic_scoring import Topic
from siftline.kit.ids import new_id
from tests.factories import make_content, make_source


class Library:
    def __init__(self, database):
        self.database = database
        with database.transaction() as connection:
            self.source_id = make_source(connection)

    def read(self, *topics, source_id=None, model_id="words", status="READY"):
        """Add a content of the source that was read, and let the source learn from it."""
        with self.database.transaction() as connection:
            told = Jsonb([{"topic": topic, "score": 0.9} for topic in topics])
            content_id = make_content(connection, status=status, topics=told)
            connection.execute(
                "insert into source_entries (source_id, entry_key, content_sha256, content_id) values (%s, %s, '', %s)",
                (source_id or self.source_id, str(new_id()), content_id),
            )
            connection.execute(
                "insert into derivations (content_id, kind, model_id, model_version, input_sha256, details)"
                " values (%s, 'topics', %s, '1', '', '{}')",
                (content_id, model_id),
            )
            analyze_store.learn_habits(connection, content_id)
        return content_id

    def habits(self, content_id):
        with self.database.transaction() as connection:
            return analyze_store.habits(connection, content_id)

    def kept(self):
        with self.database.transaction() as connection:
            row = connection.execute("select granular_topics from sources where id = %s", (self.source_id,)).fetchone()
        return [(habit["topic"], habit["score"]) for habit in row[0]]


@pytest.fixture
def library(database):
    return Library(database)


def test_a_source_learns_the_shares_of_what_its_contents_are_about(library):
    for _ in range(4):
        library.read("sport")
    assert library.kept() == [], "four contents are no habit yet"
    library.read("sport", "health")
    library.read("health")
    for _ in range(4):
        library.read("sport", "politics")

    assert library.kept() == [("sport", 0.9), ("politics", 0.4), ("health", 0.2)]


def test_what_the_source_itself_told_of_a_content_teaches_it_nothing(library):
    for _ in range(5):
        library.read("sport")
    for _ in range(20):
        last = library.read("politics", model_id="source")

    assert library.kept() == [("sport", 1.0)]
    assert library.habits(last) == [Topic("sport", 1.0)]


def test_a_content_that_no_source_lists_has_no_habits(library):
    with library.database.transaction() as connection:
        content_id = make_content(connection)

    assert library.habits(content_id) == []


def test_the_newest_contents_count(library):
    for _ in range(analyze_store.NEWEST):
        library.read("sport")
    for _ in range(analyze_store.NEWEST):
        library.read("economy")

    assert library.kept() == [("economy", 1.0)]


def test_a_source_that_is_being_written_is_left_for_its_next_content(library):
    for _ in range(4):
        library.read("sport")
    with library.database.transaction() as other:
        other.execute("select from sources where id = %s for no key update", (library.source_id,))
        library.read("sport")
    assert library.kept() == []
    library.read("sport")
    assert library.kept() == [("sport", 1.0)]


def test_nothing_is_written_where_nothing_changes(library):
    for _ in range(6):
        library.read("sport")
    with library.database.transaction() as connection:
        query = "select xmin::text from sources where id = %s"
        before = connection.execute(query, (library.source_id,)).fetchone()
    library.read("sport")
    with library.database.transaction() as connection:
        assert connection.execute(query, (library.source_id,)).fetchone() == before
    assert json.dumps(library.kept()) == '[["sport", 1.0]]'


ODD = ("{}", '"x"', "7", "null", "[null]", "[[1]]", '["x"]', '[{"topic": 7, "score": "x"}]', '[{"score": 1e400}]')


@pytest.mark.parametrize("odd", ODD)
def test_a_content_whose_topics_cannot_be_read_teaches_nothing_and_stops_nobody(library, odd):
    spoilt = library.read("health")
    with library.database.transaction() as connection:
        connection.execute("update contents set topics = %s::jsonb where id = %s", (odd, spoilt))
    for _ in range(5):
        library.read("sport")

    assert [topic for topic, _ in library.kept()] == ["sport"]


@pytest.mark.parametrize("odd", ODD)
def test_habits_that_cannot_be_read_are_none_until_they_are_learnt_anew(library, odd):
    last = library.read("sport")
    with library.database.transaction() as connection:
        other = make_source(connection, granular_topics=Jsonb([{"topic": "health", "score": 0.5}]))
        connection.execute(
            "insert into source_entries (source_id, entry_key, content_sha256, content_id) values (%s, 'a', '', %s)",
            (other, last),
        )
        connection.execute("update sources set granular_topics = %s::jsonb where id = %s", (odd, library.source_id))

    assert library.habits(last) == [Topic("health", 0.5)]

    for _ in range(5):
        last = library.read("sport")
    assert library.habits(last) == [Topic("sport", 1.0)]
