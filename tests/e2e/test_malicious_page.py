"""A page that means harm, open in Chromium beside the whole system: it tries every port of it, and changes nothing."""

import shutil
from collections.abc import Iterator
from contextlib import closing, suppress
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import httpx
import psutil
import psycopg
import pytest
from playwright.sync_api import Browser, Error, Page, Response, sync_playwright

from infra.local.queues import sqs_client
from tests.e2e.machine import RunningMachine, wait_for
from tests.servers import Answer, serving

if TYPE_CHECKING:
    from mypy_boto3_sqs.literals import QueueAttributeFilterType

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
EVIL = "evil.example"
QUIET = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"]
QUIET += ["--disable-component-update", "--disable-sync", f"--host-resolver-rules=MAP {EVIL} 127.0.0.1"]
OWNED = ("users", "access_tokens", "items", "contents", "sources", "subscriptions", "briefings")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium here: apt-get install chromium"),
]

FORMS = """
async (targets) => {
  for (const [url, fields, encoding] of targets) {
    const frame = document.createElement('iframe');
    frame.name = 'f' + Math.random();
    document.body.append(frame);
    const form = document.createElement('form');
    Object.assign(form, {action: url, method: 'POST', target: frame.name, enctype: encoding});
    for (const [name, value] of Object.entries(fields)) {
      const input = document.createElement('input');
      Object.assign(input, {name, value});
      form.append(input);
    }
    document.body.append(form);
    const loaded = new Promise(done => { frame.onload = done; setTimeout(done, 20000); });
    form.submit();
    await loaded;
  }
}
"""
FETCHES = """
async (targets) => {
  const read = [];
  for (const [method, url, body, modes] of targets)
    for (const mode of modes) {
      try {
        const answer = await fetch(url, {method, mode, body: body || undefined, signal: AbortSignal.timeout(20000)});
        if (answer.type !== 'opaque') read.push([method, url, mode, answer.status, await answer.text()]);
      } catch (error) { /* the browser did not let it through */ }
    }
  return read;
}
"""
SOCKETS = """
async (urls) => Promise.all(urls.map(url => new Promise(done => {
  const socket = new WebSocket(url);
  socket.onopen = () => done('open');
  socket.onerror = () => done('refused');
  setTimeout(() => done('refused'), 20000);
})))
"""


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningMachine]:
    with RunningMachine(tmp_path_factory.mktemp("harmed")) as running:
        yield running


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=QUIET)
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def ports(machine: RunningMachine) -> dict[str, int]:
    """Every port that any process of the system listens on, by the address that its environment gives it."""
    environment = machine.environment
    named = {
        "api": environment["PUBLIC_URL"],
        "aws": environment["AWS_ENDPOINT_URL"],
        "vectors": environment["QDRANT_URL"],
        "worker": environment["WORKER_HEALTH_URL"],
        "postgres": environment["DATABASE_URL"],
    }
    found = {name: urlsplit(url).port or 0 for name, url in named.items()}
    wait_for("all parts listen", lambda: listening(machine) >= set(found.values()))
    assert listening(machine) == set(found.values()), "a port that no attack of this file knows"
    return found


@pytest.fixture(scope="module")
def owned(machine: RunningMachine) -> dict[str, Any]:
    """Something to lose: a collection with a point. Returns the system's state, which must stay."""
    with vectors_of(machine) as client:
        assert client.put("/collections/precious", json={"vectors": {"size": 2, "distance": "Cosine"}}).is_success
        point = {"id": 1, "vector": [1.0, 0.0]}
        assert client.put("/collections/precious/points", json={"points": [point]}).is_success
    return state(machine)


def state(machine: RunningMachine) -> dict[str, Any]:
    """Return what a stranger could have changed."""
    environment = machine.environment
    with closing(sqs_client(environment["AWS_ENDPOINT_URL"], environment["AWS_ACCESS_KEY_ID"])) as sqs:
        urls = sorted(sqs.list_queues()["QueueUrls"])
        made: list[QueueAttributeFilterType] = ["CreatedTimestamp", "VisibilityTimeout", "RedrivePolicy"]
        queues = {url: sqs.get_queue_attributes(QueueUrl=url, AttributeNames=made)["Attributes"] for url in urls}
    with vectors_of(machine) as client:
        names = {one["name"] for one in client.get("/collections").json()["result"]["collections"]}
        points = client.post("/collections/precious/points/count", json={}).json()["result"]["count"]
    vectors = {"evil": "evil" in names, "precious": points}
    with psycopg.connect(environment["DATABASE_URL"]) as connection:
        rows = {table: connection.execute(f"select count(*) from {table}").fetchone() for table in OWNED}
    return {"queues": queues, "vectors": vectors, "rows": rows}


def listening(machine: RunningMachine) -> set[int]:
    """Return every port that a process of the system listens on."""
    found = set()
    for process in psutil.Process(machine.pid).children(recursive=True):
        with suppress(psutil.NoSuchProcess):  # a session of PostgreSQL that has just ended
            found |= {one.laddr.port for one in process.net_connections("inet") if one.status == psutil.CONN_LISTEN}
    return found


