"""What a machine is made of besides its processes: queues of its own, and the template as its two processes read it."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from infra.local.queues import create_queues
from siftline.contracts import Queue
from siftline.jobs.queues import SqsQueues
from siftline.settings.functions import DeadLetterSettings, QueueSettings, environment
from siftline.worker.template import Template
from tests.house.reading import ROOT

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient

_CONSUMES = "Enabled: !If [RunsWorker, false, true]"


class MachineQueues:
    """The template's queues under a stage of their own, with a short visibility; reached past every proxy."""

    def __init__(self, sqs: "SQSClient", stage: str, *, visibility_s: int) -> None:
        template = Template.read(ROOT / "template.yaml", {"Stage": stage})
        short = {"VisibilityTimeout": str(visibility_s)}
        wanted = [
            replace(queue, attributes={**queue.attributes, **short}) if queue.dead_letter else queue
            for queue in template.queues()
        ]
        made = create_queues(sqs, wanted)
        self._sqs = sqs
        self.variables = {
            variable: made[reference.logical_id]
            for function in template.functions.values()
            for variable, reference in function.references.items()
            if reference.logical_id in made
        }
        """The environment variables by which functions find them."""
        with environment(self.variables):
            self.urls = QueueSettings().queue_urls()
            self.dead_letter_urls = DeadLetterSettings().dead_letter_urls()
        self.sender = SqsQueues(sqs, self.urls, self.dead_letter_urls)

    def send(self, queue: Queue, *bodies: str) -> None:
        """Put raw messages on a queue."""
        for body in bodies:
            self._sqs.send_message(QueueUrl=self.urls[queue], MessageBody=body)

    def depths(self) -> dict[Queue, int]:
        """Return the messages in each queue, those in flight and delayed included."""
        return outstanding(self.sender, self.urls)

    def dead(self, queue: Queue) -> list[dict[str, Any]]:
        """Take every message off a dead-letter queue and return them."""
        url, found = self.dead_letter_urls[queue], []
        while messages := self._sqs.receive_message(
            QueueUrl=url, MaxNumberOfMessages=10, MessageAttributeNames=["All"], WaitTimeSeconds=0
        ).get("Messages"):
            for message in messages:
                self._sqs.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])
                found.append(dict(message))
        return found


def outstanding(queues: SqsQueues, names: Iterable[Queue]) -> dict[Queue, int]:
    """Return the messages in each queue, those in flight and delayed included."""
    counted = {queue: queues.depth(queue) for queue in names}
    return {queue: depth.visible + depth.in_flight + depth.delayed for queue, depth in counted.items()}


def write_templates(folder: Path) -> Mapping[str, Path]:
    """Write the template as the worker reads it and as the clock does.

    The worker's batches wait for nobody; the clock ticks each second and polls no queue.
    """
    text = (ROOT / "template.yaml").read_text(encoding="utf-8")
    texts = {
        "worker": text.replace("MaximumBatchingWindowInSeconds: 1", "MaximumBatchingWindowInSeconds: 0"),
        "clock": text.replace("rate(1 minute)", "rate(1 second)").replace(_CONSUMES, "Enabled: false"),
    }
    paths = {part: folder / f"{part}.yaml" for part in texts}
    for part, path in paths.items():
        path.write_text(texts[part], encoding="utf-8")
    return paths
