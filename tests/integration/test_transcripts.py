"""Videos and audio with their words: page and feed tracks, YouTube, and the audio model, each behind a real server."""

import json
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any, NoReturn, cast
from uuid import UUID

import pytest

from siftline.contracts import JobType
from siftline.ingest.media.audio_model import AudioModel, TranscriptionUnavailableError
from siftline.ingest.page_child import PageReader
from siftline.kit.clock import SystemClock
from siftline.kit.db import Database
from siftline.net.http import HttpClient
from siftline.net.http_model import Requester
from siftline.net.pacing import HostBusyError
from tests.ingesting import FreePace, Works, ingest_content, transcribe_content
from tests.servers import Answer, LoopbackServer, Request
from tests.youtube import BOT, PRIVATE, FakeYouTube, youtube

TRANSCRIBE = JobType.TRANSCRIBE_CONTENT
ID = "abcdefghijk"
WATCH = f"https://www.youtube.com/watch?v={ID}"
VTT = "WEBVTT\n\n00:00.000 --> 00:02.000\n<v Ann>The council met.\n\n00:02.000 --> 00:04.000\n<v Ann>It agreed.\n"
SRT = "1\n00:00:00,000 --> 00:00:02,000\nDer Rat tagte.\n"
NOTES = "<p>Ann and Bob talk about the harbour and what it costs.</p>"
MODEL = "whisper-test"
SPOKEN = "The council met. It agreed to dredge the channel."


@pytest.fixture
def tube(tmp_path: Path) -> Iterator[FakeYouTube]:
    with youtube(tmp_path) as running:
        yield running


def works(database: Database, http: Any, reader: PageReader, **options: Any) -> Works:
    model = options.pop("model", None)
    analysis = options.pop("analysis", True)
    ingest = ingest_content(database, http, reader, generates=model is not None, analysis=analysis)
    return Works(
        database, ingest, transcribe_content(database, http, reader, model=model, analysis=analysis, **options)
    )


def episode(bench: Works, site: LoopbackServer, *tracks: tuple[str, str, str], **media: Any) -> UUID:
    """An episode as a feed leaves it, its page gone; ``tracks`` are path, media type, language."""
    feed_tracks = [{"url": site.url(path), "media_type": kind, "language": lang} for path, kind, lang in tracks]
    row = {"url": site.url("/talk.mp3"), "media_type": "audio/mpeg", "duration_s": 60, "feed_tracks": feed_tracks}
    return bench.saved(
        site.url("/episode"), kind="audio", title="Talk", entry_html=NOTES, media=json.dumps({**row, **media})
    )


