"""What jobs.md asks of every queue, read from the template."""

import json
from typing import Any

import pytest

from siftline.contracts import Queue, Tick
from siftline.settings.functions import JobSettings
from tests.house.reading import document, function_resources, logical_id, resources, template

DAY_S = 86_400
QUEUES = resources("AWS::SQS::Queue")
DEAD = {name for name in QUEUES if name.endswith("DeadLetterQueue")}
SOURCES = sorted(set(QUEUES) - DEAD)
MAPPINGS = [
    (name, event, properties["Properties"])
    for name, (_, function) in function_resources().items()
    for event, properties in function.get("Events", {}).items()
    if properties["Type"] == "SQS"
]
MAPPING_IDS = [f"{name}.{event}" for name, event, _ in MAPPINGS]


def test_the_template_has_the_queues_of_the_contracts_by_name() -> None:
    names = {queue.name for queue in template().queues()}

    assert names == {f"siftline-house-{queue}-{kind}" for queue in Queue for kind in ("queue", "dlq")}


@pytest.mark.parametrize("name", SOURCES)
def test_a_queue_has_a_dead_letter_queue_of_its_own_that_keeps_longer(name: str) -> None:
    properties = QUEUES[name]
    dead = logical_id(properties["RedrivePolicy"]["deadLetterTargetArn"])

    assert dead == name.removesuffix("Queue") + "DeadLetterQueue"
    assert properties["RedrivePolicy"]["maxReceiveCount"] >= 5
    assert properties["MessageRetentionPeriod"] <= 4 * DAY_S
    assert QUEUES[dead]["MessageRetentionPeriod"] == 14 * DAY_S
    assert "RedrivePolicy" not in QUEUES[dead]


@pytest.mark.parametrize("name", sorted(QUEUES))
def test_a_queue_is_encrypted_and_polled_long(name: str) -> None:
    assert QUEUES[name]["SqsManagedSseEnabled"] is True
    assert name in DEAD or QUEUES[name]["ReceiveMessageWaitTimeSeconds"] == 20


def test_every_queue_is_consumed_by_exactly_one_mapping() -> None:
    assert sorted(logical_id(mapping["Queue"]) for _, _, mapping in MAPPINGS) == SOURCES


@pytest.mark.parametrize(("name", "event", "mapping"), MAPPINGS, ids=MAPPING_IDS)
def test_a_mapping_asks_for_partial_batch_failures(name: str, event: str, mapping: dict[str, Any]) -> None:
    """Q14: else what a handler reports as failed is deleted."""
    assert mapping["FunctionResponseTypes"] == ["ReportBatchItemFailures"], (name, event)


@pytest.mark.parametrize(("name", "event", "mapping"), MAPPINGS, ids=MAPPING_IDS)
def test_a_message_stays_invisible_for_six_timeouts_and_the_window(
    name: str, event: str, mapping: dict[str, Any]
) -> None:
    """Q13: else a message comes back while it is worked on."""
    timeout_s = function_resources()[name][1]["Timeout"]
    visibility_s = QUEUES[logical_id(mapping["Queue"])]["VisibilityTimeout"]

    assert visibility_s >= 6 * timeout_s + mapping["MaximumBatchingWindowInSeconds"], event


@pytest.mark.parametrize(("name", "event", "mapping"), MAPPINGS, ids=MAPPING_IDS)
def test_a_lease_outlives_the_function(name: str, event: str, mapping: dict[str, Any]) -> None:
    assert JobSettings.model_fields["job_lease_s"].default > function_resources()[name][1]["Timeout"], (event, mapping)


@pytest.mark.parametrize(("name", "event", "mapping"), MAPPINGS, ids=MAPPING_IDS)
def test_concurrency_is_bounded_at_the_mapping(name: str, event: str, mapping: dict[str, Any]) -> None:
    assert mapping["ScalingConfig"]["MaximumConcurrency"] >= 2, (name, event)
    assert 1 <= mapping["BatchSize"] <= 10


def test_a_url_variable_names_the_queue_that_it_says() -> None:
    for name, (_, function) in function_resources().items():
        for variable, value in function["Environment"]["Variables"].items():
            for suffix, ending in (("_QUEUE_URL", "Queue"), ("_DLQ_URL", "DeadLetterQueue")):
                if variable.endswith(suffix):
                    expected = variable.removesuffix(suffix).title().replace("_", "") + ending
                    assert value == {"Ref": expected}, f"{name}: {variable}"


def test_the_schedules_are_the_ticks_of_the_contracts_each_with_its_switch_and_no_retry() -> None:
    schedules = function_resources()["schedule"][1]["Events"].values()
    events = [body["Properties"] for body in schedules]

    # rules of EventBridge: its Scheduler's schedules never run on LocalStack
    assert {body["Type"] for body in schedules} == {"Schedule"}
    assert {json.loads(event["Input"])["tick"] for event in events} == {tick.value for tick in Tick}
    switches = [event["State"]["Fn::If"] for event in events]
    assert len({switch[0] for switch in switches}) == len(events)
    assert all(switch[1:] == ["ENABLED", "DISABLED"] for switch in switches)
    assert all(event["RetryPolicy"] == {"MaximumRetryAttempts": 0} for event in events)
    assert function_resources()["schedule"][1]["EventInvokeConfig"] == {"MaximumRetryAttempts": 0}
    assert {switch[0] for switch in switches} <= set(document()["Conditions"])
