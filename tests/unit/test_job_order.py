"""Jobs are taken in one order, in which none comes before those that it comes of."""

import re

import pytest

from siftline.contracts import JobType
from siftline.jobs.states import ordered

# What a job makes of other types; ``resolve_entity`` of an analysis, too, and ``deliver_briefing`` of an edition.
FOLLOWS = {
    JobType.FETCH_SOURCE: {JobType.INGEST_CONTENT},
    JobType.INGEST_CONTENT: {JobType.TRANSCRIBE_CONTENT, JobType.ANALYZE_CONTENT},
    JobType.TRANSCRIBE_CONTENT: {JobType.ANALYZE_CONTENT},
    JobType.ANALYZE_CONTENT: {
        JobType.CLUSTER_USER,
        JobType.JOIN_STORIES,
        JobType.SCORE_USER,
        JobType.RESOLVE_ENTITY,
    },
    JobType.CLUSTER_USER: {JobType.JOIN_STORIES, JobType.NAME_CLUSTERS},
    JobType.RUN_BRIEFING: {JobType.DELIVER_BRIEFING},
    JobType.DELIVER_BRIEFING: {JobType.CONFIRM_ADDRESS},
}


def order() -> list[str]:
    return re.findall(r"'(\w+)'", ordered())


def test_every_type_has_its_place() -> None:
    assert sorted(order()) == sorted(one.value for one in JobType)


@pytest.mark.parametrize("job_type", list(FOLLOWS))
def test_what_comes_of_a_job_is_taken_after_it(job_type: JobType) -> None:
    places = order()
    assert all(places.index(job_type) < places.index(one) for one in FOLLOWS[job_type])


def test_what_is_done_for_people_comes_before_what_an_analysis_makes_as_it_is_written() -> None:
    places = order()
    assert places.index(JobType.SCORE_USER) < places.index(JobType.RESOLVE_ENTITY)
