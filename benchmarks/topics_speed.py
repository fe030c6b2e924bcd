"""How fast topics are found, beside one pair of text and sentence a topic: the speed of P8 (``topics.py``).

Both run on the same int8 graph and the same tokens, so that their ratio is that of the shapes; transformers' own
pipeline has torch and float32 besides. Last, the cascade with its own margin on articles from both sides of it: only
below may the outcome change.
"""

import os
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from statistics import mean
from typing import TYPE_CHECKING

from benchmarks.report import Report, median_ms, ratio, timed
from layers.model import export
from siftline.analyze.analyze_wiring import JUDGED_TOKENS
from siftline.analyze.article_reader import Article
from siftline.analyze.topics.cascade import Cascade, CascadeRule
from siftline.analyze.topics.nli import open_entailment
from siftline.analyze.topics.topic_list import shipped_hypotheses
from siftline.analyze.topics.topic_scoring import TopicRule, Verdict

if TYPE_CHECKING:
    from benchmarks.topics import Stream

ROOT = Path(__file__).resolve().parent.parent
NLI = ROOT / ".local" / "models" / "random-mdeberta-base"
TOPICS, BESIDE = 20, 8
REACH_RATIO, REACH_MS = 20, 50
_FLOOR = "made with the environment of make export-model, which is not installed"


def speed(report: Report, stream: "Stream", articles: Sequence[Article], scratch: Path) -> None:
    """Tell how long articles take: the first pass, the second, both, and one pair of text and sentence a topic."""
    labels = stream.anchor_cache.labels
    for article in (articles[0], articles[-1]):  # the first in a language waits for the topics' directions in it
        stream.read(article)
    seconds, verdicts = zip(*(timed(lambda article=article: stream.read(article)) for article in articles), strict=True)
    margin = CascadeRule().margin
    unsure = mean(verdict.margin < margin for _, verdict in verdicts)
    report.tell({"articles": len(articles), "topics": TOPICS, "first pass, ms an article": median_ms(seconds)})
    report.tell({"below the margin": f"{unsure:.1%} (TOPIC_MARGIN {margin})"})
    if not _made():
        report.tell({"second pass and zero-shot pipeline": f"not measured: {_FLOOR}"})
        return
    judge = open_entailment(str(NLI), str(scratch), tokens_max=JUDGED_TOKENS)
    rule = CascadeRule(margin=2.0, time_s=3_600)
    pass_two = Cascade(labels, shipped_hypotheses(), judge, rule)
    pipeline = Cascade(labels, shipped_hypotheses(), judge, CascadeRule(margin=2.0, candidates=TOPICS, time_s=3_600))
    one, two, naive = [], [], []
    for article in articles[:: len(articles) // BESIDE][:BESIDE]:
        spent, (language, verdict) = timed(lambda article=article: stream.read(article))
        one.append(spent)
        for cascade, kept in ((pass_two, two), (pipeline, naive)):
            kept.append(timed(lambda: cascade.decide(article.whole, language, verdict, (), TopicRule()))[0])  # noqa: B023 - called here
    whole = [first + unsure * second for first, second in zip(one, two, strict=True)]
    report.table(
        f"{BESIDE} articles read all ways in turn, medians (reach: cascade >= {REACH_RATIO} x, <= {REACH_MS} ms)",
        [
            {"way": "first pass alone", "ms an article": median_ms(one), "pipeline / this": ratio(naive, one)},
            {"way": "second pass, where asked", "ms an article": median_ms(two), "pipeline / this": ratio(naive, two)},
            {
                "way": "cascade, on the average",
                "ms an article": median_ms(whole),
                "pipeline / this": ratio(naive, whole),
            },
            {"way": f"pipeline, {TOPICS} pairs", "ms an article": median_ms(naive), "pipeline / this": 1.0},
        ],
    )
    share = mean(unsure * second / first for first, second in zip(whole, two, strict=True))
    report.tell(
        {"the second pass's share of the cascade's time": f"{share:.0%}", "load then": f"{os.getloadavg()[0]:.1f}"}
    )
    own = Cascade(labels, shipped_hypotheses(), judge, CascadeRule(margin=margin, time_s=3_600))
    _sides(report, own, list(zip(articles, verdicts, strict=True)), margin)


def _sides(
    report: Report, cascade: Cascade, read: Sequence[tuple[Article, tuple[str, Verdict]]], margin: float
) -> None:
    """Tell on which side of the margin the second pass was asked, and where it changed something."""
    rows = []
    for side, chosen in (("below", [one for one in read if one[1][1].margin < margin]),
                         ("from it on", [one for one in read if one[1][1].margin >= margin])):  # fmt: skip
        some = chosen[:: max(len(chosen) // BESIDE, 1)][:BESIDE]
        decided = [
            (verdict, cascade.decide(article.whole, language, verdict, (), TopicRule()))
            for article, (language, verdict) in some
        ]
        rows.append(
            {
                "margin": side,
                "articles": len(some),
                "asked": sum(made.details["second_pass"]["outcome"] == "asked" for _, made in decided),
                "scores changed": sum(made.ranking != verdict.ranking for verdict, made in decided),
                "best topic changed": sum(
                    made.ranking[0].topic != verdict.ranking[0].topic for verdict, made in decided
                ),
            }
        )
    report.table("the second pass of random weights on both sides of the margin", rows)


def _made() -> bool:
    """Make the cross-encoder unless it is there; say whether it is."""
    if (NLI / "manifest.json").is_file():
        return True
    if not export.OPTIMUM.is_file():
        return False
    with tempfile.TemporaryDirectory() as scratch:
        program = Path(__file__).with_name("random_deberta.py")
        weights = Path(scratch) / NLI.name
        subprocess.run([export.OPTIMUM.with_name("python"), "-P", program, weights, "--full"], check=True)
        export.export(str(weights), NLI, "nli", proven=False)
    return True
