"""A network of one's own, in a network namespace: inside addresses on ``lo``, public ones too, a listener, a resolver.

``sh`` has entered the namespaces (network, mounts; and users, where one is not root) before this runs.
"""

import fcntl
import socket
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ipaddress import IPv4Address, IPv6Address, ip_address
from pathlib import Path
from typing import Protocol

PUBLIC = "93.184.215.14"
PUBLIC_6 = "2606:2800:21f:cb07:6820:80da:af6b:8b2c"
INSIDE = (
    "127.0.0.1", "10.0.0.1", "172.16.0.1", "192.168.1.1", "169.254.169.254", "100.64.0.1", "168.63.129.16",
    "192.0.0.192", "198.18.0.1", "192.0.2.1", "240.0.0.1", "::1", "::7f00:1", "fd00:ec2::254", "fc00::1", "fe80::1",
    "fec0::1", "64:ff9b::7f00:1", "64:ff9b::a9fe:a9fe", "64:ff9b:1::1", "2002:7f00:1::1", "2001:0:7f00:1::1", "100::1",
)  # fmt: skip
PORTS = (80, 443, 8080)
_SET_ADDRESS, _SET_FLAGS = 0x8916, 0x8914  # SIOCSIFADDR, SIOCSIFFLAGS (netdevice(7)): iproute2 may be missing
_UP = 0x1

Zone = Callable[[str, bool], list[str] | None]
"""A name's addresses of both families, ``None`` where there is no such name; and whether IPv4 was asked for."""
Site = Callable[[str], tuple[int, dict[str, str], bytes]]


def bring_up() -> list[str]:
    """Put all addresses on ``lo``; returns the inside ones that it took."""
    with (
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as four,
        socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as six,
    ):
        fcntl.ioctl(four, _SET_FLAGS, struct.pack("16sh22x", b"lo", _UP))
        taken = []
        for number, text in enumerate((*INSIDE, PUBLIC, PUBLIC_6)):
            address = ip_address(text)
            try:
                if isinstance(address, IPv4Address):
                    name = b"lo" if text == "127.0.0.1" else b"lo:%d" % number
                    place = struct.pack("=HH4s8x", socket.AF_INET, 0, address.packed)
                    fcntl.ioctl(four, _SET_ADDRESS, struct.pack("16s16s8x", name, place))
                elif text != "::1":
                    place = struct.pack("=16sIi", address.packed, 128, socket.if_nametoindex("lo"))
                    fcntl.ioctl(six, _SET_ADDRESS, place)
            except OSError:
                continue
            taken.append(text)
    return [text for text in taken if text in INSIDE]


def mount_names(folder: Path) -> None:
    """Let the machine's own resolver ask ours, and nothing else."""
    files = {
        "/etc/resolv.conf": "nameserver 127.0.0.1\noptions timeout:1 attempts:2\n",
        "/etc/hosts": "127.0.0.1 localhost\n::1 localhost ip6-localhost\n",
        "/etc/nsswitch.conf": "hosts: files dns\n",
    }
    for place, text in files.items():
        file = folder / Path(place).name
        file.write_text(text)
        subprocess.run(["mount", "--bind", file, place], check=True)


class Listener:
    """Takes every connection on every address: those to inside ones are ``reached``; all get the site's answer."""

    def __init__(self, site: Site) -> None:
        self.site = site
        self.reached: list[str] = []

    @contextmanager
    def listening(self) -> Iterator["Listener"]:
        """Listen for the length of a block."""
        with ExitStack() as stack:
            for port in PORTS:
                server = stack.enter_context(_Server(self, port))
                threading.Thread(target=server.serve_forever, daemon=True).start()
                stack.callback(server.shutdown)
            yield self


class _Server(ThreadingHTTPServer):
    address_family = socket.AF_INET6
    daemon_threads = True
    request_queue_size = 128

    def __init__(self, listener: Listener, port: int) -> None:
        self.listener, self.site = listener, listener.site
        super().__init__(("::", port), Answers)

    def server_bind(self) -> None:
        self.socket.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        super(ThreadingHTTPServer, self).server_bind()

    def process_request(self, request: socket.socket, client_address: object) -> None:  # type: ignore[override]  # TCP only
        address = IPv6Address(request.getsockname()[0].partition("%")[0])
        at = str(address.ipv4_mapped or address)
        if at not in (PUBLIC, PUBLIC_6):
            self.listener.reached.append(f"{at}:{request.getsockname()[1]}")
        super().process_request(request, client_address)

    def handle_error(self, request: object, client_address: object) -> None:
        """Say nothing: clients hang up."""


