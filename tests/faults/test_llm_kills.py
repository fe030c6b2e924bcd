"""Fault 19: the language model answered and billed, and the worker dies: before its answer is stored, and after."""

from collections.abc import Iterator
from typing import Any

import pytest

from siftline.analyze.text.sentences import split_sentences
from tests.faults.machine import FaultMachine
from tests.faults.postgres_proxy import Commit
from tests.faults.table import Told
from tests.language_model import MODEL, Asked, LanguageServer
from tests.servers import serving


def summary(asked: Asked) -> dict[str, Any]:
    """Say the article's own first sentences."""
    text = asked.article.split("\n", 3)[3].rpartition("\n")[0]
    return {
        "topics": [],
        "summary": " ".join(split_sentences(text)[:2]),
        "tags": [],
        "entities": [],
        "receipt": asked.receipt,
    }


@pytest.fixture
def language_model() -> Iterator[LanguageServer]:
    with serving() as server:
        served = LanguageServer(server)
        served.says = [summary]
        yield served


@pytest.mark.parametrize(
    ("when", "calls", "states"),
    [("after", 1, ["settled"]), ("before", 2, ["reserved", "settled"])],
    ids=["after the answer was stored", "between answer and storing"],
)
def test_a_worker_killed_about_a_paid_answer_pays_at_most_once_more(
    machine: FaultMachine,
    healing: Told,
    language_model: LanguageServer,
    when: Any,
    calls: int,
    states: list[str],
    fault_round: int,
) -> None:
    """Fault 19: nothing is paid again for what is stored; what is lost is repeated once, and both calls are counted."""
    settings = {
        "LLM_MODEL": MODEL,
        "LLM_BASE_URL": language_model.server.url("/v1"),
        "LLM_FOR": "always",
        "LLM_USD_PER_MILLION_IN": "1",
        "LLM_USD_PER_MILLION_OUT": "2",
    }

    def kill() -> None:
        machine.kill_worker(**settings)

    def stores(commit: Commit) -> bool:
        return commit.says("insert into llm_replies")

    machine.restart_worker(**settings)
    trap = machine.postgres.on_commit(stores, when, kill)
    (content,) = machine.save(machine.site.add_pages(1))
    trap.await_sprung()
    healing(f"19 killed {when} the model's answer was stored", machine.heal(trap.at))
    machine.restart_worker()
    assert machine.statuses([content]) == ["READY"]
    assert len(language_model.calls) == calls
    found = machine.ask("select state, micro_usd from spendings where subject_id = %s order by state", content)
    assert [state for state, _ in found] == states
    told = "select details ->> 'llm' from derivations where kind = 'summary' and content_id = %s"
    assert machine.ask(told, content) == ["used"]