class TestFeeds:
    def test_a_feeds_transcript_is_read_after_what_the_feed_says_of_the_episode(
        self, database: Database, site: LoopbackServer, once: HttpClient, page_reader: PageReader
    ) -> None:
        bench = works(database, once, page_reader)
        site.answers["/t.vtt"] = Answer(VTT.encode(), headers={"Content-Type": "text/vtt"})
        row = bench.work(content_id := episode(bench, site, ("/t.vtt", "text/vtt", "en")))

        assert row["text"] == (
            "Ann and Bob talk about the harbour and what it costs.\n\nAnn: The council met. It agreed."
        )
        assert (row["kind"], row["word_count"], row["status"]) == ("audio", 17, "PENDING")
        assert row["media"]["transcript_state"] == "feed"
        assert row["media"]["transcript_source"] == site.url("/t.vtt")
        assert bench.live(content_id) == ["analyze_content"]

    def test_the_track_in_the_contents_own_language_is_read(
        self, database: Database, site: LoopbackServer, once: HttpClient, page_reader: PageReader
    ) -> None:
        bench = works(database, once, page_reader)
        site.answers["/en.vtt"] = Answer(VTT.encode(), headers={"Content-Type": "text/vtt"})
        site.answers["/de.srt"] = Answer(SRT.encode(), headers={"Content-Type": "application/x-subrip"})
        tracks = ("/en.vtt", "text/vtt", "en"), ("/de.srt", "application/srt", "de-DE")
        content_id = episode(bench, site, *tracks)
        bench.run("update contents set lang = 'de' where id = %s", content_id)

        assert bench.work(content_id)["text"].endswith("Der Rat tagte.")
        assert site.asked("/en.vtt") == []

    def test_an_episode_without_words_stands_by_its_notes(
        self, database: Database, site: LoopbackServer, once: HttpClient, page_reader: PageReader
    ) -> None:
        bench = works(database, once, page_reader)
        row = bench.work(content_id := episode(bench, site, ("/gone.vtt", "text/vtt", "en")))

        assert row["text"] == "Ann and Bob talk about the harbour and what it costs."
        assert row["media"]["transcript_state"] == "none"
        assert bench.live(content_id) == ["analyze_content"]

    def test_a_track_that_is_refused_is_asked_for_again_later_and_one_that_is_away_soon(
        self, database: Database, site: LoopbackServer, once: HttpClient, page_reader: PageReader
    ) -> None:
        """Case X07: a refusal is `blocked`, not a lack of captions."""
        bench = works(database, once, page_reader)
        site.answers["/t.vtt"] = Answer(status=403)
        row = bench.work(content_id := episode(bench, site, ("/t.vtt", "text/vtt", "en")))
        assert row["media"]["transcript_state"] == "blocked"
        assert timedelta(minutes=50) < bench.job(content_id, TRANSCRIBE)["wait"] < timedelta(minutes=61)

        site.answers["/t.vtt"] = Answer(status=503)
        bench.run("update jobs set state = 'cancelled', finished_at = now() where job_type = 'transcribe_content'")
        other = bench.saved(site.url("/other"), kind="audio", media=json.dumps(row["media"]), entry_html=NOTES)
        assert bench.work(other)["media"]["transcript_state"] is None
        assert bench.job(other, TRANSCRIBE)["wait"] < timedelta(minutes=2)

        site.answers["/t.vtt"] = Answer(VTT.encode(), headers={"Content-Type": "text/vtt"})
        assert bench.work(other, TRANSCRIBE)["text"].endswith("It agreed.")


def video_page(body: str = "", head: str = "") -> Answer:
    markup = f"<html lang=en><head><title>The talk</title>{head}</head><body>{body}</body></html>"
    return Answer(markup.encode(), headers={"Content-Type": "text/html; charset=utf-8"})


def linked(**facts: Any) -> str:
    node = {"@context": "https://schema.org", "@type": "VideoObject", "name": "The talk", **facts}
    return f'<script type="application/ld+json">{json.dumps(node)}</script>'


class TestPages:
    def test_a_pages_caption_track_is_read(
        self, database: Database, site: LoopbackServer, once: HttpClient, page_reader: PageReader
    ) -> None:
        bench = works(database, once, page_reader)
        track = '<track kind="subtitles" src="/t.vtt" srclang="en">'
        site.answers["/talk"] = video_page(
            f'<video controls src="/talk.mp4">{track}</video>', '<meta property="og:type" content="video.other">'
        )
        site.answers["/t.vtt"] = Answer(VTT.encode(), headers={"Content-Type": "text/vtt"})
        row = bench.work(bench.saved(site.url("/talk")))

        assert row["text"].endswith("Ann: The council met. It agreed.")
        assert (row["kind"], row["media"]["transcript_state"]) == ("video", "captions")
        assert row["media"]["url"] == site.url("/talk.mp4")

    def test_what_the_page_itself_states_goes_before_its_tracks(
        self, database: Database, site: LoopbackServer, once: HttpClient, page_reader: PageReader
    ) -> None:
        bench = works(database, once, page_reader)
        caption = {"@type": "MediaObject", "contentUrl": site.url("/t.vtt"), "encodingFormat": "text/vtt"}
        facts = linked(transcript="The council met.", caption=caption, contentUrl=site.url("/talk.mp4"))
        site.answers["/talk"] = video_page("", facts)
        row = bench.work(bench.saved(site.url("/talk")))

        assert row["text"].endswith("The council met.")
        assert (row["media"]["transcript_state"], site.asked("/t.vtt")) == ("page", [])

    def test_a_video_that_says_nothing_is_kept_by_its_title(
        self, database: Database, site: LoopbackServer, once: HttpClient, page_reader: PageReader
    ) -> None:
        bench = works(database, once, page_reader)
        site.answers["/talk"] = video_page("", linked(contentUrl=site.url("/talk.mp4")))
        row = bench.work(bench.saved(site.url("/talk")))

        assert (row["title"], row["kind"], row["error_code"]) == ("The talk", "video", None)
        assert row["media"]["transcript_state"] == "none"


