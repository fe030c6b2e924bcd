"""Scores as the API shows them: what they are made up of, in words and numbers, and having them made anew."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any
from uuid import UUID

from siftline.api.items import items_store
from siftline.api.items.item_models import Reason
from siftline.api.items.items_store import Freshness, ItemRow
from siftline.api.parts import Outbox
from siftline.contracts import JobType, Priority
from siftline.jobs.job_model import NewJob
from siftline.kit.db import Connection
from siftline.text.stored_scores import age, sentence

_DIGITS = 4


EVIDENCE_MIN = 1.0
"""So much (1 a star, 0.2 a reading) has a user's items scored anew; as in ``rank.scoring``."""
GATHER_S = 30.0
"""What a user stars and reads within this is one rescoring."""


def ask_for_scores(connection: Connection, outbox: Outbox, user_id: UUID, *, wait_s: float = 0.0) -> list[UUID]:
    """Enqueue a scoring of a user's items: one live job a user, however often it is asked for."""
    due_at = items_store.now(connection) + timedelta(seconds=wait_s) if wait_s else None
    job = NewJob(JobType.SCORE_USER, user_id, f"user:{user_id}", priority=Priority.SAVED, due_at=due_at)
    return outbox.enqueue(connection, job)


def learn(
    connection: Connection, outbox: Outbox, user_id: UUID, before: ItemRow, changes: Mapping[str, Any]
) -> list[UUID]:
    """Count what a change of an item says of the user's taste; returns the jobs to publish."""
    evidence = 0.0
    if "starred" in changes and changes["starred"] != (before.starred_at is not None):
        evidence += items_store.STAR_EVIDENCE
    if changes.get("read") and before.read_at is None:
        evidence += items_store.READING_EVIDENCE
    if not evidence:
        return []
    gathered = items_store.add_evidence(connection, user_id, evidence)
    if gathered is not None and gathered < EVIDENCE_MIN:
        return []
    return ask_for_scores(connection, outbox, user_id, wait_s=GATHER_S)


def reasons_of(row: ItemRow, freshness: Freshness) -> list[Reason]:
    """Return what an item's score is made up of, freshness last; nothing where it is not scored yet."""
    if row.score_reasons is None or row.relevance is None:
        return []
    share = 1.0 - freshness.freshness_weight
    reasons = [
        _reason(part["code"], sentence(part), share * part["weight"], part["value"]) for part in row.score_reasons
    ]
    return [*reasons, *freshness_reason(row, freshness)]


def freshness_of(row: ItemRow, freshness: Freshness) -> float:
    """Return how fresh an item is, from 1 down; nothing dated in the future is fresher than fresh."""
    return float(0.5 ** min(_age_s(row, freshness) / freshness.half_life_s, 1_000.0))


def freshness_reason(row: ItemRow, freshness: Freshness) -> list[Reason]:
    """Return what freshness adds to an item's score; nothing where it counts nothing."""
    if not freshness.freshness_weight:
        return []
    old = age(_age_s(row, freshness))
    detail = f"It is {old} old; its freshness halves every {age(freshness.half_life_s)}."
    return [_reason("freshness", detail, freshness.freshness_weight, freshness_of(row, freshness))]


def _age_s(row: ItemRow, freshness: Freshness) -> float:
    return max((freshness.at - row.place_at).total_seconds(), 0.0)


def _reason(code: str, detail: str, weight: float, value: float) -> Reason:
    points = round(weight * value, 6)
    return Reason(code=code, detail=detail, weight=round(weight, 6), value=round(value, _DIGITS), points=points)
