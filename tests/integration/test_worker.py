"""The worker as a program, with a toy function, against a real SQS endpoint."""

import json
import secrets
import signal
import socket
import struct
import subprocess
import sys
from pathlib import Path

import httpx
import psutil
import pytest

from infra.local.ports import free_port
from infra.local.processes import wait_until
from infra.local.programs import answers
from infra.local.queues import create_queues
from infra.local.worker_faults import WorkerFaults
from siftline.api.ops.health import WorkerAwayError, check_worker, unbuildable
from siftline.settings.functions import process_environment
from siftline.worker.template import Template

ROOT = Path(__file__).resolve().parents[2]

TEMPLATE = """
Parameters: {{Stage: {{Type: String, Default: {stage}}}}}
Resources:
  Toy:
    Type: AWS::Serverless::Function
    Properties:
      Handler: resolve.app.handler
      Timeout: 7
      Environment: {{Variables: {{TOY_QUEUE_URL: !Ref ToyQueue, TOY_WORD: from the template, TOY_GIVEN: template}}}}
      Events:
        Messages:
          Type: SQS
          Properties:
            Queue: !GetAtt ToyQueue.Arn
            BatchSize: 10
            MaximumBatchingWindowInSeconds: 1
            FunctionResponseTypes: [ReportBatchItemFailures]
        Good: {{Type: ScheduleV2, Properties: {{ScheduleExpression: rate(1 second), Input: '{{"tick": "good"}}'}}}}
        Bad: {{Type: ScheduleV2, Properties: {{ScheduleExpression: rate(1 second), Input: '{{"tick": "bad"}}'}}}}
        Slow: {{Type: ScheduleV2, Properties: {{ScheduleExpression: rate(1 second), Input: '{{"tick": "slow"}}'}}}}
  ToyQueue:
    Type: AWS::SQS::Queue
    Properties:
      QueueName: !Sub "toy-${{Stage}}-queue"
      VisibilityTimeout: {visibility_s}
      RedrivePolicy: {{deadLetterTargetArn: !GetAtt ToyDeadLetterQueue.Arn, maxReceiveCount: 2}}
  ToyDeadLetterQueue: {{Type: AWS::SQS::Queue, Properties: {{QueueName: !Sub "toy-${{Stage}}-dlq"}}}}
"""

# Notes each event; does what the body says.
HANDLER = """
import json, os, threading, time
from functools import cache
from pathlib import Path

_lock = threading.Lock()


def _note(**facts):
    with _lock, Path(os.environ["TOY_NOTES"]).open("a") as notes:
        notes.write(json.dumps(facts) + "\\n")


@cache
def build():
    if os.environ.get("TOY_BROKEN"):
        raise ValueError("as asked")
    _note(kind="built", word=os.environ["TOY_WORD"], given=os.environ["TOY_GIVEN"])
    return object()


def handler(event, context):
    build()
    if "tick" in event:
        return _tick(event)
    bodies = [record["body"] for record in event["Records"]]
    left_ms = context.get_remaining_time_in_millis()
    _note(kind="batch", bodies=bodies, left_ms=left_ms, name=context.function_name, record=event["Records"][0])
    if "raise" in bodies:
        raise RuntimeError("as asked")
    for body in bodies:
        if body.startswith("sleep"):
            time.sleep(float(body.split()[1]))
        while body.startswith("hang") and not (Path(os.environ["TOY_LET_GO"]) / body).exists():
            time.sleep(0.02)
    _note(kind="done", bodies=bodies)
    failed = [r["messageId"] for r in event["Records"] if r["body"] == "fail"]
    return {"batchItemFailures": [{"itemIdentifier": one} for one in failed]}


def _tick(event):
    _note(kind="tick", tick=event["tick"])
    if event["tick"] == "bad":
        raise RuntimeError("as asked")
    if event["tick"] == "slow":
        time.sleep(2)
        _note(kind="tick_done", tick="slow")
    return {"ok": True}
"""


