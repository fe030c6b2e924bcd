"""Another model's vectors take the place of the ones before while searches go on: tiny models, real stores."""

import re
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any
from uuid import UUID

import numpy as np
import pytest

from infra.local import reindex as command
from infra.local.ports import free_port
from infra.local.wsgi import LoopbackServer
from siftline.analyze import reindex_store
from siftline.analyze.reindex import Progress, Reindex, ReindexRefusedError, rebuild
from siftline.api.search_routes import Wanted
from siftline.contracts import Tick
from siftline.kit.db import Database, SingleConnection
from siftline.kit.ids import new_id
from siftline.models import embedding_store
from siftline.models.embedding_models import EmbeddingModels, ModelReplacedError
from siftline.models.embedding_store import ModelSwitchedError
from siftline.models.unit_vector import Vector
from siftline.models.vectors import Point, VectorIndex
from siftline.models.vectors_store import collection_name
from siftline.net.probe import NoAnswerError
from siftline.rank.search import open_search
from siftline.schedule.reconcile import drop_outdated, refresh_active, remove_ghosts, restore_lost
from siftline.settings.functions import AnalyzeSettings, SearchSettings
from tests.embedding_server import MODEL, EmbeddingServer, vectors
from tests.factories import make_user
from tests.language_model import problem
from tests.reindexing import Gate, Searching, Shelf, other_model, settings_for, start_reindex
from tests.servers import serving
from tests.ticks import make_schedule

QUERY = "the football team won"


class Bench:
    """A database, a Qdrant that can be held up, two models of which the first counts, and what is held."""

    def __init__(self, database: Database, url: str, gate: Gate, qdrant: str, model: Path, folder: Path) -> None:
        self.database, self.url, self.gate, self.qdrant, self.folder = database, url, gate, qdrant, folder
        self.model, self.other = model, other_model(model, folder)
        self.settings = self.set_up()
        with database.transaction() as connection:
            self.user = make_user(connection)
        self.shelf = Shelf(database, self.settings, self.user)
        self.shelf.fill(20)
        self.old = self.shelf.models.active().version.model_version
        self.new = "tiny-other-1"
        self.search = open_search(
            SearchSettings(
                database_url=url,
                qdrant_url=qdrant,
                model_uri=str(model),
                model_cache_dir=str(folder),
                embedding_tokens=64,
                model_threads=1,
            )
        )

    def set_up(self, **more: Any) -> AnalyzeSettings:
        """Return the settings, with some of them otherwise."""
        return settings_for(self.url, self.qdrant, self.model, self.folder, **{"embedding_keep_old_s": 0, **more})

    def ask(self) -> int:
        """Search by meaning; returns how many were found. Fails where words were matched instead."""
        answer = self.search.search(self.user, QUERY, Wanted(), limit=5)
        assert answer.mode in {"vectors", "hybrid"}, answer.reason
        return len(answer.items)

    def work(self, **more: Any) -> Reindex:
        """Return the re-embedding to the other model, in this process."""
        new = EmbeddingModels(self.settings, self.database).named(str(self.other))
        old = self.shelf.models.active().version
        return Reindex(self.database, old, new.version, new.embedder, new.index, local=True, **more)

    def active(self) -> str:
        """Return the version that counts."""
        with self.database.transaction() as connection:
            found = embedding_store.active(connection)
        assert found is not None
        return found.model_version

    def points(self, version: str) -> int:
        """Return how many points a version has."""
        with closing(VectorIndex(self.qdrant, model_version=version, dimensions=64)) as index:
            return index.count()


@pytest.fixture
def bench(database: Database, database_url: str, model: Path, tmp_path: Path) -> Iterator[Bench]:
    gate = Gate(tmp_path / "vectors")
    with LoopbackServer(gate, threads=8) as server:
        yield Bench(database, database_url, gate, server.url, model, tmp_path / "models")
        gate.opened.set()
    gate.vectors.close()


