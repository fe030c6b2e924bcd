"""The queues of the template in MiniStack, and what MiniStack keeps and opens."""

import json
from pathlib import Path

import psutil

from infra.local.aws import MiniStack
from infra.local.ministack_environment import ministack_python
from infra.local.ports import free_port
from infra.local.queues import MissingQueues, create_queues, sqs_client
from siftline.worker.template import QueueResource, Template
from tests.stack import MINISTACK

ROOT = Path(__file__).resolve().parents[2]


def _attributes(sqs, url):
    return sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["All"])["Attributes"]


def test_every_queue_of_the_template_exists_with_its_attributes_and_dead_letter_queue(sqs):
    queues = Template.read(ROOT / "template.yaml", {"Stage": "tq"}).queues()
    urls = create_queues(sqs, queues)
    for queue in queues:
        have = _attributes(sqs, urls[queue.logical_id])
        assert urls[queue.logical_id].endswith(f"/{queue.name}")
        assert queue.attributes.items() <= have.items()
        if queue.dead_letter:
            redrive = json.loads(have["RedrivePolicy"])
            assert redrive["deadLetterTargetArn"] == _attributes(sqs, urls[queue.dead_letter])["QueueArn"]
            assert int(redrive["maxReceiveCount"]) == queue.max_receive_count


def test_creating_again_keeps_messages_and_brings_changed_attributes_up_to_date(sqs):
    before = QueueResource("Q", "again-queue", {"VisibilityTimeout": "30"}, None, None)
    after = QueueResource("Q", "again-queue", {"VisibilityTimeout": "77"}, None, None)
    url = create_queues(sqs, [before])["Q"]
    sqs.send_message(QueueUrl=url, MessageBody="kept")
    assert create_queues(sqs, [after])["Q"] == url
    have = _attributes(sqs, url)
    assert (have["VisibilityTimeout"], have["ApproximateNumberOfMessages"]) == ("77", "1")


def test_messages_survive_a_restart_on_another_port_and_nothing_listens_off_loopback(tmp_path):
    queue = QueueResource("Q", "kept-queue", {"VisibilityTimeout": "30"}, None, None)
    python = ministack_python(MINISTACK)
    with MiniStack(python, tmp_path) as first:
        client = sqs_client(first.endpoint)
        url = create_queues(client, [queue])["Q"]
        client.send_message(QueueUrl=url, MessageBody="kept")
        client.close()
        processes = [psutil.Process(first.pid), *psutil.Process(first.pid).children(recursive=True)]
        listening = [c.laddr.ip for p in processes for c in p.net_connections() if c.status == psutil.CONN_LISTEN]
        assert set(listening) == {"127.0.0.1"}
    with MiniStack(python, tmp_path) as second:
        client = sqs_client(second.endpoint)
        assert second.endpoint != first.endpoint
        url = create_queues(client, [queue])["Q"]
        assert [m["Body"] for m in client.receive_message(QueueUrl=url)["Messages"]] == ["kept"]
        client.close()


def test_queues_that_are_missing_are_made_again_and_said_once(sqs):
    queues = Template.read(ROOT / "template.yaml", {"Stage": "mq"}).queues()
    urls = create_queues(sqs, queues)
    keeper = MissingQueues(sqs, queues)
    assert list(keeper.news()) == []
    gone = [queue for queue in queues if "clustering" in queue.name]
    assert len(gone) == 2
    for queue in gone:
        sqs.delete_queue(QueueUrl=urls[queue.logical_id])
    told = list(keeper.news())
    assert [queue.name in line for queue, line in zip(gone, told, strict=True)] == [True, True]
    [source] = [queue for queue in gone if queue.dead_letter]
    assert "RedrivePolicy" in _attributes(sqs, urls[source.logical_id])
    assert list(keeper.news()) == []


def test_queues_are_not_looked_for_while_nobody_answers():
    client = sqs_client(f"http://127.0.0.1:{free_port()}")
    assert list(MissingQueues(client, [QueueResource("Q", "a-queue", {}, None, None)]).news()) == []
    client.close()