class Toy:
    """A template with a toy function, its queue, and the worker that runs it."""

    def __init__(self, folder, sqs, environment, *, visibility_s):
        self.folder = folder
        self.sqs = sqs
        (folder / "resolve").mkdir()
        (folder / "resolve" / "app.py").write_text(HANDLER)
        stage = secrets.token_hex(4)
        self.template = folder / "template.yaml"
        self.template.write_text(TEMPLATE.format(stage=stage, visibility_s=visibility_s))
        urls = create_queues(sqs, Template.read(self.template).queues())
        self.url, self.dead_url = urls["ToyQueue"], urls["ToyDeadLetterQueue"]
        self._notes = folder / "notes"
        self._notes.touch()
        self.environment = {
            **process_environment(),
            **environment,
            "PYTHONPATH": f"{folder}:{ROOT}:{ROOT / 'shared'}",
            "TOY_QUEUE_URL": self.url,
            "TOY_NOTES": str(self._notes),
            "TOY_LET_GO": str(folder),
            "TOY_GIVEN": "the process",
            "WORKER_POLL_S": "1",
            "WORKER_THREADS": '{"resolve": 2}',
        }
        self.processes = []

    def start(self, *arguments, **environment):
        command = [sys.executable, "-m", "siftline.worker", "--template", str(self.template), *arguments]
        log = (self.folder / "log").open("ab")
        process = subprocess.Popen(
            command, env={**self.environment, **environment}, cwd=self.folder, stdout=log, stderr=log
        )
        log.close()
        self.processes.append(process)
        return process

    def send(self, *bodies):
        entries = [{"Id": str(n), "MessageBody": body} for n, body in enumerate(bodies)]
        assert not self.sqs.send_message_batch(QueueUrl=self.url, Entries=entries).get("Failed")

    def notes(self, kind):
        whole, _, _ = self._notes.read_text().rpartition("\n")  # of a line that is being written a part can be there
        notes = [json.loads(line) for line in whole.splitlines()]
        return [note for note in notes if note["kind"] == kind]

    def times(self, kind, body):
        return sum(note["bodies"].count(body) for note in self.notes(kind))

    def let_go(self, body):
        (self.folder / body).touch()

    def visible_and_not(self, url):
        names = ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"]
        attributes = self.sqs.get_queue_attributes(QueueUrl=url, AttributeNames=names)["Attributes"]
        return tuple(int(attributes[name]) for name in names)

    def depth(self, url):
        return sum(self.visible_and_not(url))

    def empty(self):
        return self.depth(self.url) == 0

    def log(self):
        return (self.folder / "log").read_text()


@pytest.fixture
def make_toy(tmp_path, sqs, aws_environment):
    toys = []

    def make(visibility_s=30):
        toys.append(Toy(tmp_path, sqs, aws_environment, visibility_s=visibility_s))
        return toys[-1]

    yield make
    for process in (process for toy in toys for process in toy.processes):
        if process.poll() is None:
            process.kill()
        process.wait()


def test_batches_reach_the_handler_as_lambdas_events_and_what_is_done_is_deleted(make_toy):
    toy = make_toy()
    toy.send(*[f"m{n}" for n in range(10)])
    process = toy.start("--no-ticks")
    assert wait_until(lambda: sum(len(note["bodies"]) for note in toy.notes("done")) == 10, 300)
    assert wait_until(toy.empty, 300)
    process.terminate()
    assert process.wait(120) == 0
    batch = toy.notes("batch")[0]
    assert 0 < batch["left_ms"] <= 7000
    assert batch["name"] == "resolve"
    assert batch["record"]["eventSource"] == "aws:sqs"
    assert batch["record"]["eventSourceARN"].endswith("-queue")
    assert batch["record"]["attributes"]["ApproximateReceiveCount"] == "1"
    assert toy.depth(toy.dead_url) == 0


def test_the_functions_environment_is_the_templates_unless_the_process_was_given_another(make_toy):
    toy = make_toy()
    toy.start("--no-ticks")
    assert wait_until(lambda: toy.notes("built"), 300)
    assert toy.notes("built") == [{"kind": "built", "word": "from the template", "given": "the process"}]


def test_a_failed_message_comes_again_until_it_is_dead_and_its_neighbours_do_not(make_toy):
    toy = make_toy(visibility_s=3)
    toy.send("good", "fail", "also good")
    toy.start("--no-ticks")
    assert wait_until(lambda: toy.depth(toy.dead_url) == 1, 300)
    assert toy.times("done", "good") == toy.times("done", "also good") == 1
    assert toy.times("done", "fail") == 2