@pytest.mark.parametrize(
    ("write", "after"),
    [(1, False), (1, True), (2, False)],
    ids=["before the first points", "between points and vectors", "before later points"],
)
def test_killed_at_any_point_it_goes_on_and_no_search_fails_meanwhile(bench: Bench, write: int, after: bool) -> None:
    bench.shelf.fill(60)
    bench.gate.hold(collection_name(bench.new), write, after=after)
    with Searching(bench.ask) as searching:
        first = start_reindex(bench.settings, "--to", str(bench.other))
        assert bench.gate.reached.wait(60)
        late = bench.shelf.add("a late text about football")
        first.kill()
        first.communicate()
        assert bench.active() == bench.old
        bench.gate.opened.set()

        second = start_reindex(bench.settings, "--to", str(bench.other))
        told, error = second.communicate(timeout=120)
        while searching.asked < 5:
            pass
    assert second.returncode == 0, error
    assert "ERROR" not in error
    assert "Traceback" not in error
    assert (searching.failed, searching.empty) == (0, 0), searching.failures[:3]
    assert f"{81 if write == 1 else 17:>8}  of 81 contents to embed" in told
    assert "0.0000  USD: it runs on this machine" in told
    assert (bench.active(), bench.shelf.versions(), bench.points(bench.new)) == (bench.new, {bench.new: 81}, 81)
    assert collection_name(bench.old) not in bench.gate.vectors.names()
    assert f"deleted the vectors of {bench.old}" in told
    assert late in {row[0] for row in bench.shelf.rows("select content_id from embeddings")}
    assert bench.ask() == 5


def test_each_text_teaches_the_new_means_once_however_often_it_is_begun(bench: Bench) -> None:
    class StopError(Exception):
        pass

    def stop(_: object) -> None:
        raise StopError

    bench.shelf.add("nobody said what this is about", topics=None)
    with pytest.raises(StopError):
        bench.work(tell=stop).run()
    bench.work().run()

    [(documents, lang)] = bench.shelf.rows(
        "select documents, lang from topic_means where model_version = 'tiny-other-1'"
    )
    assert (documents, lang) == (20, "en")
    assert bench.shelf.rows("select count(*) from embeddings new join embeddings old using (content_id)"
                            " where new.model_version = 'tiny-other-1' and old.model_version <> new.model_version"
                            " and new.made_at = old.made_at") == [(21,)]  # fmt: skip


def test_texts_that_come_or_change_while_it_runs_are_not_missed(bench: Bench) -> None:
    seen: list[UUID] = []

    def meanwhile(_: object) -> None:
        if len(seen) < 3:
            seen.append(bench.shelf.add(f"new text {len(seen)} about inflation"))
            with bench.database.transaction() as connection:
                connection.execute("update contents set text = 'another text', version = 2 where id = %s", (seen[0],))
                connection.execute("update embeddings set text_version = 2 where content_id = %s", (seen[0],))

    done = bench.work(tell=meanwhile).run()

    assert done.made >= 23
    rows = dict(
        bench.shelf.rows("select content_id, text_version from embeddings where model_version = 'tiny-other-1'")
    )
    assert [rows[one] for one in seen] == [2, 1, 1]
    opened = EmbeddingModels(bench.settings, bench.database).active()
    assert opened.version.model_version == bench.new
    expected = opened.embedder.embed_passage(f"{'new text 0 about inflation'}. another text")
    assert np.allclose(opened.index.retrieve([seen[0]])[seen[0]], expected, atol=1e-5)


def test_what_was_read_with_the_model_before_is_read_again(bench: Bench) -> None:
    before = bench.shelf.models.active()
    with bench.database.transaction() as connection:
        embedding_store.seal(connection, 30)
    with pytest.raises(ModelSwitchedError):
        bench.shelf.add("a text in the very moment")

    bench.work().run()

    with pytest.raises(ModelSwitchedError) as raised:
        bench.shelf.add("a text that was begun before", vectors_of=before)
    assert raised.value.retry_after_s == 2.0
    bench.shelf.add("a text that was begun after")
    assert bench.shelf.versions() == {bench.old: 20, bench.new: 21}


def test_two_at_once_do_not_disturb_each_other(bench: Bench) -> None:
    with closing(SingleConnection(bench.url)) as other, other.transaction() as connection:
        assert reindex_store.try_lock(connection)
        second = start_reindex(bench.settings, "--to", str(bench.other))
        told, error = second.communicate(timeout=60)
    assert (second.returncode, told) == (1, "")
    assert "already running" in error

    bench.work().run()  # both at once all the same, as after a connection that was cut
    late = bench.work()
    assert late.plan(None).wanting == 0
    assert bench.shelf.versions() == {bench.old: 20, bench.new: 20}


def test_a_dry_run_says_what_it_would_take_and_does_nothing(bench: Bench, capsys: pytest.CaptureFixture[str]) -> None:
    command.reindex(bench.settings, str(bench.other), dry=True)

    told = capsys.readouterr().out
    assert re.search(r"\n +20  of 20 contents to embed\n +\d+  seconds, estimated from a sample\n +0\.0000  USD", told)
    assert re.search(r"\n +0  of 16 texts of the sample have no usable vector\n", told)
    assert bench.shelf.versions() == {bench.old: 20}
    assert bench.shelf.rows("select state from embedding_versions") == [("active",)]


