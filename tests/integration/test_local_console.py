"""What the console of `make run` tells of what does not serve, out of a real PostgreSQL."""

from pathlib import Path

import pytest

from infra.local.worker_faults import OpenBreakers
from siftline.analyze.topics.topic_list import TopicsFileError, load_labels
from siftline.jobs import breakers_store
from siftline.kit.db import Database, SingleConnection

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
    assert line.startswith("topics does not serve, and all that needs it waits: ")
    assert (str(file) in line, fault.value.detail in line) == (True, True)
    assert list(console.news()) == []

    with database.transaction() as connection:
        breakers_store.closed(connection, ["topics"])
    assert list(console.news()) == ["topics serves again."]
    assert list(console.news()) == []


def test_a_database_that_does_not_answer_is_no_news() -> None:
    away = SingleConnection("postgresql://nobody@127.0.0.1:1/none")
    assert list(OpenBreakers(away).news()) == []