def vectors_of(machine: RunningMachine) -> httpx.Client:
    """Return a client of the vectors that has their key."""
    environment = machine.environment
    headers = {"api-key": environment["QDRANT_API_KEY"]}
    return httpx.Client(base_url=environment["QDRANT_URL"], headers=headers, timeout=60)


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """A page of the evil site, which notes every answer that the browser got."""
    with serving() as site:
        site.answers["/"] = Answer(b"<!doctype html><body>Win a prize!", headers={"Content-Type": "text/html"})
        page = browser.new_page()
        page.goto(f"http://{EVIL}:{site.port}/")
        yield page
        page.close()


def answers_to(page: Page, port: int) -> list[Response]:
    """Return a list that fills with the answers of one port."""
    found: list[Response] = []
    page.on("response", lambda response: found.append(response) if urlsplit(response.url).port == port else None)
    return found


def harm(machine: RunningMachine, base: str) -> dict[str, list[tuple[str, str, str]]]:
    """Return, by port, the requests that would do harm: method, address and body."""
    queue = next(value for name, value in machine.environment.items() if name.startswith("ANALYSIS_QUEUE"))
    query = f"Action=DeleteQueue&QueueUrl={queue}"
    points = '{"filter": {}}'
    return {
        "api": [("POST", f"{base}/v1/items", '{"url": "https://evil.example/"}'), ("DELETE", f"{base}/v1/me", "")],
        "aws": [
            ("POST", f"{base}/", query),
            ("GET", f"{base}/?{query}", ""),
            ("POST", f"{base}/_ministack/reset", ""),
            ("POST", f"{base}/?{query.replace('DeleteQueue', 'PurgeQueue')}", ""),
        ],
        "vectors": [
            ("POST", f"{base}/collections/precious/points/delete", points),
            ("DELETE", f"{base}/collections/precious", ""),
            ("PUT", f"{base}/collections/evil", '{"vectors": {"size": 4, "distance": "Cosine"}}'),
        ],
        "worker": [("GET", f"{base}/health", ""), ("POST", f"{base}/health", "x")],
        "postgres": [("POST", f"{base}/", "select 1")],
    }


SERVICES = ["api", "aws", "vectors", "worker", "postgres"]


@pytest.mark.parametrize("name", SERVICES)
def test_a_page_of_another_site_changes_and_reads_nothing(
    machine: RunningMachine, ports: dict[str, int], owned: dict[str, Any], page: Page, name: str
) -> None:
    """Forms, which need no leave of CORS; ``fetch`` with and without it; WebSockets; by both names of this machine."""
    answers = answers_to(page, ports[name])
    for host in ("127.0.0.1", "localhost"):
        base = f"http://{host}:{ports[name]}"
        asked = harm(machine, base)[name]
        forms = [
            (url, dict(pair.split("=", 1) for pair in body.split("&")) if "=" in body else {body: ""}, encoding)
            for method, url, body in asked
            for encoding in ("application/x-www-form-urlencoded", "text/plain")
            if method == "POST"
        ]
        page.evaluate(FORMS, forms)
        simple = [(m, url, body, ["cors", "no-cors"] if m in ("GET", "POST") else ["cors"]) for m, url, body in asked]
        assert page.evaluate(FETCHES, [list(one) for one in simple]) == []
        assert page.evaluate(SOCKETS, [f"ws://{host}:{ports[name]}/"]) == ["refused"]
    refused(name, answers)
    assert state(machine) == owned


@pytest.mark.parametrize("name", SERVICES)
def test_a_name_that_suddenly_means_this_machine_changes_and_reads_nothing(
    machine: RunningMachine, ports: dict[str, int], owned: dict[str, Any], page: Page, name: str
) -> None:
    """DNS rebinding: to the browser the service is the evil site itself, so nothing that it answers is kept back."""
    answers = answers_to(page, ports[name])
    base = f"http://{EVIL}:{ports[name]}"
    asked = harm(machine, base)[name]
    try:
        page.goto(f"{base}/")
    except Error:
        assert name == "postgres"  # it speaks no HTTP
    else:
        read = page.evaluate(FETCHES, [[m, url, body, ["same-origin"]] for m, url, body in asked])
        assert len(read) == len(asked)
        assert {status for *_, status, _ in read} <= {403, 501}
        assert page.evaluate(SOCKETS, [f"ws://{EVIL}:{ports[name]}/"]) == ["refused"]
    refused(name, answers)
    assert state(machine) == owned


def refused(name: str, answers: list[Response]) -> None:
    """Check that a port refused everything, and let no other site read it."""
    assert answers or name == "postgres"
    # The API has open doors, and asks for a token at the others; the worker serves nothing but GET.
    allowed = {"api": {401, 403, 404, 405}, "worker": {403, 501}}.get(name, {403})
    assert {answer.status for answer in answers} <= allowed
    assert not [answer.url for answer in answers if "access-control-allow-origin" in answer.headers]


def test_the_system_itself_goes_on(machine: RunningMachine, owned: dict[str, Any]) -> None:
    """All parts answer those who may ask."""
    with serving() as site:
        text = "The ferry between the islands runs again, twice a day, says the harbour master. " * 5
        body = f"<html lang=en><title>Ferry</title><article><h1>Ferry</h1><p>{text}</p></article>"
        site.answers["/a"] = Answer(body.encode(), headers={"Content-Type": "text/html"})
        client = machine.client()
        item = client.settled(client.save(site.url("/a"))["id"], patience_s=800)
        assert item["status"] == "READY"
    deep = wait_for("all parts are well", lambda: client.call("GET", "/health", deep=1)[0] == 200)
    assert deep