def test_a_handler_that_raises_gets_the_whole_batch_again(make_toy):
    toy = make_toy(visibility_s=3)
    toy.send("raise")
    toy.start("--no-ticks")
    assert wait_until(lambda: toy.depth(toy.dead_url) == 1, 300)
    assert toy.times("batch", "raise") == 2
    assert "function_failed" in toy.log()


def test_nothing_waits_behind_a_message_that_hangs_while_another_thread_is_free(make_toy):
    toy = make_toy()
    toy.start("--no-ticks")
    toy.send("hang first")
    assert wait_until(lambda: toy.times("batch", "hang first"), 300)
    quick = [f"quick {n}" for n in range(8)]
    toy.send("hang second", *quick)  # they meet one free thread
    assert wait_until(lambda: toy.times("batch", "hang second"), 300)
    toy.let_go("hang first")
    assert wait_until(lambda: all(toy.times("done", body) for body in quick), 300)
    assert not toy.times("done", "hang second")
    toy.let_go("hang second")
    assert wait_until(toy.empty, 300)
    assert all(toy.times("batch", body) == 1 for body in ["hang first", "hang second", *quick])


def test_what_waits_in_hand_for_longer_than_the_visibility_is_received_once(make_toy):
    toy = make_toy(visibility_s=5)
    toy.send("sleep 7", "sleep 7.5", "after")
    toy.start("--no-ticks")
    assert wait_until(lambda: toy.times("done", "after"), 300)
    assert wait_until(toy.empty, 300)
    [after] = [note["record"] for note in toy.notes("batch") if note["bodies"] == ["after"]]
    assert after["attributes"]["ApproximateReceiveCount"] == "1"


def test_a_worker_that_is_told_to_stop_puts_what_waits_in_hand_back_for_the_next(make_toy):
    toy = make_toy(visibility_s=3_600)
    toy.send("hang 0", "hang 1", "after")
    first = toy.start("--no-ticks", WORKER_HOLD_S="3600")
    assert wait_until(lambda: len(toy.notes("batch")) == 2 and toy.visible_and_not(toy.url) == (0, 3), 300)
    first.terminate()
    assert wait_until(lambda: toy.visible_and_not(toy.url) == (1, 2), 300)
    toy.start("--no-ticks")
    assert wait_until(lambda: toy.times("done", "after") == 1, 300)


def test_work_longer_than_the_visibility_is_done_once(make_toy):
    toy = make_toy(visibility_s=5)
    toy.send("sleep 7")
    toy.start("--no-ticks")
    assert wait_until(lambda: toy.notes("done"), 300)
    assert wait_until(toy.empty, 300)
    assert toy.times("batch", "sleep 7") == 1


def test_what_a_killed_worker_had_received_comes_back_long_before_the_queues_own_visibility_ends(make_toy):
    toy = make_toy(visibility_s=3_600)
    toy.send("sleep 600")
    first = toy.start("--no-ticks", WORKER_HOLD_S="3")
    assert wait_until(lambda: toy.notes("batch"), 300)
    first.kill()
    first.wait()
    toy.start("--no-ticks", WORKER_HOLD_S="3")
    assert wait_until(lambda: toy.times("batch", "sleep 600") == 2, 300)


def test_a_signal_lets_work_under_way_end_and_leaves_the_rest_for_the_next_worker(make_toy):
    toy = make_toy()
    toy.send("hang")
    port = free_port()
    first = toy.start("--no-ticks", "--pid-file", str(toy.folder / "worker.pid"), "--health-port", str(port))
    assert wait_until(lambda: toy.notes("batch"), 300)
    assert (toy.folder / "worker.pid").read_text() == f"{first.pid}\n"
    first.send_signal(signal.SIGINT)
    assert wait_until(lambda: "poll-ToyQueue" in health(port)["threads_ended"], 300)
    toy.send("later")
    toy.let_go("hang")
    assert first.wait(120) == 0
    assert not (toy.folder / "worker.pid").exists()
    assert [note["bodies"] for note in toy.notes("done")] == [["hang"]]
    toy.start("--no-ticks")
    assert wait_until(lambda: toy.times("done", "later") == 1, 300)