class TestTurns:
    def test_every_host_is_asked_in_its_turn_and_what_it_refuses_is_remembered(
        self, database: Database, site: LoopbackServer, once: HttpClient, page_reader: PageReader
    ) -> None:
        pace = FreePace()
        bench = Works(database, ingest_content(database, once, page_reader, pace=pace))
        site.answers["/t.vtt"] = Answer(status=429)
        content_id = episode(bench, site, ("/t.vtt", "text/vtt", "en"))
        bench.work(content_id)
        assert pace.admitted == [(site.url("/episode"), content_id), (site.url("/t.vtt"), content_id)]
        assert pace.refusals == [(site.url("/t.vtt"), "http_429")]

    def test_youtube_is_asked_in_its_turn_too_and_left_alone_when_it_says_so(
        self, database: Database, tube: FakeYouTube, page_reader: PageReader
    ) -> None:
        pace = FreePace()
        bench = Works(database, ingest_content(database, cast("HttpClient", tube), page_reader, pace=pace))
        tube.shows(ID)
        tube.server.answers[f"/watch?v={ID}"] = Answer(status=429)
        bench.work(content_id := bench.saved(WATCH))
        assert pace.admitted == [("https://www.youtube.com/", content_id)]
        assert pace.refusals == [("https://www.youtube.com/", "http_429")]

    def test_who_must_wait_for_a_turn_is_put_off_without_using_a_try(
        self, database: Database, site: LoopbackServer, once: HttpClient, page_reader: PageReader
    ) -> None:
        class Busy(FreePace):
            def asking(self, url: str, requester: Requester) -> NoReturn:
                raise HostBusyError("Others come first.", retry_after_s=70)

        bench = Works(database, ingest_content(database, once, page_reader, pace=Busy()))
        bench.work(content_id := bench.saved(site.url("/page")))
        job = bench.job(content_id, JobType.INGEST_CONTENT)
        assert (job["state"], job["attempts"], site.requests) == ("pending", 0, [])


