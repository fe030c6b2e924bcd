"""Whom a text is about, from analysis to PostgreSQL: aliases shared, ids stable, re-analysis in place of what was."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any
from uuid import UUID

import pytest
from psycopg.rows import tuple_row

from siftline.analyze.article_reader import INSUFFICIENT, Article, Reading
from siftline.analyze.entities import entities_store
from siftline.analyze.entities.entities_store import FoundEntity
from siftline.analyze.entities.entity_rules import RuleRecognizer
from siftline.analyze.entities.entity_step import EntityStep
from siftline.analyze.entities.mentions import Kind, Named
from siftline.kit.db import Database, open_database
from siftline.text.names import normalise, temporary_id
from tests.factories import make_content

TEXT = "Acme Robotics, Inc. sued Foo Bar Ltd. in Paris. Acme Robotics said so. Angela Weber works for Foo Bar Ltd."


def read(text: str = TEXT, notice_code: str | None = None) -> Reading:
    return Reading("en", None, (), None, (), notice_code, ())


def written(database: Database, step: EntityStep, content_id: UUID, text: str = TEXT) -> Reading:
    reading = step.added(Article("", text), read(text))
    with database.transaction() as connection:
        step.write(connection, content_id, reading.entities, taken_from=None)
    return reading


def rows(database: Database, statement: str) -> list[tuple[Any, ...]]:
    with database.transaction() as connection, connection.cursor(row_factory=tuple_row) as cursor:
        return cursor.execute(statement).fetchall()


NAMES = """
select kind, entities.name, mentions from content_entities join entities on entities.id = entity_id
where content_id = '{}' order by mentions desc, entities.name
"""


@pytest.fixture
def step():
    return EntityStep(RuleRecognizer(), salt="pepper")


def test_a_content_has_its_entities_with_ids_that_follow_from_the_names_and_the_salt(database, step):
    with database.transaction() as connection:
        content_id = make_content(connection)

    reading = written(database, step, content_id)

    assert rows(database, NAMES.format(content_id)) == [
        ("ORG", "Acme Robotics, Inc.", 2),
        ("ORG", "Foo Bar Ltd.", 2),
        ("PER", "Angela Weber", 1),
        ("LOC", "Paris", 1),
    ]
    made = reading.derivations[-1]
    assert (made.kind, made.model_version, made.details) == ("entities", "rules-2/entities-1", {"entities": 4})
    ids = dict(rows(database, "select name, temporary_id from entities where canonical_id is null"))
    assert ids["Foo Bar Ltd."] == temporary_id("FOO BAR", "pepper") != temporary_id("FOO BAR", "salt")


def test_another_spelling_elsewhere_is_the_same_entity_and_a_new_reading_replaces_the_old(database, step):
    with database.transaction() as connection:
        one, other = make_content(connection), make_content(connection)
    written(database, step, one)
    written(database, step, other, "FOO BAR LTD. grows.")

    written(database, step, one, "Foo Bar Ltd. is alone now.")

    ids = rows(database, "select distinct entity_id from content_entities")
    assert len(ids) == 1
    assert [row[1:] for row in rows(database, NAMES.format(one))] == [("Foo Bar Ltd.", 1)]
    assert rows(database, "select count(*) from entity_aliases") == [(4,)]


def test_too_little_text_names_nobody(step):
    assert step.added(Article("", TEXT), read(notice_code=INSUFFICIENT)).entities == ()


def test_what_was_read_elsewhere_is_taken_over_with_its_entities(database, step):
    with database.transaction() as connection:
        one, other = make_content(connection), make_content(connection)
    written(database, step, one)

    with database.transaction() as connection:
        step.write(connection, other, (), taken_from=one)

    assert rows(database, NAMES.format(other)) == rows(database, NAMES.format(one))


def test_nobody_is_asked_unless_there_are_providers_and_then_of_organisations_once(database):
    with database.transaction() as connection:
        contents = [make_content(connection) for _ in range(3)]
    written(database, EntityStep(RuleRecognizer(), resolves=False), contents[0], "Quiet Ltd. is silent.")
    assert rows(database, "select count(*) from jobs") == [(0,)]

    for content_id in contents[1:]:
        written(database, EntityStep(RuleRecognizer(), resolves=True), content_id)

    jobs = "select job_type, queue, state, published_at, name from jobs join entities on entities.id = subject_id"
    assert sorted(rows(database, jobs)) == [
        ("resolve_entity", "resolution", "pending", None, "Acme Robotics, Inc."),
        ("resolve_entity", "resolution", "pending", None, "Foo Bar Ltd."),
    ]


def test_many_who_name_the_same_at_once_make_each_entity_once(database_url, database):
    found = [
        FoundEntity(Named(Kind.ORGANISATION, name, normalise(name), 1), temporary_id(name, ""))
        for name in (f"Company {number} Ltd." for number in range(20))
    ]
    with database.transaction() as connection:
        contents = [make_content(connection) for _ in range(6)]

    def save(number: int) -> int:
        own = open_database.__wrapped__(database_url, 2)
        try:
            with own.transaction() as connection:
                order = found if number % 2 else found[::-1]
                return len(entities_store.save(connection, contents[number], order))
        finally:
            own.close()

    with ThreadPoolExecutor(6) as pool:
        fresh = list(pool.map(save, range(6)))

    assert sum(fresh) == 20
    assert rows(database, "select count(*) from entities") == [(20,)]
    assert rows(database, "select count(*) from entity_aliases") == [(20,)]
    assert rows(database, "select count(*) from content_entities") == [(120,)]
