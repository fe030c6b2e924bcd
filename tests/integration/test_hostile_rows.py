"""Whatever stands in stored rows: no job over them dies, and nothing that came in is uncounted."""

from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from siftline.cluster.cluster_service import ClusterUser
from siftline.cluster.joining import Rule
from siftline.cluster.space import Recipe
from siftline.cluster.story_service import JoinUserStories
from siftline.contracts import JobType
from siftline.jobs.job_model import Processor
from siftline.kit.clock import SystemClock
from siftline.kit.db import Database
from siftline.rank.scoring import ScoreUser
from tests.briefing import Desk
from tests.factories import claimed, make_content, make_item
from tests.scoring import DIMENSIONS, MODEL, AxisDirections, vector

INSTANTS = st.sampled_from(
    ["0001-01-01", "4000-01-01 BC", "1661-08-24", "1970-01-01", "9999-12-31", "infinity", "-infinity", "2026-11-01"]
) | st.datetimes().map(str)
TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=40) | st.sampled_from(
    [
        "x" * 70_000,
        "\u202egnp.exe",
        "\x01\x1b[2J",
        "\ufffe\uffff",
        "عنوان",
        "港",
        "กล้อง",
        "e\u0301" * 300,
        "{{ 7 * 7 }}",
        "<b>&",
    ]
)
TOPICS = st.sampled_from(
    ["null", "7", '"sea"', "{}", "[]", '[{"topic": "energy", "score": 0.7}]', '[{"topic": 7}]', '[{"score": 1e308}]']
)
VECTORS = st.sampled_from(
    [
        vector("solar").tobytes(),
        vector("chess", "ja").tobytes(),
        np.full(DIMENSIONS, np.nan, dtype="<f4").tobytes(),
        np.full(DIMENSIONS, 3e38, dtype="<f4").tobytes(),
        bytes(4 * DIMENSIONS),
        bytes(4),
    ]
)
ROWS = st.fixed_dictionaries(
    {
        "title": st.none() | TEXTS,
        "text": st.none() | TEXTS,
        "summary": st.none() | TEXTS,
        "site_name": st.none() | TEXTS,
        "lang": st.sampled_from(["en", "ja", "xx", "", None]),
        "published_at": st.none() | INSTANTS,
        "sort_at": INSTANTS,
        "topics": TOPICS,
        "vector": st.none() | VECTORS,
        "reasons": st.sampled_from(["null", "{}", "[7]", '[{"weight": "x"}]', "[]"]),
        "saved": st.booleans(),
        "ready_at": st.sampled_from([None, "infinity", "-infinity", "9999-12-31"]),
        "created_at": st.sampled_from(["now", "infinity", "-infinity", "9999-12-31"]),
    }
)


class _Rows:
    """A user's rows as they were drawn, and the jobs over them."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self.desk = Desk(database, SystemClock())

    def put(self, row: dict[str, Any]) -> None:
        columns = {key: value for key, value in row.items() if key not in {"vector", "reasons", "saved", "created_at"}}
        with self.database.transaction() as connection:
            content_id = make_content(connection, status="READY", **columns)
            make_item(connection, self.desk.user_id, content_id)
            if row["vector"] is not None:
                connection.execute(
                    "insert into embeddings (content_id, model_version, dimensions, vector) values (%s, %s, %s, %s)",
                    (content_id, MODEL, len(row["vector"]) // 4, row["vector"]),
                )
            connection.execute(
                "update items set saved = %s, score_reasons = %s::jsonb, created_at = %s where content_id = %s",
                (row["saved"], row["reasons"], row["created_at"], content_id),
            )

    def work(self) -> None:
        jobs: list[tuple[JobType, Processor]] = [
            (JobType.JOIN_STORIES, JoinUserStories(self.database, Rule())),
            (JobType.CLUSTER_USER, ClusterUser(self.database, Recipe())),
            (JobType.SCORE_USER, ScoreUser(self.database, AxisDirections, SystemClock())),
        ]
        for job_type, processor in jobs:
            done = processor.process(claimed(self.desk.user_id, job_type))
            with self.database.transaction() as connection:
                done.write(connection)


@pytest.mark.parametrize("scored", [True, False])
@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rows=st.lists(ROWS, min_size=1, max_size=8))
def test_no_job_dies_of_a_row_and_all_that_came_in_is_counted(database, scored, rows):
    drawn = _Rows(database)
    for row in rows:
        drawn.put(row)
    if scored:
        drawn.work()
    briefing = drawn.desk.brief(on_empty="say", time_zone="Pacific/Kiritimati")
    with database.transaction() as connection:
        connection.execute("update briefings set asked_at = now(), last_due_at = now() where id = %s", [briefing])

    job = drawn.desk.run(briefing)

    assert (job["state"], job["error_code"]) == ("completed", None)
    [edition] = drawn.desk.editions(briefing)
    coverage = edition["document"]["coverage"]
    assert coverage["items_came_in"] == len(rows)
    assert coverage["items_told"] + sum(coverage["items_left_out"].values()) == len(rows)
    assert len(edition["html"].encode()) <= 100_000