class Picky:
    """Makes vectors of all texts but those with a word."""

    dimensions = 64

    def __init__(self, word: str) -> None:
        self.word = word

    def embed_passages(self, texts: Sequence[str]) -> list[Vector | None]:
        return [None if self.word in text else np.eye(64, dtype=np.float32)[0] for text in texts]


def picky(bench: Bench, word: str) -> Progress:
    """Run a re-embedding to a model that makes no vectors of texts with a word."""
    new = embedding_store.Version("picky-1", "api:picky", 1, 64)
    with closing(VectorIndex(bench.qdrant, model_version="picky-1", dimensions=64)) as index:
        old = bench.shelf.models.active().version
        return Reindex(bench.database, old, new, Picky(word), index, local=False).run()


def test_texts_without_a_vector_do_not_hold_the_others_up(bench: Bench) -> None:
    done = picky(bench, "goal")

    assert (done.made, done.refused) == (16, 4)
    assert bench.active() == "picky-1"
    codes = bench.shelf.rows("select error_code, count(*) from embedding_refusals group by 1")
    assert codes == [("unusable_vector", 4)]
    assert bench.shelf.rows("select * from topic_means") == []


@pytest.mark.parametrize(("word", "refused"), [("", 20), ("1", 11)], ids=["all", "too many"])
def test_a_model_that_makes_no_vectors_does_not_take_over_and_a_new_run_tries_again(
    bench: Bench, word: str, refused: int
) -> None:
    with pytest.raises(
        ReindexRefusedError, match=f"no vector for {refused} of 20 texts .*unusable_vector: {refused}, "
    ):
        picky(bench, word)
    assert bench.active() == bench.old
    assert bench.ask() == 5

    done = picky(bench, "no such word")

    assert (done.made, done.refused, bench.active()) == (refused, 0, "picky-1")
    assert bench.shelf.rows("select from embedding_refusals") == []


BAD_ROWS = [[0.0] * 64, [float("nan")] * 64, [float("inf"), *[1.0] * 63], ["1.0"] * 64]


def over_an_api(bench: Bench, server: EmbeddingServer) -> AnalyzeSettings:
    """Return the settings by which ``api:word-model`` is asked."""
    api = {
        "embedding_api_base_url": server.base_url,
        "embedding_api_dimensions": 64,
        "embedding_api_usd_per_million": 10.0,
    }
    return bench.settings.model_copy(update=api)


@pytest.mark.parametrize("row", [*BAD_ROWS, None], ids=["zero", "no number", "infinite", "strings", "refused"])
@pytest.mark.parametrize("dry", [True, False], ids=["dry", "run"])
def test_a_model_that_makes_no_vector_of_the_sample_is_not_begun_with(
    bench: Bench, capsys: pytest.CaptureFixture[str], row: list[Any] | None, dry: bool
) -> None:
    refused = problem(400, "too long", code="context_length_exceeded")
    with serving() as loopback:
        server = EmbeddingServer(loopback)
        server.script = lambda body: refused if row is None else vectors([row] * len(body["input"]))
        with pytest.raises(ReindexRefusedError, match="no usable vector for any of the 16 sample texts"):
            command.reindex(over_an_api(bench, server), f"api:{MODEL}", dry=dry)
    assert re.search(r"\n +16  of 16 texts of the sample have no usable vector\n", capsys.readouterr().out)
    assert bench.shelf.rows("select state from embedding_versions") == [("active",)]


def test_a_dry_run_says_of_how_many_texts_of_the_sample_a_model_makes_no_vector_and_what_the_others_cost(
    bench: Bench, capsys: pytest.CaptureFixture[str]
) -> None:
    good = [1.0, *[0.0] * 63]
    with serving() as loopback:
        server = EmbeddingServer(loopback)
        server.script = lambda body: vectors([[0.0] * 64 if place < 3 else good for place in range(len(body["input"]))])
        command.reindex(over_an_api(bench, server), f"api:{MODEL}", dry=True)
    told = capsys.readouterr().out
    assert re.search(r" 0\.0020  USD, at most .*\n +3  of 16 texts of the sample have no usable vector\n", told)


def test_a_lost_collection_is_built_again_without_embedding(bench: Bench, capsys: pytest.CaptureFixture[str]) -> None:
    bench.shelf.models.active().index.drop()
    assert bench.points(bench.old) == 0

    command.reindex(bench.settings, "", dry=False)

    assert "Qdrant has 0 of 20 vectors" in capsys.readouterr().out
    assert bench.points(bench.old) == 20
    assert bench.ask() == 5
    assert rebuild(bench.database, bench.old, bench.shelf.models.active().index) == 20


