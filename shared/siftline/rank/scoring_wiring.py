"""Where scoring is put together."""

from collections.abc import Callable

from siftline.jobs.jobs_wiring import Producer
from siftline.kit.clock import Clock
from siftline.kit.db import Database
from siftline.rank.interest_profile import Directions
from siftline.rank.score import Weights
from siftline.rank.scoring import ScoreUser, ScoringRule
from siftline.settings.functions import AnalyzeSettings


def open_scoring(
    settings: AnalyzeSettings,
    parts: Producer,
    open_directions: Callable[[AnalyzeSettings, Database, Clock], Callable[[], Directions]],
) -> ScoreUser:
    """Return the work of ``score_user``; directions come from the room that reads texts."""
    rule = ScoringRule(
        weights=Weights(
            interest=settings.score_interest_weight,
            history=settings.score_history_weight,
            topics=settings.score_topics_weight,
            source=settings.score_source_weight,
        ),
        interests_max=settings.score_interests_max,
        history_days=settings.score_history_days,
        history_half_life_days=settings.score_history_half_life_days,
        evidence_min=settings.score_evidence_min,
        work_s=settings.score_user_s,
    )
    return ScoreUser(parts.database, open_directions(settings, parts.database, parts.clock), parts.clock, rule)