class TestYouTube:
    def test_a_videos_words_follow_what_is_said_about_it(
        self, database: Database, tube: FakeYouTube, page_reader: PageReader
    ) -> None:
        bench = works(database, tube, page_reader)
        tube.shows(ID, written={"en": ["The council met.", "It agreed."]})
        row = bench.work(content_id := bench.saved(f"https://youtu.be/{ID}?si=x"))

        assert row["text"] == "Ann talks about the harbour.\n\nRecorded in May.\n\nThe council met. It agreed."
        assert (row["kind"], row["title"], row["author"], row["site_name"]) == (
            "video",
            "The talk",
            "Ann's channel",
            "YouTube",
        )
        assert (row["media"]["transcript_state"], row["media"]["duration_s"]) == ("youtube", 1800)
        assert bench.live(content_id) == ["analyze_content"]

    def test_a_refused_video_stands_by_its_title_and_is_asked_for_again_ever_later_until_it_is_had(
        self, database: Database, tube: FakeYouTube, page_reader: PageReader
    ) -> None:
        """Case X07: `blocked` is kept apart from `none`; the item stands by its metadata, and is tried later."""
        bench = works(database, tube, page_reader)
        tube.shows(ID, playability=BOT)
        row = bench.work(content_id := bench.saved(WATCH))
        assert (row["title"], row["author"], row["error_code"]) == ("The talk", "Ann's channel", None)
        assert row["media"]["transcript_state"] == "blocked"
        assert bench.live(content_id) == ["analyze_content", "transcribe_content"]

        bench.run("update jobs set state = 'completed', finished_at = now() where job_type = 'analyze_content'")
        bench.run("update contents set status = 'READY', topics = '[]' where id = %s", content_id)
        for _ in range(2):
            assert bench.work(content_id, TRANSCRIBE)["status"] == "READY"
        job = bench.job(content_id, TRANSCRIBE)
        assert (job["state"], job["attempts"], job["error_code"]) == ("pending", 0, "transcript_blocked")
        bench.run("update jobs set deferred_since = now() - interval '1 day' where id = %s", job["id"])
        bench.work(content_id, TRANSCRIBE)
        assert bench.job(content_id, TRANSCRIBE)["wait"] > timedelta(hours=5)

        tube.shows(ID, written={"en": ["The council met."]})
        row = bench.work(content_id, TRANSCRIBE)
        assert row["text"].endswith("The council met.")
        assert (row["media"]["transcript_state"], row["status"]) == ("youtube", "PENDING")
        assert bench.live(content_id) == ["analyze_content"]

    def test_a_video_that_stays_refused_keeps_that_state_and_parks_nothing(
        self, database: Database, tube: FakeYouTube, page_reader: PageReader
    ) -> None:
        bench = works(database, tube, page_reader)
        tube.shows(ID, playability=BOT)
        bench.work(content_id := bench.saved(WATCH))
        bench.work(content_id, TRANSCRIBE)
        bench.run("update jobs set deferred_since = now() - interval '2 days' where job_type = 'transcribe_content'")
        row = bench.work(content_id, TRANSCRIBE)

        assert row["media"]["transcript_state"] == "blocked"
        assert bench.job(content_id, TRANSCRIBE)["state"] == "completed"

    def test_captions_that_are_not_there_are_not_asked_for_again(
        self, database: Database, tube: FakeYouTube, page_reader: PageReader
    ) -> None:
        bench = works(database, tube, page_reader)
        tube.shows(ID)
        row = bench.work(content_id := bench.saved(WATCH))
        assert (row["title"], row["media"]["transcript_state"]) == ("The talk", "none")
        assert bench.live(content_id) == ["analyze_content"]

    def test_a_private_video_that_a_feed_told_of_is_kept_and_one_that_nobody_knows_fails_with_the_reason(
        self, database: Database, tube: FakeYouTube, page_reader: PageReader
    ) -> None:
        """Case X07: `private` is the third state."""
        bench = works(database, tube, page_reader)
        tube.shows(ID, title=None, playability=PRIVATE)
        row = bench.work(bench.saved(WATCH, title="What the feed says", entry_html=NOTES))
        assert (row["title"], row["media"]["transcript_state"]) == ("What the feed says", "private")

        tube.shows("zzzzzzzzzzz", title=None, playability=PRIVATE)
        row = bench.work(bench.saved("https://www.youtube.com/watch?v=zzzzzzzzzzz"))
        assert (row["status"], row["error_code"]) == ("FAILED", "video_unavailable")


class Api:
    """An audio model in the form of OpenAI's API, on loopback."""

    def __init__(self, server: LoopbackServer) -> None:
        self._server = server
        server.answers["/v1/audio/transcriptions"] = self._answer
        server.answers["/talk.mp3"] = Answer(b"\xff\xfb" + bytes(100_000), headers={"Content-Type": "audio/mpeg"})
        self.answer = Answer(b"")
        self.says({"text": SPOKEN, "usage": {"type": "duration", "seconds": 90}})
        self.model = AudioModel(
            model=MODEL, base_url=server.url("/v1"), api_key=lambda: "secret", timeout_s=60, clock=SystemClock()
        )

    @property
    def asked(self) -> list[Request]:
        return self._server.asked("/v1/audio/transcriptions")

    def says(self, body: Any, status: int = 200, **headers: str) -> None:
        self.answer = Answer(
            json.dumps(body).encode(), status=status, headers={"Content-Type": "application/json", **headers}
        )

    def _answer(self, _: Request) -> Answer:
        return self.answer