def test_old_vectors_are_kept_for_the_grace_and_a_way_back_is_short(bench: Bench) -> None:
    bench.work().run()
    patient = bench.set_up(embedding_keep_old_s=3_600)
    assert drop_outdated(patient, bench.database) == []

    models = EmbeddingModels(bench.settings, bench.database)
    back = models.configured()
    done = Reindex(bench.database, models.active().version, back.version, back.embedder, back.index, local=True).run()

    assert (done.made, bench.active(), bench.ask()) == (0, bench.old, 5)
    assert drop_outdated(bench.settings, bench.database) == [bench.new]
    assert bench.shelf.versions() == {bench.old: 20}
    assert bench.shelf.rows("select model_version, state from embedding_versions") == [(bench.old, "active")]


def test_the_sweep_drops_what_is_nobodys_and_writes_older_points_again(bench: Bench) -> None:
    with closing(VectorIndex(bench.qdrant, model_version="nobodys", dimensions=3)) as orphan:
        orphan.upsert([Point(bench.shelf.ids[0], np.ones(3, np.float32))])
    bench.work().run()
    older, index = bench.shelf.ids[0], EmbeddingModels(bench.settings, bench.database).active().index
    expected = index.retrieve([older])[older]
    index.delete([older])
    index.upsert([Point(older, np.eye(64, dtype=np.float32)[0], {}, 0)])
    ghost = new_id()
    index.upsert([Point(ghost, np.eye(64, dtype=np.float32)[0])])

    remove_ghosts(bench.settings, bench.database)

    assert bench.gate.vectors.names() == [collection_name(bench.new)]
    assert np.allclose(index.retrieve([older])[older], expected, atol=1e-6)
    assert index.retrieve([ghost]) == {}
    assert index.count() == 20


def test_a_qdrant_that_came_up_empty_is_filled_again_and_search_by_meaning_goes_on(bench: Bench) -> None:
    index = EmbeddingModels(bench.settings, bench.database).active().index
    expected = index.retrieve(bench.shelf.ids)
    assert restore_lost(bench.settings, bench.database) == 0
    index.drop()
    assert bench.search.search(bench.user, QUERY, Wanted(), limit=5).degraded

    assert restore_lost(bench.settings, bench.database) == 20
    assert restore_lost(bench.settings, bench.database) == 0

    found = index.retrieve(bench.shelf.ids)
    assert found.keys() == expected.keys()
    assert all(np.allclose(found[one], expected[one], atol=1e-6) for one in expected)
    assert bench.ask() == 5


def test_what_a_restoring_left_is_restored_the_next_minute_and_a_few_at_night(bench: Bench) -> None:
    index = EmbeddingModels(bench.settings, bench.database).active().index
    with bench.database.statement() as connection:
        connection.execute("analyze embeddings")
    index.delete(bench.shelf.ids[:16])
    assert (restore_lost(bench.settings, bench.database), index.count()) == (16, 20)

    index.delete(bench.shelf.ids[:3])
    assert (restore_lost(bench.settings, bench.database), index.count()) == (0, 17)
    assert refresh_active(bench.settings, bench.database, budget_s=0) == 0
    remove_ghosts(bench.settings, bench.database)
    assert index.count() == 20


def test_a_tick_restores_nothing_while_qdrant_is_away(bench: Bench) -> None:
    away = bench.set_up(qdrant_url=f"http://127.0.0.1:{free_port()}")
    with pytest.raises(NoAnswerError):
        restore_lost(away, bench.database)
    schedule, _ = make_schedule(bench.database, restore_vectors=lambda: restore_lost(away, bench.database))
    assert schedule.run(Tick.BACKGROUND)["restored_vectors"] == 0


def test_nothing_is_dropped_as_nobodys_while_no_model_counts(bench: Bench) -> None:
    with bench.database.transaction() as connection:
        connection.execute("delete from embedding_versions")

    remove_ghosts(bench.settings, bench.database)

    assert bench.points(bench.old) == 20


def test_where_another_model_lies_in_the_place_of_the_one_that_counts_it_is_said(bench: Bench) -> None:
    moved = bench.set_up(model_uri=str(bench.other))
    with bench.database.transaction() as connection:
        connection.execute("update embedding_versions set uri = %s", (str(bench.other),))
    with pytest.raises(ModelReplacedError):
        EmbeddingModels(moved, bench.database).active()

    command.reindex(moved, "", dry=False)
    assert bench.active() == bench.new
