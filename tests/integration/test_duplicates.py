"""Which contents are one: groups of duplicates in a real PostgreSQL, whoever comes first, changes, fails or goes."""

import hashlib
import itertools
import random
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest

from siftline.contracts import JobType
from siftline.ingest import duplicates_store, ingest_store
from siftline.ingest.duplicates import traits_of
from siftline.jobs import subjects_store
from siftline.kit.db import Connection, Database, settled
from tests.factories import make_content
from tests.polling import rows
from tests.texts import prose, retold

DAY = datetime(2026, 11, 1, tzinfo=UTC)
STORY = prose(1)
RETOLD = retold(STORY, 2)
"""0.89 of its runs are those of ``STORY``."""


class Shelf:
    """Stores texts as ingest does."""

    def __init__(self, database: Database) -> None:
        self.database = database

    def content(self, age: int = 0, **columns: Any) -> UUID:
        """A content first seen on this day."""
        with self.database.transaction() as connection:
            return make_content(connection, first_seen_at=DAY + timedelta(days=age), status="PROCESSING", **columns)

    def keep(self, content_id: UUID, text: str, *, title: str = "A title", names: Sequence[str] = ()) -> UUID | None:
        """Store a text; returns what it is a duplicate of."""
        found = ingest_store.StoredReading(
            text=text,
            content_sha256=hashlib.sha256(text.encode()).digest(),
            word_count=len(text.split()),
            kind="article",
            title=title,
            author=None,
            site_name=None,
            image_url=None,
            description=None,
            lang=None,
            published_at=None,
            undated_code=None,
            undated_claim=None,
            http_status=200,
            notice_code=None,
            url_keys=names,
        )
        traits = traits_of(found)

        def write(connection: Connection) -> UUID | None:
            original = duplicates_store.link(connection, content_id, traits)
            ingest_store.write(connection, content_id, found, status="READY")
            duplicates_store.sign(connection, content_id, traits, analyse=False)
            return original

        return settled(self.database, write)

    def fail(self, *ids: UUID) -> None:
        def write(connection: Connection) -> None:
            subjects_store.failed(connection, JobType.INGEST_CONTENT, ids, "gone", "It is gone.")

        settled(self.database, write)

    def delete(self, *ids: UUID) -> None:
        def write(connection: Connection) -> None:
            connection.execute("delete from contents where id = any(%s)", (list(ids),))

        settled(self.database, write)

    def originals(self, *ids: UUID) -> list[UUID | None]:
        found = {row["id"]: row["duplicate_of"] for row in rows(self.database, "select id, duplicate_of from contents")}
        return [found[one] for one in ids]

    def kinds(self) -> list[str | None]:
        query = "select duplicate_kind from contents order by first_seen_at, id"
        return [row["duplicate_kind"] for row in rows(self.database, query)]

    def sound(self) -> None:
        """Every link leads to an original, which is older unless the other failed; and says of what kind it is."""
        assert not rows(
            self.database,
            "select one.id from contents one join contents original on original.id = one.duplicate_of"
            " where original.duplicate_of is not null or one.duplicate_kind is null"
            " or (one.status <> 'FAILED' and (one.first_seen_at, one.id) < (original.first_seen_at, original.id))",
        )
        assert not rows(self.database, "select from contents where duplicate_of is null and duplicate_kind is not null")


@pytest.fixture
def shelf(database: Database) -> Shelf:
    return Shelf(database)


class TestFinding:
    def test_a_title_that_comes_again_with_other_words_is_no_duplicate(self, shelf: Shelf) -> None:
        """Case C07: "Weekly thread" three times with different bodies; long ones and short ones."""
        for words in (200, 12):
            contents = [shelf.content(n) for n in range(3)]
            for n, one in enumerate(contents):
                assert shelf.keep(one, prose(n + words, words), title="Weekly thread") is None
            assert shelf.originals(*contents) == [None] * 3

    @pytest.mark.parametrize("text", [STORY, RETOLD], ids=["exact", "near"])
    def test_the_same_one_wins_at_every_poll(self, shelf: Shelf, text: str) -> None:
        """Case C07: two new duplicates, polled twice."""
        first, second = shelf.content(0), shelf.content(1)
        for _ in range(2):
            shelf.keep(second, text)
            shelf.keep(first, STORY)
            assert shelf.originals(first, second) == [None, first]
        shelf.sound()

    def test_two_that_arrive_in_one_poll_have_one_winner_by_their_ids(self, shelf: Shelf) -> None:
        """Case C07: first seen in the same moment."""
        first, second = sorted([shelf.content(), shelf.content()])
        for one in (second, first, second, first):
            shelf.keep(one, STORY if one == first else RETOLD)
        assert shelf.originals(first, second) == [None, first]

    def test_texts_that_are_nearly_the_same_are_found_and_those_that_are_not_are_not(self, shelf: Shelf) -> None:
        original, near, far, same = (shelf.content(n) for n in range(4))
        assert shelf.keep(original, STORY) is None
        assert shelf.keep(near, RETOLD) == original
        assert shelf.keep(far, retold(STORY, 30)) is None
        assert shelf.keep(same, STORY, title="Another title") == original
        assert shelf.kinds() == [None, "near", None, "exact"]

    def test_a_short_text_is_the_same_only_to_the_letter_and_under_its_title(self, shelf: Shelf) -> None:
        text = prose(1, 60)
        one, other, third = (shelf.content(n) for n in range(3))
        shelf.keep(one, text)
        assert shelf.keep(other, retold(text, 1)) is None
        assert shelf.keep(third, text) == one

    def test_what_calls_itself_another_page_is_that_page_if_it_says_much_the_same(self, shelf: Shelf) -> None:
        named, like, unlike, unread = (
            shelf.content(n, url_key=f"https://n.example/{n}", url=f"https://n.example/{n}") for n in range(4)
        )
        shelf.keep(named, STORY)
        assert shelf.keep(like, " ".join(STORY.split()[:150]), names=["https://n.example/0"]) == named
        assert shelf.keep(unlike, prose(2), names=["https://n.example/0", "https://n.example/"]) is None
        assert shelf.kinds()[:2] == [None, "url"]
        late = shelf.content(9)
        assert shelf.keep(late, prose(3), names=["https://n.example/3"]) == unread

    def test_a_group_is_one_however_its_members_came(self, shelf: Shelf) -> None:
        """Case C07: the ends of a chain have too little in common; the middle links them, whenever it comes."""
        middle = retold(STORY, 2, 5)
        texts = [STORY, middle, retold(middle, 2, 105)]
        for order in itertools.permutations(range(3)):
            contents = [shelf.content(n) for n in range(3)]
            for n in order:
                shelf.keep(contents[n], texts[n])
            assert shelf.originals(*contents) == [None, contents[0], contents[0]]
            shelf.sound()
            shelf.delete(*contents)


