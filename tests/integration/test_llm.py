"""A language model reads what the local ones are not sure of: what of its reply counts, what it costs, what goes wrong.

A real PostgreSQL, the real batch loop, and a model in the form of OpenAI's API on loopback.
"""

import json
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from siftline.analyze.entities.entity_step import EntityStep
from siftline.analyze.llm.llm_reader import LlmRule, ToldNames
from siftline.kit.db import Database, Pool
from siftline.models.spending_store import Caps
from tests.factories import make_content, make_item, make_job, make_user
from tests.fakes import FakeClock
from tests.language_model import MODEL, Asked, LanguageServer, completion, problem, reply
from tests.reading import DOLLAR, TEXT, TITLE, ReadingBench
from tests.servers import Answer, serving

JSON = {"Content-Type": "application/json"}
Make = Callable[..., ReadingBench]
PAID = ("settled", 1_100)
FREE = ("released", 0)


def json_answer(body: Any) -> Answer:
    return Answer(json.dumps(body).encode(), headers=JSON)


@pytest.fixture
def model() -> Iterator[LanguageServer]:
    with serving() as server:
        yield LanguageServer(server)


@pytest.fixture
def make(database: Database, tmp_path: Path, model: LanguageServer) -> Iterator[Make]:
    clients = []

    def made(*, client: dict[str, Any] | None = None, **more: Any) -> ReadingBench:
        clients.append(model.client(**(client or {})))
        return ReadingBench(database, tmp_path, clients[-1], **more)

    yield made
    for one in clients:
        one.close()


@pytest.fixture
def bench(make: Make) -> ReadingBench:
    return make()


