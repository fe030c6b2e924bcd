"""What the console of `make run` tells of what does not serve, out of a real PostgreSQL."""

import threading
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from infra.local import furnish
from infra.local.ports import free_port
from infra.local.run import announce
from infra.local.state import State
from infra.local.worker_faults import OpenBreakers
from siftline.analyze.topics.topic_list import TopicsFileError, load_labels
from siftline.jobs import breakers_store
from siftline.kit.db import Database, SingleConnection
from siftline.models import embedding_store
from siftline.models.embedding_store import Version
from siftline.operate.set_up_error import SetUpError
from tests.api_client import World
from tests.factories import make_content, make_item, make_user
from tests.servers import serving

ONE_TOPIC = '[[topics]]\nid = "seafaring"\nen = "Ports and ferries"\n'


@pytest.mark.parametrize("text", [None, ONE_TOPIC], ids=["none", "one topic"])
def test_a_file_of_topics_that_cannot_be_used_is_told_once_with_its_name_until_it_can(
    database: Database, tmp_path: Path, text: str | None
) -> None:
    file = tmp_path / "topics.toml"
    if text is not None:
        file.write_text(text)
    console = OpenBreakers(database)
    assert list(console.news()) == []

    with pytest.raises(TopicsFileError) as fault:
        load_labels(file)
    with database.transaction() as connection:
        breakers_store.opened(connection, fault.value.provider, fault.value, hold_s=300.0)
    [line] = console.news()
    assert line.startswith("topics is unavailable; jobs that need it wait: ")
    assert (str(file) in line, fault.value.detail in line) == (True, True)
    assert list(console.news()) == []

    with database.transaction() as connection:
        breakers_store.try_all(connection)
    assert list(console.news()) == list(OpenBreakers(database).news()) == []

    with database.transaction() as connection:
        breakers_store.closed(connection, ["topics"])
    assert list(console.news()) == ["topics is available again."]
    assert list(console.news()) == []


def test_a_database_that_does_not_answer_is_no_news() -> None:
    away = SingleConnection("postgresql://nobody@127.0.0.1:1/none")
    assert list(OpenBreakers(away).news()) == []


@pytest.fixture
def machine(database_url: str, tmp_path: Path) -> Any:
    with closing(State(tmp_path)) as state:
        yield SimpleNamespace(
            url="http://127.0.0.1:8787", state=state, database="", postgres=SimpleNamespace(url=lambda _: database_url)
        )


@pytest.mark.parametrize("held", ["items", "sources"])
def test_somebody_who_saved_or_follows_anything_is_no_newcomer(database: Database, machine: Any, held: str) -> None:
    assert furnish.nobody_holds_anything(machine)
    if held == "sources":
        World(database).user().post("/v1/sources", {"url": "https://a.example/feed"})
    else:
        with database.transaction() as connection:
            make_item(connection, make_user(connection), make_content(connection))
    assert not furnish.nobody_holds_anything(machine)


def test_first_use_is_told_where_nobody_holds_anything_with_the_command_for_this_folder(
    machine: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    announce(machine, "sl_x", "make run FOLDER=x/.local", None, followed=0, is_new=True)
    told = capsys.readouterr().out
    assert "To start, save a web page" in told
    assert "make run FOLDER=x/.local SAMPLES=1 serves sample feeds" in told
    announce(machine, "sl_x", "make run FOLDER=x/.local", None, followed=0, is_new=False)
    told = capsys.readouterr().out
    assert "Siftline is running at http://127.0.0.1:8787" in told
    assert ("To start" in told, "SAMPLES=1" in told) == (False, False)


def _follow(database: Database, url: str, title: str) -> None:
    assert World(database, http_allow_loopback=True).user().post("/v1/sources", {"url": url}).status == 202
    with database.transaction() as connection:
        connection.execute("update sources set title = %s where url = %s", [title, url])


@pytest.mark.parametrize("path", ["/world/feed.xml", "/world/"])
def test_samples_that_what_was_restored_follows_are_served_where_it_follows_them(
    database: Database, machine: Any, path: str
) -> None:
    assert not furnish.follows_samples(machine, machine.state)
    base_url = f"http://127.0.0.1:{free_port()}"
    _follow(database, base_url + path, "The Meridian Courier")
    assert furnish.follows_samples(machine, machine.state)
    served = furnish.samples(machine, machine.state)
    try:
        assert served.base_url == base_url
        # WHEN they are taken: another folder, restored from the same, says so
        with pytest.raises(SetUpError, match="needed for the sample feeds, is in use"):
            furnish.samples(machine, machine.state)
    finally:
        served.stop()


def test_what_else_is_followed_on_this_machine_is_not_taken_for_samples(database: Database, machine: Any) -> None:
    _follow(database, f"http://127.0.0.1:{free_port()}/world/feed.xml", "News of mine")
    _follow(database, f"http://127.0.0.1:{free_port()}/mine/feed.xml", "The Meridian Courier")
    assert not furnish.follows_samples(machine, machine.state)


@pytest.mark.parametrize("uri", [None, "s3://models/small", "api:text-small"])
def test_the_model_is_loaded_by_a_search_unless_it_is_asked_over_an_api(
    database: Database, machine: Any, uri: str | None
) -> None:
    if uri is not None:
        with database.transaction() as connection:
            embedding_store.adopt(connection, Version("m", uri, 1, 4))
    with serving() as server:
        machine.url = server.url("").rstrip("/")
        furnish.load_model(machine, "sl_x")
        for thread in threading.enumerate():
            if thread.name == "load-model":
                thread.join()
        asked = [(one.path, one.headers["authorization"]) for one in server.requests]
    assert asked == ([] if uri == "api:text-small" else [("/v1/search?q=siftline&limit=1", "Bearer sl_x")])