@pytest.fixture
def api(site: LoopbackServer) -> Iterator[Api]:
    made = Api(site)
    yield made
    made.model.close()


class TestGenerated:
    def spent(self, bench: Works) -> list[tuple[str, int]]:
        rows = bench.rows("select state, micro_usd from spendings order by made_at")
        return [(row["state"], row["micro_usd"]) for row in rows]

    def test_words_are_made_once_paid_for_by_what_was_counted_and_never_again(
        self, database: Database, site: LoopbackServer, once: HttpClient, page_reader: PageReader, api: Api
    ) -> None:
        bench = works(database, once, page_reader, model=api.model)
        row = bench.work(content_id := episode(bench, site))
        assert (row["media"]["transcript_state"], row["status"]) == ("none", "PENDING")
        row = bench.work(content_id, TRANSCRIBE)

        assert row["text"].endswith(f"costs.\n\n{SPOKEN}")
        assert (row["media"]["transcript_state"], row["media"]["transcript_source"]) == ("generated", MODEL)
        assert self.spent(bench) == [("settled", 9_000)]  # a minute and a half at 0.006 dollars
        [asked] = api.asked
        assert asked.headers["authorization"] == "Bearer secret"
        assert b"whisper-test" in asked.body
        assert b'filename="audio.mp3"' in asked.body

        bench.run("update jobs set state = 'completed', finished_at = now() where state = 'pending'")
        bench.run(
            "insert into jobs (id, job_type, queue, subject_id, group_key) values"
            " (gen_random_uuid(), 'ingest_content', 'content-background', %s, 'host:a')",
            content_id,
        )
        row = bench.work(content_id)
        assert row["text"].endswith(SPOKEN)
        assert (row["media"]["transcript_state"], len(api.asked)) == ("generated", 1)
        assert "transcribe_content" not in bench.live(content_id)

    @pytest.mark.parametrize(
        "body",
        [{"text": 7}, {"text": None}, "words", [], {}],
        ids=["number", "null", "string", "list", "nothing"],
    )
    def test_an_answer_without_words_is_none(self, api: Api, body: Any) -> None:
        api.says(body)
        with pytest.raises(TranscriptionUnavailableError):
            api.model.hear(b"sound", ending="mp3", language=None)

    @pytest.mark.parametrize("seconds", [10**30, -1, None, []], ids=["huge", "less", "null", "list"])
    def test_a_length_that_cannot_be_is_not_counted(self, api: Api, seconds: Any) -> None:
        api.says({"text": "Two\0 words", "usage": {"type": "duration", "seconds": seconds}})
        heard = api.model.hear(b"sound", ending="mp3", language=None)
        assert (heard.text, heard.seconds) == ("Two words", None)

    def test_what_may_not_be_spent_is_not_spent_and_is_tried_tomorrow(
        self, database: Database, site: LoopbackServer, once: HttpClient, page_reader: PageReader, api: Api
    ) -> None:
        bench = works(database, once, page_reader, model=api.model, usd_per_day=0.01)
        first, second = (
            bench.saved(
                site.url(path), kind="audio", entry_html=NOTES, media=json.dumps({"url": site.url("/talk.mp3")})
            )
            for path in ("/one", "/two")
        )
        for content_id in (first, second):
            bench.work(content_id)
        assert bench.work(first, TRANSCRIBE)["media"]["transcript_state"] == "generated"
        row = bench.work(second, TRANSCRIBE)
        assert row["media"]["transcript_state"] == "over_budget"
        assert bench.job(second, TRANSCRIBE)["error_code"] == "transcript_over_budget"
        assert len(api.asked) == 1

    @pytest.mark.parametrize(
        ("media", "options", "state"),
        [
            ({"duration_s": 8_000}, {}, "too_long"),
            ({}, {"max_bytes": 10_000}, "too_long"),
            ({"duration_s": 3_600}, {"usd_per_day": 0.1}, "over_budget"),
        ],
        ids=["seconds", "bytes", "dollars"],
    )
    def test_what_is_too_much_for_one_call_is_never_sent(
        self,
        database: Database,
        site: LoopbackServer,
        once: HttpClient,
        page_reader: PageReader,
        api: Api,
        media: dict[str, Any],
        options: dict[str, Any],
        state: str,
    ) -> None:
        bench = works(database, once, page_reader, model=api.model, **options)
        bench.work(content_id := episode(bench, site, **media))
        row = bench.work(content_id, TRANSCRIBE)
        assert (row["media"]["transcript_state"], row["error_code"]) == (state, None)
        assert bench.job(content_id, TRANSCRIBE)["state"] == "completed"
        assert (api.asked, self.spent(bench)) == ([], [])

    def test_the_environment_has_no_say_in_who_is_called(
        self, site: LoopbackServer, api: Api, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for name in ("OPENAI_BASE_URL", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
            monkeypatch.setenv(name, "http://127.0.0.1:1")
        assert api.model.hear(b"x", ending="mp3", language="en").text == SPOKEN
        [asked] = api.asked
        assert not {name for name in asked.headers if name in {"openai-organization", "openai-project"}}

    def test_a_refused_key_opens_the_models_breaker_and_costs_nothing(
        self, database: Database, site: LoopbackServer, once: HttpClient, page_reader: PageReader, api: Api
    ) -> None:
        bench = works(database, once, page_reader, model=api.model)
        bench.work(content_id := episode(bench, site))
        api.says({"error": {"message": "no", "code": "invalid_api_key"}}, status=401)
        bench.work(content_id, TRANSCRIBE)
        [breaker] = bench.rows("select provider, error_code from breakers")
        assert (breaker["provider"], breaker["error_code"]) == ("transcription", "transcription_misconfigured")
        assert self.spent(bench) == [("released", 0)]

    def test_a_busy_model_is_asked_again_when_it_says_and_a_file_it_does_not_take_is_left(
        self, database: Database, site: LoopbackServer, once: HttpClient, page_reader: PageReader, api: Api
    ) -> None:
        bench = works(database, once, page_reader, model=api.model)
        bench.work(content_id := episode(bench, site))
        api.says({"error": {"message": "slow down"}}, status=429, **{"Retry-After": "600"})
        bench.work(content_id, TRANSCRIBE)
        job = bench.job(content_id, TRANSCRIBE)
        assert (job["state"], job["attempts"], job["error_code"]) == ("pending", 0, "transcription_unavailable")
        assert job["wait"] > timedelta(minutes=9)

        api.says({"error": {"message": "bad file", "param": "file"}}, status=400)
        row = bench.work(content_id, TRANSCRIBE)
        assert row["media"]["transcript_state"] == "none"
        assert bench.job(content_id, TRANSCRIBE)["state"] == "completed"
        assert self.spent(bench) == [("released", 0), ("released", 0)]

    def test_an_answer_that_was_lost_stays_counted_and_is_paid_for_at_most_once_more(
        self, database: Database, site: LoopbackServer, once: HttpClient, page_reader: PageReader, api: Api
    ) -> None:
        bench = works(database, once, page_reader, model=api.model)
        bench.work(content_id := episode(bench, site))
        api.answer = Answer(b"{", headers={"Content-Type": "application/json"}, content_length=50)  # cut off
        for _ in range(3):
            bench.work(content_id, TRANSCRIBE)
            bench.run("delete from breakers")
        assert [state for state, _ in self.spent(bench)] == ["reserved", "reserved"]
        assert len(api.asked) == 2
        assert bench.content(content_id)["media"]["transcript_state"] == "over_budget"