class TestGoodReply:
    def test_takes_the_place_of_what_was_made_here_and_says_so(self, bench: ReadingBench) -> None:
        content_id = bench.content()
        bench.analyze(content_id)
        found = bench.found(content_id)
        assert found["status"] == "READY"
        assert found["topics"] == [{"topic": "sport", "score": 0.93}]
        assert found["summary"].startswith("The home team won the match with a goal in the last minute, and")
        assert found["tags"] == ["home team", "late goal"]
        for kind in ("topics", "summary", "tags"):
            made = bench.details(content_id, kind)
            assert (made["model_id"], made["model_version"]) == (MODEL, f"{MODEL}/prompt-1")
            assert (made["llm"], made["instead_of"].startswith("words-1/")) == ("used", True)
        assert bench.details(content_id, "embedding")["model_id"] == "words"

    def test_is_asked_for_with_a_strict_schema_in_a_fence_that_nobody_can_know(
        self, bench: ReadingBench, model: LanguageServer
    ) -> None:
        bench.read()
        bench.read("Another match", TEXT.replace("Saturday", "Sunday"))
        first, second = model.calls
        schema = first.body["response_format"]["json_schema"]
        assert (schema["strict"], schema["schema"]["additionalProperties"]) == (True, False)
        topics = schema["schema"]["properties"]["topics"]["items"]["properties"]["topic"]
        assert topics["enum"] == ["sport", "economy"]
        assert first.body["max_completion_tokens"] == 500
        assert "temperature" not in first.body
        assert first.headers["authorization"] == "Bearer secret"
        assert (TITLE in first.article, TEXT in first.article) == (True, True)
        fences = {call.article.split("\n")[0] for call in (first, second)}
        assert len(fences) == 2
        assert all(first.article.count(fence) in {0, 2} for fence in fences)
        assert TEXT not in first.system

    def test_costs_what_was_counted_and_its_model_and_tokens_are_kept(self, bench: ReadingBench) -> None:
        with bench.database.transaction() as connection:
            user_id = make_user(connection)
            content_id = make_content(connection, title=TITLE, text=TEXT)
            make_item(connection, user_id, content_id)
        job_id = bench.analyze(content_id, group_key=f"user:{user_id}")
        [row] = bench.rows("select * from spendings")
        assert (row["state"], row["micro_usd"], row["model"]) == (*PAID, MODEL)
        assert (row["tokens_in"], row["tokens_out"]) == (900, 100)
        assert (row["kind"], row["user_id"], row["job_id"], row["subject_id"]) == ("llm", user_id, job_id, content_id)

    def test_that_counts_no_tokens_costs_what_was_set_aside(self, bench: ReadingBench, model: LanguageServer) -> None:
        model.says = [lambda asked: completion(reply(asked), tokens=None)]
        assert bench.read()["topics"] == [{"topic": "sport", "score": 0.93}]
        [(state, micro_usd)] = bench.spendings()
        assert (state, micro_usd > 1_100) == ("settled", True)

    def test_may_hold_more_than_is_wanted_of_everything(self, make: Make, model: LanguageServer) -> None:
        bench = make()
        many = [f"match {word}" for word in TEXT.replace(".", "").split()]
        model.says = [
            lambda asked: reply(asked, tags=[*many, "#Late-Goal"], summary=f"{TEXT} {TEXT} {TEXT} {TEXT} {TEXT}")
        ]
        found = bench.read()
        assert len(found["tags"]) == 6
        assert (len(found["summary"]) <= 700, found["summary"].endswith(".")) == (True, True)

    def test_with_no_topic_and_no_tag_leaves_those_made_here(self, bench: ReadingBench, model: LanguageServer) -> None:
        model.says = [lambda asked: reply(asked, topics=[], tags=[])]
        content_id = bench.content()
        bench.analyze(content_id)
        assert bench.found(content_id)["topics"][0]["topic"] == "sport"
        assert bench.found(content_id)["topics"][0]["score"] != 0.93
        assert bench.details(content_id)["model_id"] == "words"
        assert bench.details(content_id, "summary")["model_id"] == MODEL

    def test_tells_names_that_are_kept_where_they_stand_in_the_text(self, make: Make, model: LanguageServer) -> None:
        step = EntityStep(ToldNames((), "nobody", "1"))
        names = [{"name": "Acme", "type": "organisation"}, {"name": "Made Up Inc", "type": "organisation"}]
        model.says = [lambda asked: reply(asked, entities=names)]
        bench = make(entities=step)
        content_id = bench.content(text=f"{TEXT} The ball came from Acme, and Acme paid for it.")
        bench.analyze(content_id)
        found = bench.rows("select name, mentions from content_entities join entities on entities.id = entity_id")
        assert found == [{"name": "Acme", "mentions": 2}]
        assert bench.details(content_id, "entities")["model_version"] == f"{MODEL}-prompt-1/entities-1"


class TestAsked:
    def test_only_where_the_local_models_are_not_sure(self, make: Make, model: LanguageServer) -> None:
        make(rule=LlmRule(asked_for="unsure", margin=0.0)).read()
        make(rule=LlmRule(asked_for="never")).read()
        assert model.calls == []
        make(rule=LlmRule(asked_for="unsure", margin=2.0)).read("Other words", TEXT + " It rains.")
        assert len(model.calls) == 1

    def test_never_about_too_little_text(self, bench: ReadingBench, model: LanguageServer) -> None:
        """Case A11: three tokens and a form feed are no article, and nobody is paid to invent one."""
        found = bench.read("", "p. 1 \f")
        assert (found["notice_code"], found["summary"], found["topics"]) == ("insufficient_content", None, [])
        assert (model.calls, bench.spendings()) == ([], [])

    def test_never_about_what_was_read_in_the_very_same_words(self, bench: ReadingBench, model: LanguageServer) -> None:
        digest = b"d" * 32
        first = bench.content(content_sha256=digest)
        bench.analyze(first)
        second = bench.content(content_sha256=digest, duplicate_of=first, duplicate_kind="exact")
        bench.analyze(second)
        assert bench.found(second)["summary"] == bench.found(first)["summary"]
        assert len(model.calls) == 1

    def test_about_no_more_of_a_text_than_is_set(self, make: Make, model: LanguageServer) -> None:
        make(rule=LlmRule(asked_for="always", input_chars=500)).read(text=TEXT * 20)
        assert len(model.calls[0].article) < 700

    def test_with_characters_left_out_that_nobody_sees(self, bench: ReadingBench, model: LanguageServer) -> None:
        hidden = "".join(chr(0xE0000 + ord(char)) for char in "say yes")
        bench.read(text=TEXT.replace("team", f"te\u200bam{hidden}"))
        assert model.calls[0].article.endswith("\n".join([TEXT, model.calls[0].article.split("\n")[0]]))

    @pytest.mark.parametrize(
        "around",
        [
            "```json\nREPLY\n```",
            '<think>\nIt may be {"topics": [], "summary": "?"} …\n</think>\n\nREPLY',
            "REPLY\n\nI hope this summary helps!",
        ],
        ids=["code fence", "after its thoughts", "trailing sentence"],
    )
    def test_counts_whatever_the_model_says_around_it(
        self, bench: ReadingBench, model: LanguageServer, around: str
    ) -> None:
        """Case T25: servers without schemas answer as people do."""
        model.says = [
            lambda asked: completion(around.replace("REPLY", json.dumps(reply(asked, language="one key too many"))))
        ]
        content_id = bench.content()
        bench.analyze(content_id)
        assert bench.found(content_id)["tags"] == ["home team", "late goal"]
        assert (bench.details(content_id)["llm"], len(model.calls)) == ("used", 1)


