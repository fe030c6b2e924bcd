"""Whether a reply tells of the article, or does what somebody wrote into the article for the model to do.

Nothing in it asks the model. What the reply says must be said in the article, apart from those of its sentences that
speak to a machine (``text/machine_talk.py``) and what follows on them: words that stand there alone prove nothing.
A reply about other things is refused whether any such sentence is found or not.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from siftline.analyze.llm.llm_reply import Reply
from siftline.analyze.text.sentences import split_sentences
from siftline.models.llm import Marks
from siftline.text.machine_talk import ADDRESS, MARKUP, speaks_to_machines
from siftline.text.words import stems_of

_SENTENCE_SHARE_MIN = 0.4
_SUMMARY_SHARE_MIN = 0.5
"""So much of the telling words of each sentence, and of all, the article must have; a good summary has 0.6 and more."""
_AFTER = 2
"""Sentences after one that speaks to a machine that are not trusted either."""
_SENTENCES_MIN = 4
_REST_SHARE_MAX = 0.1
"""A summary's sentence of which all other sentences of the article have no more rests on one; of fewer sentences than
four nobody can tell."""
_OPENING = 2
"""The title and the first sentence."""
_STRANGE_TAGS = 3
_STRICT_RANKS = 3
FINAL = frozenset(
    {"refused", "mark_told", "speaks_to_machines", "address_not_in_text", "not_in_text", "tags_not_in_text"}
    | {"in_one_stray_sentence"}
)
"""Reasons for which a model is not asked once more: it does not want to, or does what the text wants."""


@dataclass(frozen=True, slots=True)
class ReplyVerdict:
    """What may be used of a reply; ``reason`` is why nothing of it may."""

    reply: Reply | None
    reason: str | None = None
    dropped: int = 0
    """Topics, tags and names that were left out, as the article does not bear them."""


def judge(
    reply: Reply, marks: Marks, *, title: str, text: str, ranking: Sequence[str], same_language: bool
) -> ReplyVerdict:
    """Return what of a reply may be used.

    ``ranking`` are the topics that the first pass holds possible, best first (none: all are). Where the reply is in
    another language than the article (``same_language`` false) words cannot be compared; the rest is.
    """
    said = [reply.summary, *reply.tags, *(entity.name for entity in reply.entities)]
    if any(mark in words for mark in (marks.fence, marks.receipt) for words in said):
        return ReplyVerdict(None, "mark_told")
    if speaks_to_machines(reply.summary) or MARKUP.search(reply.summary):
        return ReplyVerdict(None, "speaks_to_machines")
    trusted, suspicious = _trusted(f"{title}\n\n{text}")
    if any(address.group().casefold() not in trusted.casefold() for address in ADDRESS.finditer(" ".join(said))):
        return ReplyVerdict(None, "address_not_in_text")
    stems = stems_of(trusted)
    if same_language and not _borne(reply.summary, stems):
        return ReplyVerdict(None, "not_in_text")
    if same_language and _of_a_stray(reply.summary, f"{title}\n\n{text}"):
        return ReplyVerdict(None, "in_one_stray_sentence")
    tags = tuple(tag for tag in reply.tags if not same_language or _share(stems_of(tag), stems) >= _SUMMARY_SHARE_MIN)
    if len(reply.tags) - len(tags) >= _STRANGE_TAGS and len(tags) < len(reply.tags) / 2:
        return ReplyVerdict(None, "tags_not_in_text")
    names = " ".join(trusted.casefold().split())
    entities = tuple(entity for entity in reply.entities if " ".join(entity.name.casefold().split()) in names)
    possible = set(ranking[:_STRICT_RANKS] if suspicious else ranking)
    topics = tuple(topic for topic in reply.topics if not possible or topic.topic in possible)
    kept = Reply(topics=topics, summary=reply.summary, tags=tags, entities=entities)
    parts = ((reply.topics, topics), (reply.tags, tags), (reply.entities, entities))
    return ReplyVerdict(kept, dropped=sum(len(before) - len(after) for before, after in parts))


def _trusted(text: str) -> tuple[str, bool]:
    """Return the text without sentences that speak to a machine and what follows on them, and whether it had any."""
    kept, distrust, found = [], 0, False
    for sentence in split_sentences(text):
        if speaks_to_machines(sentence):
            distrust, found = _AFTER + 1, True
        if distrust:
            distrust -= 1
        else:
            kept.append(sentence)
    return " ".join(kept), found


def _borne(summary: str, stems: set[str]) -> bool:
    """Tell whether the article has most of a summary's telling words, and a good part of each sentence's."""
    sentences = [stems_of(sentence) for sentence in split_sentences(summary)]
    if any(_share(found, stems) < _SENTENCE_SHARE_MIN for found in sentences):
        return False
    return _share(set().union(*sentences), stems) >= _SUMMARY_SHARE_MIN


def _of_a_stray(summary: str, text: str) -> bool:
    """Tell whether a whole summary rests on one of the article's sentences alone, which shares no word with the others.

    A summary by what title or opening say is none: news says there what it is about.
    """
    sentences = [found for found in map(stems_of, split_sentences(text)) if found]
    if len(sentences) < _SENTENCES_MIN:
        return False
    places = set()
    for said in filter(None, map(stems_of, split_sentences(summary))):
        place = max(range(len(sentences)), key=lambda at: len(said & sentences[at]))
        rest = set().union(*(found for at, found in enumerate(sentences) if at != place))
        if place < _OPENING or _share(said, rest) > _REST_SHARE_MAX or sentences[place] & rest:
            return False
        places.add(place)
    return len(places) == 1


def _share(found: set[str], stems: set[str]) -> float:
    return len(found & stems) / len(found) if found else 1.0
