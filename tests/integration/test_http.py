"""The one HTTP client against real loopback servers, friendly and hostile."""

import gzip
import ipaddress
import socket
import ssl
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, cast
from urllib.parse import urlsplit

import pytest

from siftline.kit.errors import PermanentError, TransientError
from siftline.net.http import HttpClient
from siftline.net.http_model import (
    AddressRefusedError,
    ConnectionFailedError,
    DnsFailedError,
    HttpLimits,
    InvalidHeaderError,
    InvalidResponseError,
    RedirectRefusedError,
    Requester,
    StatusRefusedError,
    StatusTransientError,
    TimedOutError,
    TooLargeError,
    UnsupportedMediaTypeError,
)
from siftline.net.ip_addresses import Address
from siftline.net.pacing import HostBusyError
from tests.certificates import certificate
from tests.open_client import OpenClient
from tests.servers import Answer, LoopbackServer, Request, drip, redirect, serving

LOOPBACK = ipaddress.ip_address("127.0.0.1")


@pytest.fixture
def server() -> Iterator[LoopbackServer]:
    with serving() as running:
        yield running


class Names:
    """A resolver that answers from a script and remembers what it was asked."""

    def __init__(self, *answers: Sequence[Address] | OSError) -> None:
        self._answers = list(answers)
        self.asked: list[str] = []

    def __call__(self, host: str) -> Sequence[Address]:
        self.asked.append(host)
        answer = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
        if isinstance(answer, OSError):
            raise answer
        return answer


class Sleeps(list[float]):
    """Stands for ``time.sleep`` and remembers how long each sleep was to be."""

    def __call__(self, seconds: float) -> None:
        self.append(seconds)


_made: list[HttpClient] = []


def client(**options: object) -> HttpClient:
    _made.append(OpenClient(**{"sleep": Sleeps(), **options}))
    return _made[-1]


def guarded(**options: Any) -> HttpClient:
    """Return a client as the rooms have it."""
    _made.append(HttpClient(sleep=Sleeps(), **options))
    return _made[-1]


@pytest.fixture(autouse=True)
def _close_clients() -> Iterator[None]:
    yield
    while _made:
        _made.pop().close()


class Given:
    """Gives a turn to every redirect and to so many repeats; remembers for what."""

    def __init__(self, repeats: int) -> None:
        self._repeats = repeats
        self.asked: list[tuple[str, str]] = []

    def onward(self, url: str) -> None:
        self.asked.append(("onward", urlsplit(url).path))

    def again(self, url: str) -> bool:
        self.asked.append(("again", urlsplit(url).path))
        self._repeats -= 1
        return self._repeats >= 0


class TestTurns:
    def test_every_redirect_and_every_repeat_takes_a_turn(self, server: LoopbackServer) -> None:
        server.answers.update({"/a": redirect("/b"), "/b": redirect("/c"), "/c": Answer(status=500)})
        given = Given(repeats=1)
        with pytest.raises(StatusTransientError):
            client().get(server.url("/a"), requester=Requester(rate_limiter=given))
        tried = [("onward", "/b"), ("onward", "/c"), ("again", "/a")]
        assert given.asked == tried * 2
        assert [request.path for request in server.requests] == ["/a", "/b", "/c"] * 2

    def test_without_a_turn_a_redirect_is_not_followed(self, server: LoopbackServer) -> None:
        class Busy(Given):
            def onward(self, url: str) -> None:
                raise HostBusyError("Others come first.", retry_after_s=9)

        server.answers["/a"] = redirect("/b")
        with pytest.raises(HostBusyError):
            client().get(server.url("/a"), requester=Requester(rate_limiter=Busy(repeats=0)))
        assert [request.path for request in server.requests] == ["/a"]