class TestPlaces:
    @pytest.fixture
    def group(self, shelf: Shelf) -> list[UUID]:
        contents = [shelf.content(n) for n in range(4)]
        for one, text in zip(contents, [STORY, RETOLD, STORY, RETOLD], strict=True):
            shelf.keep(one, text)
        assert shelf.originals(*contents) == [None, *contents[:1] * 3]
        return contents

    def test_the_next_oldest_takes_the_place_of_a_deleted_original(self, shelf: Shelf, group: list[UUID]) -> None:
        shelf.delete(group[0])
        assert shelf.originals(*group[1:]) == [None, group[1], group[1]]
        shelf.sound()

    def test_several_may_go_at_once(self, shelf: Shelf, group: list[UUID]) -> None:
        shelf.delete(*group[:2])
        assert shelf.originals(*group[2:]) == [None, group[2]]
        shelf.delete(*group)
        assert not rows(shelf.database, "select id from contents")

    def test_the_next_oldest_takes_the_place_of_one_that_failed_until_it_is_read_again(
        self, shelf: Shelf, group: list[UUID]
    ) -> None:
        shelf.fail(group[0])
        assert shelf.originals(*group) == [group[1], None, group[1], group[1]]
        shelf.fail(*group[1:3])
        assert shelf.originals(*group) == [group[3]] * 3 + [None]
        shelf.sound()
        shelf.keep(group[0], STORY)
        assert shelf.originals(*group) == [None, *group[:1] * 3]

    def test_an_edit_that_makes_another_text_of_a_duplicate_unlinks_it(self, shelf: Shelf, group: list[UUID]) -> None:
        assert shelf.keep(group[2], prose(7)) is None
        assert shelf.originals(*group) == [None, group[0], None, group[0]]
        assert shelf.keep(group[2], STORY) == group[0]
        shelf.sound()

    def test_an_edit_that_makes_another_text_of_the_original_leaves_its_place_to_the_next(
        self, shelf: Shelf, group: list[UUID]
    ) -> None:
        assert shelf.keep(group[0], prose(7)) is None
        assert shelf.originals(*group) == [None, None, group[1], group[1]]
        shelf.sound()

    def test_a_small_edit_of_the_original_changes_nothing(self, shelf: Shelf, group: list[UUID]) -> None:
        shelf.keep(group[0], retold(STORY, 1))
        assert shelf.originals(*group) == [None, *group[:1] * 3]

    def test_a_text_without_a_signature_leaves_none(self, shelf: Shelf, group: list[UUID]) -> None:
        shelf.keep(group[0], "Gone.")
        assert len(rows(shelf.database, "select content_id from content_signatures")) == 3


class TestAtOnce:
    def test_both_halves_of_a_pair_stored_at_once_have_one_original(self, shelf: Shelf) -> None:
        for seed in range(8):
            text = prose(100 + seed)
            pair = [shelf.content(0), shelf.content(1)]
            with ThreadPoolExecutor(2) as pool:
                list(pool.map(shelf.keep, pair, [text, retold(text, 2)]))
            assert shelf.originals(*pair) == [None, pair[0]]

    def test_many_workers_join_groups_while_originals_go_and_fail(self, shelf: Shelf) -> None:
        rng = random.Random(5)
        texts = [retold(prose(200 + n % 3), n // 3 % 3, n) for n in range(24)]
        contents = [shelf.content(n) for n in range(24)]

        def work(place: int) -> None:
            for n in rng.sample(range(24), 12):
                if place == 0 and n % 8 == 1:
                    shelf.fail(contents[n])
                elif place == 1 and n % 8 == 2:
                    shelf.delete(contents[n])
                else:
                    shelf.keep(contents[n], texts[n])

        with ThreadPoolExecutor(6) as pool:
            list(pool.map(work, range(6)))
        left = [row["id"] for row in rows(shelf.database, "select id from contents")]
        for one in left:
            shelf.keep(one, texts[contents.index(one)])
        shelf.sound()
        oldest = [min(one for one in left if contents.index(one) % 3 == n) for n in range(3)]
        assert shelf.originals(*left) == [None if one in oldest else oldest[contents.index(one) % 3] for one in left]