class _SiteServer(Protocol):
    site: Site


class Answers(BaseHTTPRequestHandler):
    """Gives a server's clients the answers of its site."""

    server: _SiteServer  # type: ignore[assignment]  # any server that has one

    def do_GET(self) -> None:
        status, headers, body = self.server.site(self.path)
        self.send_response_only(status)
        for name, value in {**headers, "Content-Length": str(len(body)), "Connection": "close"}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self) -> None:
        self.do_GET()

    def log_message(self, *_: object) -> None:
        """Say nothing."""


class Server(ThreadingHTTPServer):
    """Serves a site on this machine alone, at a port that is free; nothing of it counts as reached."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, site: Site) -> None:
        self.site = site
        super().__init__(("127.0.0.1", 0), Answers)

    def handle_error(self, request: object, client_address: object) -> None:
        """Say nothing: clients hang up."""


@contextmanager
def served(site: Site) -> Iterator[int]:
    """Serve a site for the length of a block; yields its port."""
    with Server(site) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield server.server_port
        finally:
            server.shutdown()


@contextmanager
def resolving(zone: Zone) -> Iterator[None]:
    """Answer DNS questions (RFC 1035) on 127.0.0.1:53 for the length of a block."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as server:
        server.bind(("127.0.0.1", 53))

        def serve() -> None:
            while True:
                question, asker = server.recvfrom(512)
                server.sendto(_reply(question, zone), asker)

        threading.Thread(target=serve, daemon=True).start()
        yield


def _reply(question: bytes, zone: Zone) -> bytes:
    labels, place = [], 12
    while length := question[place]:
        labels.append(question[place + 1 : place + 1 + length].decode("ascii", "replace"))
        place += 1 + length
    (kind,) = struct.unpack(">H", question[place + 1 : place + 3])
    wanted = {1: IPv4Address, 28: IPv6Address}.get(kind)
    known = zone(".".join(labels).lower(), kind == 1)
    answers = [address for address in map(ip_address, known or ()) if isinstance(address, wanted or ())]
    head = struct.pack(">2sHHHHH", question[:2], 0x8180 | (0 if known is not None else 3), 1, len(answers), 0, 0)
    records = (struct.pack(">HHHIH", 0xC00C, kind, 1, 0, len(address.packed)) + address.packed for address in answers)
    return head + question[12 : place + 5] + b"".join(records)


class Reached(Protocol):
    """What holds the addresses, with their ports, that were inside and were reached."""

    @property
    def reached(self) -> list[str]:
        """The addresses, in their order."""
        ...


def naive(hosts: Sequence[str], ports: Sequence[int], inside: Reached) -> dict[str, list[str]]:
    """Connect as a client would that checks nothing; returns which addresses that reached, by what was asked for."""
    found = {}
    for host in hosts:
        before = due = len(inside.reached)
        for port in ports:
            target = f"{host}%lo" if host.startswith("fe80") and "%" not in host else host
            with suppress(OSError, UnicodeError), socket.create_connection((target, port), timeout=2):
                due += 1
        _await(inside, due)
        found[host] = inside.reached[before:]
    return found


def naive_child(inside: Reached) -> list[str]:
    """Connect to one address from an interpreter that this one starts; returns what that reached."""
    before = len(inside.reached)
    script = "import socket; socket.create_connection(('10.0.0.1', 80), timeout=2).close()"
    ended = subprocess.run([sys.executable, "-P", "-c", script], capture_output=True, check=False)
    _await(inside, before + (ended.returncode == 0))
    return inside.reached[before:]


def _await(inside: Reached, due: int) -> None:
    until = time.monotonic() + 60
    while len(inside.reached) < due and time.monotonic() < until:
        time.sleep(0.001)  # the listener's threads take them a moment later