class TestAnswers:
    def test_an_answer_is_handed_back_whole(self, server: LoopbackServer) -> None:
        server.answers["/a?b=c"] = Answer(
            b"hello", headers={"Content-Type": "Text/HTML; Charset=UTF-8", "ETag": 'W/"\xe9"'}
        )
        answer = client(contact="https://siftline.example/about").get(
            server.url("/a?b=c#part"), accept="text/html", headers={"If-None-Match": '"\xe9"'}
        )
        assert (answer.status, answer.body, answer.redirects) == (200, b"hello", ())
        assert answer.content_type == "text/html"
        assert answer.headers["etag"] == answer.headers["ETag"] == 'W/"\xe9"'
        assert (answer.requested_url, answer.url) == (server.url("/a?b=c#part"), server.url("/a?b=c"))
        assert server.requests[0].headers == {
            "host": f"127.0.0.1:{server.port}",
            "accept": "text/html",
            "accept-encoding": "gzip, deflate",
            "user-agent": "Siftline/0.1 (+https://siftline.example/about)",
            "if-none-match": '"\xe9"',
        }

    def test_an_answer_without_a_content_type_names_none(self, server: LoopbackServer) -> None:
        server.answers["/"] = Answer(b"x")
        answer = client().get(server.url("/"))
        assert answer.content_type == ""

    def test_not_modified_is_an_answer(self, server: LoopbackServer) -> None:
        server.answers["/"] = Answer(status=304, headers={"ETag": '"b"'})
        answer = client().get(server.url("/"), headers={"If-None-Match": '"a"'})
        assert (answer.status, answer.body, answer.headers["etag"]) == (304, b"", '"b"')

    def test_a_compressed_answer_is_decoded(self, server: LoopbackServer) -> None:
        server.answers["/"] = Answer(gzip.compress(b"hello " * 100), headers={"Content-Encoding": "gzip"})
        assert client().get(server.url("/")).body == b"hello " * 100

    def test_a_media_type_that_the_caller_cannot_read_is_not_downloaded(self, server: LoopbackServer) -> None:
        server.answers["/"] = Answer(b"%PDF", headers={"Content-Type": "application/pdf"})
        with pytest.raises(UnsupportedMediaTypeError):
            client().get(server.url("/"), media_types={"text/html"})

    @pytest.mark.parametrize(
        ("status", "code"), [(404, "not_found"), (410, "gone"), (403, "forbidden"), (418, "http_418")]
    )
    def test_a_refusal_that_will_stay_is_permanent_and_asked_for_once(
        self, server: LoopbackServer, status: int, code: str
    ) -> None:
        server.answers["/"] = Answer(status=status)
        with pytest.raises(PermanentError) as caught:
            client().get(server.url("/"))
        assert (caught.value.error_code, len(server.requests)) == (code, 1)

    def test_many_threads_may_share_a_client(self, server: LoopbackServer) -> None:
        shared, bodies = client(), []
        for number in range(40):
            server.answers[f"/{number}"] = Answer(str(number).encode())
        threads = [
            threading.Thread(target=lambda n=number: bodies.append((n, shared.get(server.url(f"/{n}")).body)))
            for number in range(40)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(bodies) == [(number, str(number).encode()) for number in range(40)]
        shared.close()


class TestRedirects:
    def test_redirects_are_followed_and_told(self, server: LoopbackServer) -> None:
        server.answers.update(
            {"/a": redirect("b?x=1", 301), "/b?x=1": redirect(server.url("/c#frag"), 307), "/c": Answer(b"there")}
        )
        answer = client().get(server.url("/a"))
        assert (answer.body, answer.url) == (b"there", server.url("/c"))
        assert answer.redirects == ((301, server.url("/b?x=1")), (307, server.url("/c#frag")))

    @pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
    def test_five_redirects_are_the_most(self, server: LoopbackServer, status: int) -> None:
        for number in range(6):
            server.answers[f"/{number}"] = redirect(f"/{number + 1}", status)
        server.answers["/6"] = Answer(b"end")
        assert client().get(server.url("/1")).body == b"end"
        with pytest.raises(PermanentError) as caught:
            client().get(server.url("/0"))
        assert caught.value.error_code == "too_many_redirects"

    def test_a_redirect_with_a_body_keeps_the_connection(self, server: LoopbackServer) -> None:
        server.answers["/a"] = Answer(b"moved", 302, {"Location": "/b", "Content-Type": "text/html"})
        server.answers["/b"] = Answer(b"there")
        assert client().get(server.url("/a")).body == b"there"
        assert len(server.connections) == 1

    def test_a_location_in_raw_utf8_is_understood(self, server: LoopbackServer) -> None:
        server.answers["/a"] = redirect("/caf\u00e9".encode().decode("latin-1"))
        server.answers["/caf%C3%A9"] = Answer(b"coffee")
        assert client().get(server.url("/a")).body == b"coffee"

    def test_a_redirect_without_a_location_is_refused(self, server: LoopbackServer) -> None:
        server.answers["/"] = Answer(status=302)
        with pytest.raises(PermanentError) as caught:
            client().get(server.url("/"))
        assert caught.value.error_code == "http_302"

    @pytest.mark.parametrize(
        ("location", "code"),
        [
            ("http://169.254.169.254/latest/meta-data/", "address_refused"),
            ("//10.0.0.1/", "address_refused"),
            ("http://0xa9fea9fe/", "address_refused"),
            ("http://[::ffff:a9fe:a9fe]/", "address_refused"),
            ("http://[64:ff9b::7f00:1]/", "address_refused"),
            ("file:///etc/passwd", "unsupported_scheme"),
            ("gopher://127.0.0.1:70/", "unsupported_scheme"),
            ("http://[", "invalid_url"),
        ],
    )
    def test_every_hop_is_checked_again(self, server: LoopbackServer, location: str, code: str) -> None:
        server.answers["/"] = redirect(location)
        with pytest.raises(PermanentError) as caught:
            client().get(server.url("/"))
        assert caught.value.error_code == code

    def test_credentials_do_not_follow_to_another_host(self, server: LoopbackServer) -> None:
        elsewhere = redirect(server.url("/c", host="localhost"))
        server.answers.update({"/a": redirect("/b"), "/b": elsewhere, "/c": Answer()})
        client(resolver=Names([LOOPBACK])).get(server.url("/a"), headers={"Authorization": "Bearer x", "X-Other": "y"})
        sent = [(request.headers.get("authorization"), request.headers["x-other"]) for request in server.requests]
        assert sent == [("Bearer x", "y"), ("Bearer x", "y"), (None, "y")]


class TestCookies:
    """Case T19: a redirect that needs the cookie which it just set."""

    @staticmethod
    def sent(server: LoopbackServer, path: str) -> list[str]:
        return sorted(filter(None, (server.asked(path)[-1].headers.get("cookie") or "").split("; ")))

    def test_a_redirect_to_itself_that_wants_its_cookie_back_arrives(self, server: LoopbackServer) -> None:
        def gate(request: Request) -> Answer:
            if "seen=1" in request.headers.get("cookie", ""):
                return Answer(b"the page")
            return Answer(status=302, headers={"Location": "/page", "Set-Cookie": "seen=1; Path=/; HttpOnly"})

        server.answers["/page"] = gate
        assert client().get(server.url("/page")).body == b"the page"

    def test_a_way_round_by_another_host_comes_back_with_the_cookies_of_the_first(self, server: LoopbackServer) -> None:
        def page(request: Request) -> Answer:
            if "token=2" in request.headers.get("cookie", ""):
                return Answer(b"the page")
            to = server.url("/check", host="login.site.test")
            return Answer(status=303, headers={"Location": to, "Set-Cookie": "token=1"})

        back = {
            "Location": server.url("/page", host="www.site.test"),
            "Set-Cookie": "token=2; Domain=.site.test; Path=/",
        }
        server.answers.update({"/page": page, "/check": Answer(status=302, headers=back)})
        found = client(resolver=Names([LOOPBACK])).get(server.url("/page", host="www.site.test"))
        assert (found.body, self.sent(server, "/page")) == (b"the page", ["token=1", "token=2"])
        assert self.sent(server, "/check") == []

    def test_they_live_for_one_request_only(self, server: LoopbackServer) -> None:
        server.answers["/a"] = Answer(status=302, headers={"Location": "/b", "Set-Cookie": "a=1; Max-Age=9999"})
        server.answers["/b"] = Answer(b"there", headers={"Set-Cookie": "b=1; Max-Age=9999"})
        one = client()
        one.get(server.url("/a"))
        assert self.sent(server, "/b") == ["a=1"]
        one.get(server.url("/b"))
        assert self.sent(server, "/b") == []

    @pytest.mark.parametrize(
        ("line", "host", "target", "told"),
        [
            ("c=1", "www.site.test", "www.site.test/b", True),
            ("c=1; Domain=site.test", "www.site.test", "feeds.site.test/b", True),
            ("c=1; Domain=.SITE.test; Path=/", "www.site.test", "site.test/b", True),
            ("c=1", "www.site.test", "feeds.site.test/b", False),
            ("c=1", "site.test", "www.site.test/b", False),
            ("c=1", "site.test", "othersite.test/b", False),
            ("c=1; Domain=site.test", "www.site.test", "othersite.test/b", False),
            ("c=1; Domain=other.test", "www.site.test", "other.test/b", False),
            ("c=1; Domain=test", "www.site.test", "other.test/b", False),
            ("c=1; Domain=co.uk", "one.co.uk", "two.co.uk/b", False),
            ("c=1; Domain=github.io", "one.github.io", "two.github.io/b", False),
            ("c=1; Domain=github.io", "github.io", "two.github.io/b", False),
            ("c=1; Domain=github.io", "github.io", "github.io/b", True),
            ("c=1; Path=/b", "site.test", "site.test/b", True),
            ("c=1; Path=/bc", "site.test", "site.test/b", False),
            ("c=1; Path=/", "site.test", "site.test/b", True),
            ("c=1; Secure", "site.test", "site.test/b", False),
            ("c=1; Max-Age=0", "site.test", "site.test/b", False),
            ("c=1; Expires=Thu, 01 Jan 1970 00:00:00 GMT", "site.test", "site.test/b", False),
            ("c=1; Expires=Fri, 01-Jan-2100 00:00:00 GMT; SameSite=Lax", "site.test", "site.test/b", True),
            ("c=" + "x" * 5_000, "site.test", "site.test/b", False),
            ("c=1; Domain=127.0.0.1", "127.0.0.1", "127.0.0.1/b", True),
            ("c=1", "localhost", "localhost/b", True),
        ],
    )
    def test_each_is_told_to_whom_it_is_for(
        self, server: LoopbackServer, line: str, host: str, target: str, told: bool
    ) -> None:
        at, _, path = target.partition("/")
        server.answers["/a"] = Answer(
            status=302, headers={"Location": server.url(f"/{path}", host=at), "Set-Cookie": line}
        )
        server.answers["/b"] = Answer(b"there")
        client(resolver=Names([LOOPBACK])).get(server.url("/a", host=host))
        assert self.sent(server, "/b") == (["c=1"] if told else [])

    def test_another_port_is_told_nothing(self, server: LoopbackServer) -> None:
        with serving() as other:
            server.answers["/a"] = Answer(
                status=302, headers={"Location": other.url("/b"), "Set-Cookie": "c=1; Path=/"}
            )
            other.answers["/b"] = Answer(b"there")
            client().get(server.url("/a"))
            assert self.sent(other, "/b") == []

    def test_a_flood_is_kept_within_bounds(self, server: LoopbackServer) -> None:
        flood = "\0".join(f"c{number}={'x' * 300}" for number in range(150))
        server.answers["/a"] = [
            *[Answer(status=302, headers={"Location": "/a", "Set-Cookie": flood})] * 3, Answer(b"there")
        ]  # fmt: skip
        assert client().get(server.url("/a")).body == b"there"
        assert max(len(request.headers.get("cookie", "")) for request in server.requests) <= 16_384

    def test_the_callers_own_stays_beside_them(self, server: LoopbackServer) -> None:
        server.answers["/a"] = Answer(status=302, headers={"Location": "/b", "Set-Cookie": "c=1"})
        server.answers["/b"] = Answer(b"there")
        client().get(server.url("/a"), headers={"Cookie": "own=1"})
        assert self.sent(server, "/b") == ["c=1", "own=1"]


class TestAddresses:
    @pytest.mark.parametrize(
        "url",
        [
            "http://127.0.0.1:{port}/", "http://2130706433:{port}/", "http://0x7f.1:{port}/", "http://0177.0.0.1:{port}/",
            "http://127.1:{port}/", "http://\uff11\uff12\uff17.0.0.1:{port}/", "http://127\u30020\u30020\u30021:{port}/",
            "http://[::1]:{port}/", "http://[::ffff:127.0.0.1]:{port}/", "http://[::127.0.0.1]:{port}/",
            "http://localhost:{port}/", "http://name.test:{port}/", "http://user:pass@127.0.0.1:{port}/",
            "http://%31%32%37.0.0.1:{port}/",
        ],
    )  # fmt: skip
    def test_loopback_is_refused_in_every_spelling_unless_it_was_opened(self, server: LoopbackServer, url: str) -> None:
        server.answers["/"] = Answer(b"secret")
        with pytest.raises(AddressRefusedError):
            guarded(resolver=Names([LOOPBACK])).get(url.format(port=server.port))
        assert server.requests == []

    def test_opening_loopback_opens_nothing_else(self) -> None:
        for host in ("10.0.0.1", "169.254.169.254", "0", "[fd00:ec2::254]", "100.64.0.1"):
            with pytest.raises(AddressRefusedError):
                client().get(f"http://{host}/")

    def test_a_name_is_resolved_once_and_the_connection_pinned_to_the_answer(self, server: LoopbackServer) -> None:
        server.answers["/"] = Answer(b"x", headers={"Connection": "close"})
        names = Names([LOOPBACK], [ipaddress.ip_address("169.254.169.254")])
        rebound = client(resolver=names)
        assert rebound.get(server.url("/", host="rebind.test")).body == b"x"
        assert names.asked == ["rebind.test"]
        assert server.requests[0].headers["host"] == f"rebind.test:{server.port}"
        with pytest.raises(AddressRefusedError):
            rebound.get(server.url("/", host="rebind.test"))
        assert (len(server.requests), len(names.asked)) == (1, 2)

    def test_refused_addresses_of_a_name_are_passed_over(self, server: LoopbackServer) -> None:
        server.answers["/"] = Answer(b"x")
        names = Names([ipaddress.ip_address("10.0.0.1"), LOOPBACK])
        assert client(resolver=names).get(server.url("/", host="mixed.test")).body == b"x"

    def test_the_next_address_is_tried_when_one_does_not_answer(self, server: LoopbackServer) -> None:
        server.answers["/"] = Answer(b"x")
        names = Names([ipaddress.ip_address("::1"), LOOPBACK])
        assert client(resolver=names).get(server.url("/", host="two.test")).body == b"x"

    def test_a_name_that_does_not_exist_is_asked_for_once(self) -> None:
        names, sleeps = Names(socket.gaierror(socket.EAI_NONAME, "unknown")), Sleeps()
        with pytest.raises(DnsFailedError):
            client(resolver=names, sleep=sleeps).get("http://absent.test/")
        assert (len(names.asked), sleeps) == (1, [])

    @pytest.mark.parametrize("answer", [socket.gaierror(socket.EAI_AGAIN, "again"), OSError("broken")])
    def test_a_name_service_that_fails_is_asked_again(self, answer: OSError) -> None:
        names = Names(answer)
        with pytest.raises(DnsFailedError):
            client(resolver=names).get("http://later.test/")
        assert len(names.asked) == 4

    def test_a_name_without_addresses_is_not_resolved(self) -> None:
        with pytest.raises(DnsFailedError):
            client(resolver=Names([])).get("http://empty.test/")

    def test_a_name_service_that_hangs_is_held_to_the_deadline(self) -> None:
        hang = threading.Event()

        def resolver(_: str) -> Sequence[Address]:
            hang.wait(30)
            return []

        with pytest.raises(TimedOutError):
            client(resolver=resolver, limits=HttpLimits(total_s=0.2)).get("http://slow.test/")
        hang.set()

    def test_the_machines_own_resolver_knows_localhost(self, server: LoopbackServer) -> None:
        server.answers["/"] = Answer(b"x")
        assert client().get(server.url("/", host="localhost")).body == b"x"


class TestRequestForm:
    @pytest.mark.parametrize(
        ("url", "code"),
        [
            ("ftp://example.com/", "unsupported_scheme"),
            ("javascript:alert(1)", "unsupported_scheme"),
            ("example.com", "invalid_url"),
            ("http://", "invalid_url"),
            ("http://1.2.3.400/", "invalid_url"),
            ("http://example.com:99999/", "invalid_url"),
            ("http://a\0b/", "invalid_url"),
        ],
    )
    def test_what_is_no_web_address_is_refused(self, url: str, code: str) -> None:
        with pytest.raises(PermanentError) as caught:
            client(resolver=Names([LOOPBACK])).get(url)
        assert caught.value.error_code == code

    @pytest.mark.parametrize(
        "headers",
        [
            {"If-None-Match": '"a"\r\nX-Injected: yes'}, {"If-None-Match": "a\nb"}, {"X": "a\0"}, {"X": "\u20ac"},
            {"X\r\nY": "z"}, {"X Y": "z"}, {"": "z"}, {"X:": "z"}, {"Host": "other.example"}, {"Content-Length": "1"},
        ],
    )  # fmt: skip
    def test_a_header_that_would_break_the_request_is_refused(
        self, server: LoopbackServer, headers: dict[str, str]
    ) -> None:
        with pytest.raises(InvalidHeaderError):
            client().get(server.url("/"), headers=headers)
        assert server.requests == []

    def test_line_breaks_in_an_address_reach_no_request(self, server: LoopbackServer) -> None:
        with pytest.raises(PermanentError):
            client().get(server.url("/a\r\nX-Injected: yes"))
        assert all("x-injected" not in request.headers for request in server.requests)


class TestHostileServers:
    def test_a_dripping_body_is_held_to_the_deadline(self, server: LoopbackServer) -> None:
        server.answers["/"] = Answer(drip(b"x" * 10_000, 0.02))
        with pytest.raises(TimedOutError):
            client(limits=HttpLimits(total_s=0.3)).get(server.url("/"))

    def test_dripping_headers_are_held_to_the_deadline(self) -> None:
        with raw_server(drip(b"HTTP/1.1 200 OK\r\nX: " + b"y" * 10_000, 0.02)) as url, pytest.raises(TimedOutError):
            client(limits=HttpLimits(total_s=0.3)).get(url)

    def test_a_silent_server_is_given_up(self, server: LoopbackServer) -> None:
        server.answers["/"] = lambda _: Answer(drip(b"xx", 2))
        with pytest.raises(TimedOutError):
            client(limits=HttpLimits(total_s=10, read_s=0.1, retries=1)).get(server.url("/"))
        assert len(server.requests) == 2

    def test_an_endless_body_is_cut_at_the_cap(self, server: LoopbackServer) -> None:
        def endless() -> Iterator[bytes]:
            while True:
                yield b"x" * 65_536

        server.answers["/"] = Answer(endless())
        with pytest.raises(TooLargeError):
            client().get(server.url("/"), max_bytes=1_000_000)

    def test_a_bomb_dies_early(self, server: LoopbackServer) -> None:
        server.answers["/"] = Answer(gzip.compress(bytes(50_000_000)), headers={"Content-Encoding": "gzip"})
        with pytest.raises(TooLargeError):
            client().get(server.url("/"), max_bytes=1_000_000)

    def test_brotli_was_not_asked_for_and_is_not_unpacked(self, server: LoopbackServer) -> None:
        server.answers["/"] = Answer(b"\x8b\x02\x80hello\x03", headers={"Content-Encoding": "br"})
        with pytest.raises(InvalidResponseError, match="'br'"):
            client().get(server.url("/"))

    def test_a_body_shorter_than_declared_may_be_whole_next_time(self, server: LoopbackServer) -> None:
        server.answers["/"] = [Answer([b"half"], content_length=8), Answer(b"all of it")]
        assert client().get(server.url("/")).body == b"all of it"

    def test_a_body_longer_than_declared_ends_where_it_was_declared_to(self, server: LoopbackServer) -> None:
        server.answers["/"] = Answer([b"12345678"], content_length=4)
        assert client().get(server.url("/")).body == b"1234"

    def test_what_is_not_http_is_a_failed_connection(self) -> None:
        with raw_server([b"SSH-2.0-OpenSSH_9.7\r\n"]) as url, pytest.raises(ConnectionFailedError):
            client(limits=HttpLimits(retries=0)).get(url)

    def test_nobody_listening_is_a_failed_connection(self, server: LoopbackServer) -> None:
        url = server.url("/")
        server.stop()
        with pytest.raises(ConnectionFailedError, match=rf"127.0.0.1:{urlsplit(url).port} could not be reached"):
            client().get(url)


class TestRetries:
    @pytest.mark.parametrize("status", [408, 500, 502, 503, 504])
    def test_what_may_pass_within_seconds_is_tried_again_after_1_2_and_4_seconds(
        self, server: LoopbackServer, status: int
    ) -> None:
        server.answers["/"] = Answer(status=status)
        sleeps = Sleeps()
        with pytest.raises(StatusTransientError) as caught:
            client(sleep=sleeps).get(server.url("/"))
        assert (caught.value.status, caught.value.retry_after_s) == (status, None)
        assert len(server.requests) == 4
        assert [0.75 * step <= slept <= step for step, slept in zip((1, 2, 4), sleeps, strict=True)] == [True] * 3

    def test_a_try_that_succeeds_ends_the_retries(self, server: LoopbackServer) -> None:
        server.answers["/"] = [Answer(status=500), Answer(status=502), Answer(b"at last")]
        assert client().get(server.url("/")).body == b"at last"

    @pytest.mark.parametrize("status", [429, 501, 505, 599])
    def test_a_refusal_that_seconds_do_not_mend_is_left_to_the_queue(self, server: LoopbackServer, status: int) -> None:
        server.answers["/"] = Answer(status=status)
        with pytest.raises(TransientError):
            client().get(server.url("/"))
        assert len(server.requests) == 1

    @pytest.mark.parametrize("status", [429, 503])
    def test_a_long_retry_after_is_raised_at_once(self, server: LoopbackServer, status: int) -> None:
        server.answers["/"] = Answer(status=status, headers={"Retry-After": "1500"})
        with pytest.raises(StatusTransientError) as caught:
            client().get(server.url("/"))
        assert (caught.value.retry_after_s, len(server.requests)) == (1500, 1)

    def test_the_date_form_counts_from_the_servers_own_clock(self, server: LoopbackServer) -> None:
        server.answers["/"] = Answer(
            status=503,
            headers={"Date": "Sat, 01 Jun 2024 11:00:00 GMT", "Retry-After": "Sat, 01 Jun 2024 11:10:00 GMT"},
        )
        with pytest.raises(StatusTransientError) as caught:
            client().get(server.url("/"))
        assert caught.value.retry_after_s == 600

    def test_a_429_is_never_asked_again_here(self, server: LoopbackServer) -> None:
        server.answers["/"] = Answer(status=429, headers={"Retry-After": "2"})
        with pytest.raises(StatusTransientError) as caught:
            client().get(server.url("/"))
        assert (caught.value.retry_after_s, len(server.requests)) == (2, 1)

    def test_a_short_retry_after_is_waited_out(self, server: LoopbackServer) -> None:
        server.answers["/"] = [Answer(status=503, headers={"Retry-After": "3"}), Answer(b"back")]
        sleeps = Sleeps()
        assert client(sleep=sleeps).get(server.url("/")).body == b"back"
        assert sleeps == [3]

    def test_a_short_retry_after_that_never_helps_is_left_to_the_callers_backoff(self, server: LoopbackServer) -> None:
        server.answers["/"] = Answer(status=503, headers={"Retry-After": "0"})
        sleeps = Sleeps()
        with pytest.raises(StatusTransientError) as caught:
            client(sleep=sleeps).get(server.url("/"))
        assert (caught.value.retry_after_s, len(server.requests)) == (None, 4)
        # Nought is no leave to ask four times at once.
        assert [0.75 * step <= slept <= step for step, slept in zip((1, 2, 4), sleeps, strict=True)] == [True] * 3

    def test_no_retry_goes_beyond_the_deadline(self, server: LoopbackServer) -> None:
        server.answers["/"] = Answer(status=503, headers={"Retry-After": "5"})
        sleeps = Sleeps()
        with pytest.raises(StatusTransientError):
            client(sleep=sleeps, limits=HttpLimits(total_s=4)).get(server.url("/"))
        assert (sleeps, len(server.requests)) == ([], 1)

    def test_permanent_redirect_targets_are_asked_afresh_at_each_retry(self, server: LoopbackServer) -> None:
        server.answers["/a"] = [redirect("/b"), redirect("/c")]
        server.answers.update({"/b": Answer(status=500), "/c": Answer(b"c")})
        assert client().get(server.url("/a")).body == b"c"


class TestRefusals:
    """What a refusal's answer tells: enough to tell a block from a paywall, never more than a little."""

    def refused(self, server: LoopbackServer, answer: Answer) -> StatusRefusedError | StatusTransientError:
        server.answers["/"] = answer
        with pytest.raises((StatusRefusedError, StatusTransientError)) as caught:
            client(limits=HttpLimits(retries=0)).get(server.url("/"))
        return cast("StatusRefusedError | StatusTransientError", caught.value)

    @pytest.mark.parametrize("status", [403, 429, 503])
    def test_the_answer_comes_with_the_error(self, server: LoopbackServer, status: int) -> None:
        page = Answer(b"<title>Just a moment</title>", status, {"Content-Type": "text/html", "CF-Ray": "1"})
        server.answers["/away"] = redirect("/")
        answer = self.refused(server, page).answer
        assert (answer.status, answer.url, answer.headers["cf-ray"]) == (status, server.url("/"), "1")
        assert answer.body_start == b"<title>Just a moment</title>"

    def test_the_body_is_decoded_as_far_as_it_goes(self, server: LoopbackServer) -> None:
        whole = gzip.compress(b"Sign in to go on. " * 1000, compresslevel=0)
        cut = Answer(whole[:5000], 402, {"Content-Encoding": "gzip"})
        start = self.refused(server, cut).answer.body_start
        assert start.startswith(b"Sign in to go on. ")
        assert len(start) < 5000

    def test_no_more_than_a_little_is_read(self, server: LoopbackServer) -> None:
        def endless() -> Iterator[bytes]:
            while True:
                yield b"x" * 65_536

        bomb = gzip.compress(bytes(50_000_000))
        for answer in (Answer(endless(), 403), Answer(bomb, 403, {"Content-Encoding": "gzip"})):
            assert len(self.refused(server, answer).answer.body_start) == 65_536

    @pytest.mark.parametrize(
        "headers", [{"Content-Type": "image/png"}, {"Content-Encoding": "br"}, {"Content-Encoding": "gzip"}]
    )
    def test_what_cannot_be_read_changes_nothing(self, server: LoopbackServer, headers: dict[str, str]) -> None:
        assert self.refused(server, Answer(b"\x89PNG", 403, headers)).answer.body_start == b""

    def test_a_dripping_body_is_held_to_the_deadline_of_the_request(self, server: LoopbackServer) -> None:
        server.answers["/"] = Answer(drip(b"no" * 10_000, 0.02), 404)
        with pytest.raises(StatusRefusedError):
            client(limits=HttpLimits(total_s=0.3)).get(server.url("/"))


class TestPost:
    def test_a_body_is_sent_with_its_type_and_length(self, server: LoopbackServer) -> None:
        server.answers["/"] = Answer(b"{}", headers={"Content-Type": "application/json"})
        answer = client().post(server.url("/"), body=b"a=b", headers={"Content-Type": "text/x"}, accept="text/y")
        assert (answer.status, answer.body) == (200, b"{}")
        sent = server.requests[0]
        assert (sent.method, sent.body, sent.headers["content-length"]) == ("POST", b"a=b", "3")
        assert (sent.headers["content-type"], sent.headers["accept"]) == ("text/x", "text/y")

    def test_it_is_tried_once_unless_it_may_be_repeated(self, server: LoopbackServer) -> None:
        server.answers["/"] = Answer(status=503, headers={"Retry-After": "2"})
        with pytest.raises(StatusTransientError) as caught:
            client().post(server.url("/"), body=b"")
        assert (caught.value.retry_after_s, len(server.requests)) == (2, 1)
        with pytest.raises(StatusTransientError):
            client().post(server.url("/"), body=b"", repeatable=True)
        assert len(server.requests) == 5

    @pytest.mark.parametrize(
        ("status", "second"),
        [(301, ("GET", b"")), (302, ("GET", b"")), (303, ("GET", b"")), (307, ("POST", b"x")), (308, ("POST", b"x"))],
    )
    def test_a_redirect_means_what_browsers_take_it_for(
        self, server: LoopbackServer, status: int, second: tuple[str, bytes]
    ) -> None:
        server.answers.update({"/a": redirect("/b", status), "/b": Answer(b"there")})
        assert client().post(server.url("/a"), body=b"x", headers={"Content-Type": "text/x"}).body == b"there"
        sent = server.requests[1]
        assert (sent.method, sent.body) == second
        assert ("content-type" in sent.headers) == ("content-length" in sent.headers) == (second[0] == "POST")

    @pytest.mark.parametrize("status", [307, 308])
    def test_what_was_sent_is_not_handed_on_to_another_server(self, server: LoopbackServer, status: int) -> None:
        server.answers["/a"] = redirect(server.url("/b", host="localhost"), status)
        with pytest.raises(RedirectRefusedError):
            client(resolver=Names([LOOPBACK])).post(server.url("/a"), body=b"secret")
        assert len(server.requests) == 1

    def test_it_is_under_the_same_protection(self, server: LoopbackServer) -> None:
        server.answers["/"] = redirect("http://169.254.169.254/", 303)
        with pytest.raises(AddressRefusedError):
            client().post(server.url("/"), body=b"")
        server.answers["/"] = Answer(bytes(1001))
        with pytest.raises(TooLargeError):
            client().post(server.url("/"), body=b"", max_bytes=1000)


class TestTls:
    def test_the_certificate_is_checked_for_the_name_not_the_address(self, tmp_path: Path) -> None:
        authority, seen = certificate(tmp_path, "pinned.test"), []
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(authority)
        context.sni_callback = lambda _socket, name, _context: seen.append(name)
        trusting = ssl.create_default_context(cafile=str(authority))
        with serving(tls=context) as server:
            server.answers["/"] = Answer(b"secret")
            named = client(resolver=Names([LOOPBACK]), tls=trusting)
            assert named.get(server.url("/", host="pinned.test")).body == b"secret"
            assert seen == ["pinned.test"]
            with pytest.raises(PermanentError) as caught:
                named.get(server.url("/", host="other.test"))
            assert caught.value.error_code == "tls_failed"
            with pytest.raises(PermanentError) as caught:
                client(resolver=Names([LOOPBACK])).get(server.url("/", host="pinned.test"))
            assert caught.value.error_code == "tls_failed"

    def test_a_broken_handshake_may_pass(self, server: LoopbackServer) -> None:
        with pytest.raises(TransientError) as caught:
            client(limits=HttpLimits(retries=0)).get(server.url("/").replace("http:", "https:"))
        assert caught.value.error_code == "tls_failed"


class raw_server:  # noqa: N801 - used like a function
    """A server that answers its one client with bytes of the test's choice, HTTP or not."""

    def __init__(self, answer: Sequence[bytes] | Iterator[bytes]) -> None:
        self._answer = answer
        self._socket = socket.create_server(("127.0.0.1", 0))
        self._thread = threading.Thread(target=self._serve, daemon=True)

    def __enter__(self) -> str:
        self._thread.start()
        return f"http://127.0.0.1:{self._socket.getsockname()[1]}/"

    def __exit__(self, *_: object) -> None:
        self._socket.close()
        self._thread.join(5)

    def _serve(self) -> None:
        try:
            connection, _ = self._socket.accept()
            with connection:
                connection.recv(65_536)
                for chunk in self._answer:
                    connection.sendall(chunk)
        except OSError:
            return  # the client under test hung up, or never came


def test_a_scripted_answer_may_depend_on_the_request(server: LoopbackServer) -> None:
    def script(request: Request) -> Answer:
        return Answer(request.headers["accept"].encode())

    server.answers["/"] = script
    assert client().get(server.url("/"), accept="a/b").body == b"a/b"
