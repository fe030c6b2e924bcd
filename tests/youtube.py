"""YouTube on loopback: its watch page, player, caption files and oEmbed, over TLS under its own name."""

import ipaddress
import json
import ssl
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from html import escape
from pathlib import Path
from typing import Any
from urllib.parse import quote

from siftline.net.http import HttpClient
from siftline.net.http_model import HttpLimits, Response
from tests.certificates import certificate
from tests.open_client import OpenClient
from tests.servers import Answer, LoopbackServer, Request, serving

HOST = "www.youtube.com"
JSON = {"Content-Type": "application/json; charset=UTF-8"}
HTML = {"Content-Type": "text/html; charset=utf-8"}
BOT = {"status": "LOGIN_REQUIRED", "reason": "Sign in to confirm you\u2019re not a bot"}
PRIVATE = {
    "status": "LOGIN_REQUIRED",
    "reason": "This is a private video. Please sign in to verify that you may see it.",
}
REMOVED = {"status": "ERROR", "reason": "This video is unavailable"}


class FakeYouTube:
    """What YouTube says of videos. As an HTTP client, it is the real one, but for YouTube's port."""

    def __init__(self, server: LoopbackServer, http: HttpClient) -> None:
        self.server = server
        self._http = http
        self._players: dict[str, Any] = {}
        server.answers["/youtubei/v1/player?key=key"] = self._player

    def get(self, url: str, **options: Any) -> Response:
        return self._http.get(self._here(url), **options)

    def post(self, url: str, **options: Any) -> Response:
        return self._http.post(self._here(url), **options)

    def shows(
        self,
        id_: str,
        *,
        title: str | None = "The talk",
        description: str = "Ann talks about the harbour.\n\nRecorded in May.",
        written: Mapping[str, Sequence[str]] | None = None,
        heard: Mapping[str, Sequence[str]] | None = None,
        playability: Mapping[str, str] | None = None,
    ) -> None:
        """Make a video. ``written`` and ``heard`` are its captions by language, line by line, a second each."""
        page = (
            f'<html><head><title>{title} - YouTube</title></head><body><script>{{"INNERTUBE_API_KEY":"key"}}</script>'
        )
        self.server.answers[f"/watch?v={id_}"] = Answer(f"{page}</body></html>".encode(), headers=HTML)
        player: dict[str, Any] = {"playabilityStatus": playability or {"status": "OK"}}
        tracks = [
            self._track(id_, language, lines, kind)
            for kind, captions in (("", written), ("asr", heard))
            for language, lines in (captions or {}).items()
        ]
        if tracks:
            player["captions"] = {"playerCaptionsTracklistRenderer": {"captionTracks": tracks}}
        if playability is None:
            player["videoDetails"] = {
                "title": title,
                "author": "Ann's channel",
                "lengthSeconds": "1800",
                "shortDescription": description,
                "thumbnail": {
                    "thumbnails": [{"url": "https://i.ytimg.com/small.jpg"}, {"url": "https://i.ytimg.com/big.jpg"}]
                },
            }
        self._players[id_] = player
        if title is not None:
            told = {"title": title, "author_name": "Ann's channel", "thumbnail_url": "https://i.ytimg.com/big.jpg"}
            self.server.answers[self.oembed(id_)] = Answer(json.dumps(told).encode(), headers=JSON)

    @staticmethod
    def oembed(id_: str) -> str:
        return f"/oembed?format=json&url={quote(f'https://{HOST}/watch?v={id_}', safe='')}"

    def _track(self, id_: str, language: str, lines: Sequence[str], kind: str) -> dict[str, Any]:
        path = f"/api/timedtext?v={id_}&lang={language}&kind={kind}"
        rows = "".join(f'<text start="{n}" dur="1">{escape(escape(line))}</text>' for n, line in enumerate(lines))
        xml = f'<?xml version="1.0" encoding="utf-8" ?><transcript>{rows}</transcript>'
        self.server.answers[path] = Answer(xml.encode(), headers={"Content-Type": "text/xml; charset=UTF-8"})
        url = f"https://{HOST}{path}"
        return {"baseUrl": url, "languageCode": language, "kind": kind, "name": {"runs": [{"text": language}]}}

    def _player(self, request: Request) -> Answer:
        assert request.method == "POST"
        return Answer(json.dumps(self._players[json.loads(request.body)["videoId"]]).encode(), headers=JSON)

    def _here(self, url: str) -> str:
        return url.replace(f"https://{HOST}/", self.server.url("/", host=HOST))


@contextmanager
def youtube(folder: Path) -> Iterator[FakeYouTube]:
    """Run YouTube for the length of a block."""
    authority = certificate(folder, HOST)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(authority)
    with serving(tls=context) as server:
        http = OpenClient(
            limits=HttpLimits(retries=0),
            resolver=lambda _: [ipaddress.ip_address("127.0.0.1")],
            tls=ssl.create_default_context(cafile=str(authority)),
        )
        yield FakeYouTube(server, http)
        http.close()
