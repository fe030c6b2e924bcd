"""Topics beyond the first pass: where its lead is small, the source's habit and a dear model may change the outcome.

Below the margin two things are weighed in, both as shifts of the scores' logits. What the source mostly writes about
counts a little. And a model of inference (``nli.py``), if one is set, is asked about the best few topics, one at a
time. What it says counts by how it tells them apart: a model that answers .99 to everything changes nothing. At or
above the margin the first pass stands, whatever else is set.
"""

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from siftline.analyze.topics.topic_list import Label
from siftline.analyze.topics.topic_scoring import Topic, TopicRule, TopicVerdict

_HYPOTHESIS_TERMS = 4  # a topic's name and three of the things it is about
_LOGIT_MAX = 6.0  # beyond it a model is only more sure of itself
_FIRST = "en"


class TopicJudge(Protocol):
    """Says whether a sentence follows from a text; ``siftline.analyze.topics.nli.EntailmentModel`` is one."""

    @property
    def model_id(self) -> str:
        """The model's name."""
        ...

    @property
    def model_version(self) -> str:
        """Names everything that changes its answers."""
        ...

    @property
    def template(self) -> str:
        """The sentence it knows best; ``{}`` stands for a topic's words."""
        ...

    def entailment(self, premise: str, hypothesis: str) -> float:
        """Return how probable it is, in (0, 1), that the hypothesis follows from the premise."""
        ...


@dataclass(frozen=True, slots=True)
class CascadeRule:
    """When and how much more than the first pass counts."""

    margin: float = 0.01
    """From this lead in cosine on the first pass stands."""
    candidates: int = 4
    """Of how many topics the model is asked."""
    premise_chars: int = 1_000
    """What of a text it reads."""
    time_s: float = 5.0
    """It is asked nothing more after this; an answer for a part of the topics is no answer."""
    weight: float = 1.0
    """What its logits count beside those of the first pass."""
    prior_weight: float = 1.0
    """What it counts, in logits, that all a source writes is about a topic."""


@dataclass(frozen=True, slots=True)
class Decision:
    """The topics in the end, best first, those that count, and what was weighed in (for the derivation)."""

    ranking: tuple[Topic, ...]
    topics: tuple[Topic, ...]
    details: Mapping[str, Any]


class Cascade:
    """Decides on topics: the first pass's verdict in, the outcome out."""

    def __init__(
        self,
        labels: Sequence[Label],
        hypotheses: Mapping[str, str],
        judge: TopicJudge | None,
        rule: CascadeRule = CascadeRule(),
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._labels = {label.id: label for label in labels}
        self._hypotheses = hypotheses
        self._judge = judge
        self._rule = rule
        self._clock = clock

    def decide(
        self, text: str, language: str | None, verdict: TopicVerdict, prior: Sequence[Topic], counting: TopicRule
    ) -> Decision:
        """Return the outcome for a text; ``prior`` is what its source mostly writes about, with shares as scores."""
        judge = self._judge
        details: dict[str, Any] = {"second_pass": None if judge is None else {"outcome": "not needed"}}
        if verdict.margin >= self._rule.margin:
            return Decision(verdict.ranking, verdict.topics, details)
        shifts = {topic.topic: self._rule.prior_weight * topic.score for topic in prior if topic.topic in self._labels}
        details |= {"prior": [[topic, round(shift, 4)] for topic, shift in shifts.items()]} if shifts else {}
        if judge is not None:
            asked = [topic.topic for topic in verdict.ranking[: self._rule.candidates]]
            answers = self._ask(judge, text, language, asked)
            whole = len(answers) == len(asked)
            details["second_pass"] = {
                "outcome": "asked" if whole else "out of time",
                "model_id": judge.model_id,
                "model_version": judge.model_version,
                "entailment": [[topic, round(answer, 4)] for topic, answer in answers.items()],
            }
            shifts = _sum(shifts, _told_apart(answers, self._rule.weight)) if whole else shifts
        moved = [replace(topic, score=_shifted(topic.score, shifts.get(topic.topic, 0.0))) for topic in verdict.ranking]
        ranking = tuple(sorted(moved, key=lambda topic: -topic.score))
        return Decision(ranking, counting.counted(ranking), details)

    def hypothesis(self, topic: str, language: str | None, template: str) -> str:
        """Return a topic's sentence: in the text's language where the topic is described in it, else in English."""
        terms = self._labels[topic].terms
        if language is not None and language in terms and language in self._hypotheses:
            spoken, template = language, self._hypotheses[language]
        else:
            spoken = _FIRST if _FIRST in terms else min(terms)
        return template.replace("{}", ", ".join(terms[spoken][:_HYPOTHESIS_TERMS]))

    def _ask(self, judge: TopicJudge, text: str, language: str | None, topics: Sequence[str]) -> dict[str, float]:
        started, premise = self._clock(), text[: self._rule.premise_chars]
        answers: dict[str, float] = {}
        for topic in topics:
            if self._clock() - started >= self._rule.time_s:
                break
            answers[topic] = judge.entailment(premise, self.hypothesis(topic, language, judge.template))
        return answers


def _told_apart(answers: Mapping[str, float], weight: float) -> dict[str, float]:
    """Return how far each answer's logit lies from the mean of all, weighed."""
    logits = {topic: _logit(answer) for topic, answer in answers.items()}
    mean = sum(logits.values()) / max(len(logits), 1)
    return {topic: weight * (logit - mean) for topic, logit in logits.items()}


def _sum(one: Mapping[str, float], other: Mapping[str, float]) -> dict[str, float]:
    return {name: one.get(name, 0.0) + other.get(name, 0.0) for name in {**one, **other}}


def _shifted(score: float, shift: float) -> float:
    return round(1.0 / (1.0 + math.exp(-(_logit(score) + shift))), 4) if shift else score


def _logit(probability: float) -> float:
    inside = min(max(probability, 1e-9), 1 - 1e-9)
    return max(-_LOGIT_MAX, min(_LOGIT_MAX, math.log(inside / (1 - inside))))