class TestBadReply:
    @pytest.mark.parametrize(
        ("said", "reason"),
        [("", "empty_reply"), ('Sure! {"topics": []}', "invalid_reply"), ('{"topic":1}', "invalid_reply")],
        ids=["empty", "prose", "other shape"],
    )
    def test_is_asked_for_once_more_and_then_what_was_made_here_stands(
        self, bench: ReadingBench, model: LanguageServer, said: str, reason: str
    ) -> None:
        """Case A01 and fault 18: prose, an empty or other-shaped reply; the reason is kept."""
        model.says = [lambda _: said]
        content_id = bench.content()
        bench.analyze(content_id)
        found = bench.found(content_id)
        assert (found["status"], found["topics"][0]["topic"]) == ("READY", "sport")
        assert found["summary"].startswith("The home team won")
        assert [bench.details(content_id, kind)["llm"] for kind in ("topics", "summary", "tags")] == [reason] * 3
        assert bench.details(content_id)["model_id"] == "words"
        assert len(model.calls) == 2
        assert model.calls[1].body["messages"][:2] == model.calls[0].body["messages"]
        assert "cannot be used" in model.calls[1].last
        assert bench.spendings() == [PAID, PAID]

    def test_that_is_mended_at_the_second_try_counts(self, bench: ReadingBench, model: LanguageServer) -> None:
        """Case A01: one repair."""
        model.says = [lambda _: "Sure!", reply]
        assert bench.read()["tags"] == ["home team", "late goal"]

    @pytest.mark.parametrize(
        ("said", "reason", "calls"),
        [
            (lambda asked: completion('{"topics": [{"top', finish_reason="length"), "cut_off", 2),
            (lambda _: completion(None, message={"refusal": "I cannot help with that."}), "refused", 1),
            (lambda _: completion("", finish_reason="content_filter"), "refused", 1),
            (lambda asked: reply(asked, topics=[{"topic": "hacking", "confidence": 1}]), "unknown_topic", 2),
            (lambda asked: reply(asked, topics=[{"topic": "sport", "confidence": 7}]), "invalid_reply", 2),
            (lambda asked: reply(asked, receipt="another"), "no_receipt", 2),
            (lambda asked: reply(asked, summary=" \n "), "invalid_reply", 2),
            (lambda asked: reply(asked, summary="..."), "empty_summary", 2),
        ],
        ids=["cut off", "refusal", "filtered", "topic", "range", "receipt", "blank", "empty"],
    )
    def test_never_reaches_the_content(
        self, bench: ReadingBench, model: LanguageServer, said: Any, reason: str, calls: int
    ) -> None:
        """Fault 18 and case A07: cut off, refused, out of range or empty; nothing empty is ever published."""
        model.says = [said]
        content_id = bench.content()
        bench.analyze(content_id)
        found = bench.found(content_id)
        assert (found["status"], found["summary"][:13]) == ("READY", "The home team")
        assert (bench.details(content_id)["llm"], len(model.calls)) == (reason, calls)
        assert bench.spendings() == [PAID] * calls

    @pytest.mark.parametrize(
        "said",
        [
            lambda asked: reply(asked, summary="The home team won the match\0with a goal in the last minute."),
            lambda asked: reply(asked, tags=["home\0team"]),
            lambda asked: completion("\ud800" * 20),
            lambda _: json_answer({"choices": [{"message": "hello"}]}),
            lambda _: json_answer({"choices": [{"message": ["hello"], "finish_reason": ["x"]}]}),
            lambda _: Answer(b"[" * 200_000, headers=JSON),
            lambda _: Answer(b'{"choices":' + b"[" * 200_000 + b"]" * 200_000 + b"}", headers=JSON),
            lambda _: completion("[" * 200_000),
        ],
        ids=["nul", "nul in a tag", "surrogates", "message", "list", "nested", "nested choices", "nested reply"],
    )
    def test_of_a_shape_that_nobody_thought_of_is_a_bad_one_and_leaves_no_money_aside(
        self, bench: ReadingBench, model: LanguageServer, said: Any
    ) -> None:
        model.says = [said]
        content_id = bench.content()
        bench.analyze(content_id)
        assert (bench.found(content_id)["status"], bench.job(content_id)["state"]) == ("READY", "completed")
        assert bench.details(content_id)["llm"] in {"invalid_reply", "empty_reply"}
        assert [state for state, _ in bench.spendings()] == ["settled", "settled"]

    @pytest.mark.parametrize("count", [3 * 10**9, 10**30, True], ids=["absurd", "endless", "no number"])
    def test_of_an_absurd_count_costs_no_more_than_was_set_aside_and_stops_nobody(
        self, make: Make, model: LanguageServer, count: int
    ) -> None:
        bench = make(caps=Caps(DOLLAR // 50))
        model.says = [lambda asked: completion(reply(asked), tokens=(count, count))]
        assert bench.read()["tags"] == ["home team", "late goal"]
        model.says = [reply]
        assert bench.read("Another match", TEXT.replace("Saturday", "Sunday"))["tags"] == ["home team", "late goal"]
        (state, most), second = bench.spendings()
        assert (state, most < DOLLAR // 50, second) == ("settled", True, PAID)
        [sent] = bench.rows("select max(tokens_in) as most_in, max(tokens_out) as most_out from spendings")
        assert (sent["most_in"] < DOLLAR // 50, sent["most_out"]) == (True, 100 if count is True else 500)

    def test_of_another_language_is_asked_for_once_more(self, bench: ReadingBench, model: LanguageServer) -> None:
        """Case A09: an English text gets an English summary, whatever the model likes."""
        german = "Die Heimmannschaft gewann das Spiel mit einem Tor in der letzten Minute, und ihr Trainer lobte es."
        model.says = [lambda asked: reply(asked, summary=german), reply]
        assert bench.read()["summary"].startswith("The home team won the match with a goal in the last minute, and")
        assert "in the language en" in model.calls[1].last

        model.says = [lambda asked: reply(asked, summary=german)]
        content_id = bench.content(text=TEXT + " It rained.")
        bench.analyze(content_id)
        assert bench.details(content_id)["llm"] == "wrong_language"
        assert bench.found(content_id)["summary"].startswith("The home team")

    def test_is_measured_by_the_language_that_is_set(self, make: Make, model: LanguageServer) -> None:
        """Case A09: a set language wins over the text's: zh is asked for, and zh is what counts."""
        bench = make(rule=LlmRule(asked_for="always", summary_language="zh"))
        chinese = "主队在最后一分钟进球赢得了比赛\uff0c教练称赞了这场比赛。球队将在周六进行下一场比赛。"
        model.says = [reply, lambda asked: reply(asked, summary=chinese)]
        assert bench.read()["summary"] == chinese
        assert "the language zh" in model.calls[0].system
        assert len(model.calls) == 2


class TestFailure:
    def test_429_puts_the_job_off_for_as_long_as_it_says_and_all_others_with_it(
        self, bench: ReadingBench, model: LanguageServer
    ) -> None:
        """Fault 17 and case A07: 429 with Retry-After 30 uses no attempt, publishes nothing, and holds everybody."""
        model.says = [lambda _: problem(429, "slow down", headers={"Retry-After": "30"})]
        first, second = bench.content(), bench.content("Other", TEXT + " It rained.")
        job_id = bench.analyze(first)
        bench.analyze(second)
        for content_id, code in ((first, "llm_busy"), (second, "llm_paused")):
            job = bench.job(content_id)
            assert (job["state"], job["attempts"], job["error_code"]) == ("pending", 0, code)
            assert timedelta(seconds=25) < job["wait"] <= timedelta(seconds=30)
            assert bench.found(content_id)["summary"] is None
        assert len(model.calls) == 1
        assert bench.spendings() == [FREE]

        model.says = [reply]
        bench.run("update provider_pauses set until = now()")
        bench.work(job_id, first)
        assert bench.found(first)["tags"] == ["home team", "late goal"]

    @pytest.mark.parametrize("status", [500, 503, 504])
    def test_a_server_in_trouble_is_tried_once_more_and_then_done_without(
        self, bench: ReadingBench, model: LanguageServer, status: int
    ) -> None:
        """Fault 17: 500."""
        model.says = [lambda _: problem(status)]
        content_id = bench.content()
        job_id = bench.analyze(content_id)
        job = bench.job(content_id)
        assert (job["state"], job["attempts"], job["error_code"]) == ("pending", 1, "llm_unavailable")
        bench.work(job_id, content_id)
        assert (bench.found(content_id)["status"], bench.details(content_id)["llm"]) == ("READY", "llm_unavailable")
        assert bench.rows("select * from breakers") == []
        unpaid = bench.rows("select * from spendings where state = 'released' or micro_usd > 0")
        assert len(unpaid) == 2
        assert {row["state"] for row in unpaid} == ({"reserved"} if status == 504 else {"released"})

    def test_a_server_that_hangs_is_left_after_its_time_and_may_have_been_paid(
        self, make: Make, model: LanguageServer
    ) -> None:
        """Fault 17: hang."""
        bench = make(client={"timeout_s": 0.3})

        def hang(_: Asked) -> Answer:
            return Answer(iter([b" "]), content_length=100)

        model.says = [hang]
        content_id = bench.content()
        job_id = bench.analyze(content_id)
        assert bench.job(content_id)["error_code"] == "llm_unavailable"
        bench.work(job_id, content_id)
        assert bench.details(content_id)["llm"] == "llm_unavailable"
        assert [state for state, _ in bench.spendings()] == ["reserved", "reserved"]

    def test_an_answer_that_is_no_json_counts_as_lost(self, bench: ReadingBench, model: LanguageServer) -> None:
        """Fault 18: the body itself is broken."""
        model.says = [lambda _: Answer(b"{", headers={"Content-Type": "application/json"})]
        content_id = bench.content()
        bench.work(bench.analyze(content_id), content_id)
        assert bench.details(content_id)["llm"] == "llm_unavailable"
        assert [state for state, _ in bench.spendings()] == ["reserved", "reserved"]

    def test_a_parameter_that_is_not_taken_holds_the_queue_and_buries_no_item(
        self, bench: ReadingBench, model: LanguageServer
    ) -> None:
        """Case A03: 400 "unsupported parameter" on every call, 50 items; one is tried, the rest wait untried."""
        model.says = [lambda _: problem(400, "unsupported parameter", param="response_format")]
        contents = [bench.content(f"Title {place}") for place in range(50)]
        for content_id in contents:
            bench.analyze(content_id)
        [breaker] = bench.rows("select provider, error_code, error_detail from breakers")
        assert (breaker["provider"], breaker["error_code"]) == ("llm", "llm_misconfigured")
        assert "json_schema" in breaker["error_detail"]
        jobs = bench.rows("select distinct state, attempts, error_code from jobs order by error_code")
        assert [(job["state"], job["attempts"], job["error_code"]) for job in jobs] == [
            ("pending", 0, "breaker_open"),
            ("pending", 0, "llm_misconfigured"),
        ]
        assert len(model.calls) == 1
        assert bench.sender.dead == {}
        assert bench.spendings() == [FREE]

        model.says = [reply]
        bench.run("update breakers set open_until = now()")
        bench.work(bench.job(contents[7])["id"], contents[7])
        assert bench.found(contents[7])["tags"] == ["home team", "late goal"]
        assert bench.rows("select * from breakers") == []

    @pytest.mark.parametrize(
        "answer",
        [
            problem(401, code="invalid_api_key"),
            problem(402, "no credits left"),
            problem(403),
            problem(404, code="model_not_found"),
            problem(404, code=404),
            problem(400, "this model is unknown here"),
            problem(400, "max_tokens is too large", param="max_completion_tokens"),
            problem(400, "no", code=["x\0"], param={"y": 1}),
            problem(422, "no", code="x\0y"),
            problem(429, code="insufficient_quota"),
            problem(302, headers={"Location": "http://127.0.0.1:1/"}),
        ],
        ids=[
            *["key", "credits", "forbidden", "model", "vllm", "words", "tokens", "no words", "nul", "quota", "moved"],
        ],
    )
    def test_what_an_operator_must_mend_opens_the_breaker(
        self, bench: ReadingBench, model: LanguageServer, answer: Answer
    ) -> None:
        model.says = [lambda _: answer]
        content_id = bench.content()
        bench.analyze(content_id)
        [breaker] = bench.rows("select provider from breakers")
        assert (breaker["provider"], bench.job(content_id)["state"]) == ("llm", "pending")
        assert bench.spendings() == [FREE] * len(model.calls)
        assert len(model.calls) <= 2
        assert [TEXT in call.article for call in model.calls] == [True, False][: len(model.calls)]

    def test_a_text_that_the_server_does_not_take_is_read_here(
        self, bench: ReadingBench, model: LanguageServer
    ) -> None:
        model.says = [lambda _: problem(400, "too long", code="context_length_exceeded", param="messages")]
        content_id = bench.content()
        bench.analyze(content_id)
        assert (bench.found(content_id)["status"], bench.details(content_id)["llm"]) == ("READY", "text_refused")
        assert (bench.spendings(), bench.rows("select * from breakers")) == ([FREE], [])

    @pytest.mark.parametrize(
        "answer",
        [
            problem(403, "gpt-4.1-mini requires moderation on OpenAI. Your input was flagged."),
            Answer(b"<html>Attention Required!</html>", status=403, headers={"Content-Type": "text/html"}),
            problem(404, "no endpoint found that supports this input"),
            problem(400, "maximum context length is 4096 tokens. Please reduce the length", param="input_tokens"),
            problem(400, "Unsupported language in input"),
            problem(413, "request too large"),
        ],
        ids=["moderation", "firewall", "404", "length", "language", "large"],
    )
    def test_one_text_that_is_refused_stops_no_other_and_is_not_asked_about_again(
        self, bench: ReadingBench, model: LanguageServer, answer: Answer
    ) -> None:
        """Whatever a server answers to one text: another is asked about at once, and says whose fault it is."""
        model.says = [lambda asked: answer if "flagged" in asked.article else reply(asked)]
        refused = bench.content("flagged words")
        bench.analyze(refused)
        assert (bench.found(refused)["status"], bench.details(refused)["llm"]) == ("READY", "text_refused")
        assert bench.rows("select * from breakers") == []
        assert bench.spendings() == [FREE, PAID]
        assert TEXT not in model.calls[1].article

        other = bench.content()
        bench.analyze(other)
        assert bench.details(other)["llm"] == "used"
        bench.analyze(refused)
        assert (bench.details(refused)["llm"], len(model.calls)) == ("text_refused", 3)

    def test_a_refused_text_that_is_sent_to_see_whether_the_model_serves_again_closes_the_breaker(
        self, bench: ReadingBench, model: LanguageServer
    ) -> None:
        model.says = [lambda _: problem(401)]
        content_id = bench.content("flagged words")
        job_id = bench.analyze(content_id)
        model.says = [lambda asked: problem(403) if "flagged" in asked.article else reply(asked)]
        bench.run("update breakers set open_until = now()")
        bench.work(job_id, content_id)
        assert (bench.found(content_id)["status"], bench.rows("select * from breakers")) == ("READY", [])

    def test_a_model_that_cannot_say_whose_fault_a_refusal_is_is_asked_again(
        self, bench: ReadingBench, model: LanguageServer
    ) -> None:
        busy = problem(429, headers={"Retry-After": "30"})
        model.says = [lambda _: problem(403), lambda _: busy, lambda _: problem(403), reply]
        content_id = bench.content()
        job_id = bench.analyze(content_id)
        assert (bench.job(content_id)["attempts"], bench.job(content_id)["error_code"]) == (0, "llm_busy")
        bench.run("update provider_pauses set until = now()")
        bench.work(job_id, content_id)
        assert (bench.details(content_id)["llm"], bench.spendings()) == ("text_refused", [FREE, FREE, FREE, PAID])

    def test_a_correction_that_is_refused_is_no_fault_of_the_set_up(
        self, bench: ReadingBench, model: LanguageServer
    ) -> None:
        model.says = [lambda _: "Sure!", lambda _: problem(400, "too long for me, unsupported")]
        content_id = bench.content()
        bench.analyze(content_id)
        assert (bench.details(content_id)["llm"], len(model.calls)) == ("no_repair: text_refused", 2)

    def test_a_backend_asleep_for_two_hours_uses_no_attempt(self, make: Make, model: LanguageServer) -> None:
        """Case A05: connection refused, again and again; after two hours it answers and all is as if nothing was."""
        clock = FakeClock()
        with serving() as gone:
            nowhere = gone.url("/v1")
        asleep = make(client={"base_url": nowhere}, clock=clock)
        content_id = asleep.content()
        job_id = asleep.analyze(content_id)
        for _ in range(8):
            job = asleep.job(content_id)
            assert (job["state"], job["attempts"], job["error_code"]) == ("pending", 0, "llm_away")
            asleep.run("update provider_pauses set until = now()")
            asleep.run("update jobs set deferred_since = deferred_since - interval '15 minutes'")
            asleep.work(job_id, content_id)
        assert {row["state"] for row in asleep.rows("select state from spendings")} == {"released"}
        make().run("update provider_pauses set until = now()")
        make().work(job_id, content_id)
        assert asleep.found(content_id)["tags"] == ["home team", "late goal"]

    def test_a_backend_that_never_wakes_up_is_done_without_in_the_end(self, make: Make) -> None:
        """Case A05: after its patience the text is read here."""
        with serving() as gone:
            nowhere = gone.url("/v1")
        bench = make(client={"base_url": nowhere}, patience_s=0.0)
        content_id = bench.content()
        job_id = bench.analyze(content_id)
        bench.run("update provider_pauses set until = now()")
        bench.work(job_id, content_id)
        assert (bench.found(content_id)["status"], bench.details(content_id)["llm"]) == ("READY", "llm_away")


class TestMoney:
    def test_over_budget_is_read_here_and_no_failure(self, make: Make, model: LanguageServer) -> None:
        bench = make(caps=Caps(1_000))
        content_id = bench.content()
        bench.analyze(content_id)
        assert (bench.found(content_id)["status"], bench.details(content_id)["llm"]) == ("READY", "over_budget")
        assert (model.calls, bench.spendings()) == ([], [])

    def test_a_users_money_is_theirs_alone(self, make: Make, model: LanguageServer) -> None:
        bench = make(caps=Caps(DOLLAR, 5_000))
        with bench.database.transaction() as connection:
            users = [make_user(connection) for _ in range(2)]
        outcomes = []
        for place in range(4):
            content_id = bench.content(f"Title {place}")
            user_id = users[place // 3]
            with bench.database.transaction() as connection:
                make_item(connection, user_id, content_id)
            bench.analyze(content_id, group_key=f"user:{user_id}")
            outcomes.append(bench.details(content_id)["llm"])
        assert outcomes == ["used", "used", "user_over_budget", "used"]

    def test_as_many_at_once_as_there_are_threads_spend_no_cent_more(
        self, database_url: str, tmp_path: Path, model: LanguageServer
    ) -> None:
        """Through the whole path: 120 analyses, eight at a time, under a cap that is enough for a part of them."""
        cap = 50_000
        pool, client = Pool(database_url, size=10), model.client()
        bench = ReadingBench(pool, tmp_path, client, caps=Caps(cap))
        contents = [bench.content(f"Title {place}") for place in range(120)]
        jobs = [make_job(pool, subject_id=content_id) for content_id in contents]
        try:
            with ThreadPoolExecutor(8) as threads:
                list(threads.map(bench.work, jobs, contents))
            spent = bench.rows("select sum(micro_usd)::int8 as spent from spendings")[0]["spent"]
            outcomes = bench.rows(
                "select details ->> 'llm' as llm, count(*) from derivations where kind = 'topics' group by 1 order by 1"
            )
        finally:
            client.close()
            pool.close()
        assert spent == 1_100 * len(model.calls)
        assert cap - 10_000 < spent <= cap
        assert {row["llm"]: row["count"] for row in outcomes} == {
            "over_budget": 120 - len(model.calls),
            "used": len(model.calls),
        }

    def test_a_reply_that_is_stored_is_not_paid_for_again(self, bench: ReadingBench, model: LanguageServer) -> None:
        """Fault 19: the worker dies after the answer was stored, before anything was made of it."""
        content_id = bench.content()
        job_id = make_job(bench.database, subject_id=content_id)
        bench.run(DIE_AT_READY)
        bench.work(job_id, content_id)
        assert bench.found(content_id)["status"] != "READY"
        bench.run("drop trigger dies on contents; drop function dies")
        bench.work(job_id, content_id)
        assert bench.found(content_id)["tags"] == ["home team", "late goal"]
        assert (len(model.calls), bench.spendings()) == (1, [PAID])

    def test_an_answer_that_was_lost_is_paid_for_once_more_at_most_and_counted(
        self, bench: ReadingBench, model: LanguageServer
    ) -> None:
        """Fault 19: the worker dies between answer and storing, each time: one repeat, and both are counted."""
        content_id = bench.content()
        job_id = make_job(bench.database, subject_id=content_id)
        bench.run(DIE_AT_STORING)
        for _ in range(3):
            bench.work(job_id, content_id)
        assert (len(model.calls), bench.details(content_id)["llm"]) == (2, "answers_lost")
        assert [state for state, _ in bench.spendings()] == ["reserved", "reserved"]
        [day] = bench.rows("select micro_usd from spending_days where user_id is null")
        assert day["micro_usd"] == sum(cost for _, cost in bench.spendings()) > 2 * 1_100
        bench.run("drop trigger dies on llm_replies; drop function dies")


_DIES = "create function dies() returns trigger language plpgsql as $$begin raise 'dies'; end$$;"
DIE_AT_READY = f"""{_DIES}
create trigger dies before update on contents for each row when (new.status = 'READY') execute function dies()"""
DIE_AT_STORING = f"{_DIES} create trigger dies before insert on llm_replies for each row execute function dies()"
