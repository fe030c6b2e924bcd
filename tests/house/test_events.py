"""Sample events: one good and at least one failing a function, of the shape that AWS sends."""

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from tests.house.reading import FUNCTION_NAMES, ROOT, function_resources, logical_id, template

EVENTS = sorted(path for path in (ROOT / "events").glob("*.json") if path.name != "env.json")


def _load(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


@pytest.mark.parametrize("path", EVENTS, ids=lambda path: path.stem)
def test_an_event_is_named_after_a_function_and_its_case(path: Path) -> None:
    function, _, case = path.stem.partition(".")

    assert function in FUNCTION_NAMES
    assert case


@pytest.mark.parametrize("name", FUNCTION_NAMES)
def test_a_function_has_one_good_event_and_a_failing_one(name: str) -> None:
    cases = {path.stem.partition(".")[2] for path in EVENTS if path.stem.startswith(f"{name}.")}

    assert "ok" in cases
    assert len(cases) >= 2


@pytest.mark.parametrize("name", FUNCTION_NAMES)
def test_the_events_of_a_function_have_the_shape_that_its_trigger_sends(name: str) -> None:
    for path in (path for path in EVENTS if path.stem.startswith(f"{name}.")):
        event = _load(path)
        triggers = {trigger["Type"] for trigger in function_resources()[name][1].get("Events", {}).values()}
        if triggers == {"SQS"}:
            _check_records(name, event)
        elif triggers == {"HttpApi"}:
            assert event["version"] == "2.0"
            assert event["routeKey"] in {f"{route.method} {route.path}" for route in template().routes()}
        elif triggers == {"Schedule"}:
            assert set(event) == {"tick"}
        elif name == "operate":  # invoked by hand
            assert set(event) == {"command", "arguments"}
        else:
            assert (event["version"], event["type"]) == ("2.0", "REQUEST")


def _check_records(name: str, event: Any) -> None:
    triggers = function_resources()[name][1]["Events"].values()
    consumed = {logical_id(trigger["Properties"]["Queue"]) for trigger in triggers}
    names = {queue.name.replace("-house-", "-local-") for queue in template().queues() if queue.logical_id in consumed}
    for record in event["Records"]:
        assert record["eventSource"] == "aws:sqs"
        assert record["md5OfBody"] == hashlib.md5(record["body"].encode(), usedforsecurity=False).hexdigest()
        assert record["eventSourceARN"].rpartition(":")[2] in names
        assert {"messageId", "receiptHandle", "body", "attributes", "messageAttributes", "md5OfBody"} <= set(record)