def test_work_that_outlasts_the_drain_is_left_and_the_worker_still_ends_well(make_toy):
    toy = make_toy()
    toy.send("sleep 60")
    process = toy.start("--no-ticks", WORKER_DRAIN_S="1")
    assert wait_until(lambda: toy.notes("batch"), 300)
    process.terminate()
    assert process.wait(120) == 0
    assert toy.depth(toy.url) == 1


def test_schedules_tick_side_by_side_without_overlap_and_a_failing_one_goes_on(make_toy):
    toy = make_toy()
    process = toy.start()

    def ticks(name):
        return sum(note["tick"] == name for note in toy.notes("tick"))

    assert wait_until(lambda: min(ticks("good"), ticks("bad")) >= 4 and ticks("slow") >= 2, 300)
    process.terminate()
    assert process.wait(120) == 0
    slow = [note["kind"] for note in toy.notes("tick") + toy.notes("tick_done") if note["tick"] == "slow"]
    assert slow.count("tick") == slow.count("tick_done")
    assert "tick_failed" in toy.log()


def test_health_tells_what_is_in_work_on_loopback_only(make_toy):
    toy = make_toy()
    port = free_port()
    process = toy.start("--no-ticks", "--health-port", str(port))
    toy.send("hang")
    assert wait_until(lambda: toy.notes("batch"), 300)
    answer = httpx.get(f"http://127.0.0.1:{port}/health")
    assert (answer.status_code, answer.json()["healthy"]) == (200, True)
    assert answer.json()["queues"]["toy"]["busy"] == 1
    assert answer.json()["queues"]["toy"]["threads"] == 2
    ready = httpx.get(f"http://127.0.0.1:{port}/ready")
    assert (ready.status_code, ready.json()["parts"]) == (200, {"queue toy": "ok"})
    assert httpx.get(f"http://127.0.0.1:{port}/else").status_code == 404
    listening = {one.laddr.ip for one in psutil.Process(process.pid).net_connections("inet") if not one.raddr}
    assert listening == {"127.0.0.1"}


def test_health_is_told_to_no_page_and_only_to_who_has_the_token_where_there_is_one(make_toy):
    toy = make_toy()
    port = free_port()
    toy.start("--no-ticks", "--health-port", str(port), WORKER_HEALTH_TOKEN="secret")
    url, known = f"http://127.0.0.1:{port}", {"Authorization": "Bearer secret"}
    assert wait_until(lambda: answers(port, "/health", "secret"), 300)
    for path in ("/health", "/ready", "/metrics"):
        assert httpx.get(url + path).status_code == 403
        assert httpx.get(url + path, headers={"Authorization": "Bearer other"}).status_code == 403
        for page in ({"Origin": "https://evil.example"}, {"Sec-Fetch-Site": "cross-site"}, {"Host": "evil.example"}):
            assert httpx.get(url + path, headers={**known, **page}).status_code == 403
    assert unbuildable(url, "secret") == {}
    with pytest.raises(WorkerAwayError, match="WORKER_HEALTH_TOKEN"):
        unbuildable(url)


def test_health_believes_nothing_that_is_said_twice_and_outlives_who_hangs_up(make_toy):
    toy = make_toy()
    port = free_port()
    toy.start("--no-ticks", "--health-port", str(port), WORKER_HEALTH_TOKEN="secret")
    assert wait_until(lambda: answers(port, "/health", "secret"), 300)

    def asked(*lines):
        with socket.create_connection(("127.0.0.1", port), timeout=60) as wire:
            wire.sendall("\r\n".join(["GET /health HTTP/1.0", *lines, "", ""]).encode())
            return wire.makefile("rb").readline().split()[1]

    host, secret = "Host: 127.0.0.1", "Authorization: Bearer secret"
    assert asked(host, secret) == b"200"
    for twice in (
        ("Host: evil.example", host, secret),
        (host, "host: evil.example", secret),
        (host, host, secret),
        (host, secret, "Sec-Fetch-Site: cross-site", "Sec-Fetch-Site: none"),
        (host, "Authorization: Bearer other", secret),
        (host, secret, secret),
    ):
        assert asked(*twice) == b"403", twice
    # WHEN clients hang up in the middle of what they ask, or before they are told
    for sent in (b"GET /hea", f"GET /health HTTP/1.0\r\n{host}\r\n{secret}\r\n\r\n".encode()) * 25:
        with socket.create_connection(("127.0.0.1", port), timeout=60) as wire:
            wire.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            wire.sendall(sent)
    assert asked(host, secret) == b"200"
    assert [line for line in toy.log().splitlines() if not line.startswith("{")] == []


