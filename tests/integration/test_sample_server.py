"""The sample server over real loopback connections: validators, methods, and the pages that fail on purpose."""

from collections.abc import Iterator

import httpx
import pytest

from infra.local.samples import SampleServer


@pytest.fixture(scope="module")
def server() -> Iterator[SampleServer]:
    server = SampleServer().start()
    yield server
    server.stop()


@pytest.fixture
def client(server: SampleServer) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=server.base_url) as client:
        yield client


def test_every_feed_and_page_is_served_on_loopback(server, client):
    assert len(server.urls()) == 5
    assert len(server.articles()) == 60
    assert all(url.startswith("http://127.0.0.1:") for url in server.urls())
    for url in [*server.urls(), *(article.path for article in server.articles())]:
        assert client.get(url).status_code == 200


@pytest.mark.parametrize("validator", [("ETag", "If-None-Match"), ("Last-Modified", "If-Modified-Since")])
def test_feed_and_page_answer_304_to_their_own_validators(server, client, validator):
    given, sent_back = validator
    for url in [*server.urls(), server.articles()[0].path]:
        first = client.get(url)
        again = client.get(url, headers={sent_back: first.headers[given]})
        assert (again.status_code, again.content) == (304, b"")
        assert again.headers["ETag"] == first.headers["ETag"]


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"If-None-Match": '"other"'}, 200),
        ({"If-None-Match": "*"}, 304),
        ({"If-None-Match": '"other"', "If-Modified-Since": "Tue, 01 Jan 2999 00:00:00 GMT"}, 200),
        ({"If-Modified-Since": "Tue, 01 Jan 2999 00:00:00 GMT"}, 304),
        ({"If-Modified-Since": "Mon, 01 Jan 2001 00:00:00 GMT"}, 200),
        ({"If-Modified-Since": "yesterday"}, 200),
        ({"If-Modified-Since": "Mon, 01 Jan 99999999999999999999 00:00:00 GMT"}, 200),
    ],
)
def test_validators_are_weighed_as_the_standard_says(server, client, headers, status):
    assert client.get(server.urls()[0], headers=headers).status_code == status


def test_head_tells_the_length_and_sends_no_body(server, client):
    url = server.urls()[0]
    head, full = client.head(url), client.get(url)
    assert head.content == b""
    assert head.headers["Content-Length"] == str(len(full.content))
    assert head.headers["ETag"] == full.headers["ETag"]


def test_unknown_path_is_404_and_another_method_refused(client):
    assert client.get("/world/no-such-page").status_code == 404
    assert client.post("/", content=b"x").status_code == 501


@pytest.mark.parametrize(
    ("path", "status", "content_type"),
    [
        ("/trouble/", 200, "text/html"),
        ("/trouble/missing", 404, "text/html"),
        ("/trouble/gone", 410, "text/html"),
        ("/trouble/busy", 503, "text/html"),
        ("/trouble/slow?seconds=0", 200, "text/html"),
        ("/trouble/empty", 200, "text/html"),
        ("/trouble/short", 200, "text/html"),
        ("/trouble/image", 200, "image/png"),
    ],
)
def test_trouble_is_as_promised(client, path, status, content_type):
    answer = client.get(path)
    assert answer.status_code == status
    assert answer.headers["Content-Type"].startswith(content_type)


def test_busy_says_when_to_come_back(client):
    assert client.get("/trouble/busy").headers["Retry-After"] == "30"
    assert client.get("/trouble/busy?seconds=7").headers["Retry-After"] == "7"


def test_a_slow_page_holds_up_nobody_else_and_no_stop():
    server = SampleServer().start()
    with httpx.Client(base_url=server.base_url) as impatient, httpx.Client(base_url=server.base_url) as other:
        with pytest.raises(httpx.ReadTimeout):
            impatient.get("/trouble/slow?seconds=60", timeout=0.3)
        assert other.get("/trouble/short").status_code == 200
        server.stop()


def test_a_stopped_server_has_left_its_port():
    first = SampleServer().start()
    port = int(first.base_url.rpartition(":")[2])
    first.stop()
    second = SampleServer(port)
    assert second.base_url == first.base_url
    second.stop()
