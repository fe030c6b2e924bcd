"""A queue's name in settings and figures, by its logical id in the template."""

import pytest

from siftline.contracts import Queue
from siftline.worker.poller import logical_name
from tests.house.reading import template


@pytest.mark.parametrize(
    ("logical_id", "name"), [("FetchQueue", "fetch"), ("ContentBackgroundQueue", "content-background"), ("Toy", "toy")]
)
def test_a_logical_id_becomes_the_name_of_the_contracts(logical_id: str, name: str) -> None:
    assert logical_name(logical_id) == name


def test_every_queue_that_the_template_lets_a_function_consume_is_named_in_the_contracts() -> None:
    assert {logical_name(source.queue) for source in template().queue_sources()} == set(Queue)