def health(port):
    return httpx.get(f"http://127.0.0.1:{port}/health", timeout=60).json()


def metrics(port):
    text = httpx.get(f"http://127.0.0.1:{port}/metrics").text
    rows = [line.rpartition(" ") for line in text.splitlines() if not line.startswith("#")]
    return {name.removeprefix("siftline_worker_"): float(value) for name, _, value in rows}


def test_metrics_count_messages_batches_and_ticks_as_prometheus_reads_them(make_toy):
    toy = make_toy(visibility_s=3)
    port = free_port()
    toy.start("--health-port", str(port))
    toy.send("good", "fail")
    assert wait_until(lambda: toy.depth(toy.dead_url) == 1 and toy.notes("tick_done"), 300)
    assert wait_until(lambda: metrics(port).get('ticks_total{schedule="Slow",outcome="done"}', 0) >= 1, 300)
    found = metrics(port)
    assert found['messages_total{queue="toy",outcome="done"}'] == 1
    assert found['messages_total{queue="toy",outcome="failed"}'] == 2
    assert found['batches_total{queue="toy"}'] >= 2
    assert found['ticks_total{schedule="Bad",outcome="failed"}'] >= 1
    assert found['batch_slots{queue="toy"}'] == 2
    assert found["healthy"] == 1


def test_a_worker_whose_database_is_away_is_alive_but_not_ready(make_toy):
    toy = make_toy()
    port = free_port()
    toy.start("--no-ticks", "--health-port", str(port), DATABASE_URL=f"postgresql://127.0.0.1:{free_port()}/none")
    assert wait_until(lambda: answers(port, "/health"), 300)
    assert wait_until(lambda: httpx.get(f"http://127.0.0.1:{port}/ready").json()["queues"]["toy"]["fault"] is None, 300)
    ready = httpx.get(f"http://127.0.0.1:{port}/ready")
    assert (ready.status_code, ready.json()["parts"]["database"]) == (503, "database_unavailable")


def test_a_queue_that_is_away_is_waited_for(make_toy):
    toy = make_toy()
    port = free_port()
    away = f"http://127.0.0.1:{free_port()}"
    process = toy.start("--no-ticks", "--health-port", str(port), AWS_ENDPOINT_URL=away)
    assert wait_until(lambda: "poll_failed" in toy.log(), 300)
    assert httpx.get(f"http://127.0.0.1:{port}/health").status_code == 200
    ready = httpx.get(f"http://127.0.0.1:{port}/ready")
    assert (ready.status_code, ready.json()["parts"]) == (503, {"queue toy": "queue_unavailable"})
    process.terminate()
    assert process.wait(120) == 0


def test_a_function_that_cannot_be_built_is_named_with_the_reason_wherever_one_looks(make_toy, tmp_path):
    toy = make_toy()
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    toy.start("--no-ticks", "--health-port", str(port), TOY_BROKEN="1")
    assert wait_until(lambda: answers(port, "/health") and httpx.get(f"{url}/health").json()["unbuildable"], 300)
    (name,) = unbuildable(url)

    ready = httpx.get(f"{url}/ready")
    assert (ready.status_code, ready.json()["parts"][f"function {name}"]) == (503, "ValueError: as asked")
    faults = WorkerFaults(url, "", tmp_path / "worker.log")
    assert list(faults.news()) == [f"{name} cannot start: ValueError: as asked; see {tmp_path / 'worker.log'}"]
    assert list(faults.news()) == []
    with pytest.raises(WorkerAwayError, match=f"{name} cannot be started: ValueError: as asked"):
        check_worker(url)


def test_a_worker_that_does_not_answer_is_said_to_be_away(tmp_path):
    url = f"http://127.0.0.1:{free_port()}"
    with pytest.raises(WorkerAwayError, match="does not answer"):
        check_worker(url)
    assert list(WorkerFaults(url, "", tmp_path).news()) == []


def test_a_worker_without_a_queues_url_says_which_variable_is_missing(make_toy):
    toy = make_toy()
    process = toy.start(TOY_QUEUE_URL="")
    assert process.wait(120) == 2
    assert "TOY_QUEUE_URL" in toy.log()
