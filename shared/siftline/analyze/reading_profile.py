"""What texts are read with now, told to whoever shows the default topics or plans to read again."""

from collections.abc import Mapping

from siftline.analyze.article_reader import SOURCE, SUMMARY_VERSION, TAGS_VERSION, TOPICS_VERSION, Reader
from siftline.analyze.entities.entity_step import EntityStep, told_version
from siftline.analyze.entities.entity_wiring import open_entities
from siftline.analyze.llm.llm_prompt import prompt_version
from siftline.analyze.text import language
from siftline.analyze.topics.topic_list import Label
from siftline.catalog import reading_profile_store
from siftline.catalog.reading_profile_store import LlmProfile, ReadingProfile
from siftline.kit.db import Database
from siftline.models.llm_prices import price_of
from siftline.settings.functions import AnalyzeSettings

_MADE_HERE: Mapping[str, str] = {"topics": TOPICS_VERSION, "summary": SUMMARY_VERSION, "tags": TAGS_VERSION}


def profile_of(
    reader: Reader, labels: tuple[Label, ...], entities: EntityStep | None, llm: LlmProfile | None
) -> ReadingProfile:
    """Return what a reader, with all that comes after it, reads texts with."""
    versions = {kind: [f"{reader.model_version}/{kind}-{recipe}"] for kind, recipe in _MADE_HERE.items()}
    versions["topics"].append(f"{SOURCE}/topics-{TOPICS_VERSION}")
    versions["language"] = [language.MODEL_VERSION]
    versions["entities"] = [] if entities is None else [entities.version]
    if llm is not None and llm.asked_for != "never":
        for kind in _MADE_HERE:
            versions[kind].append(f"{llm.model}/prompt-{prompt_version()}")
        versions["entities"].append(told_version(llm.model, prompt_version()))
    topics = [
        {"id": label.id, "descriptions": {lang: ", ".join(terms) for lang, terms in sorted(label.terms.items())}}
        for label in labels
    ]
    return ReadingProfile(topics, versions, reader.label_digests, llm)


def tell_profile(settings: AnalyzeSettings, database: Database, reader: Reader) -> None:
    """Tell everybody what this reader, as these settings have it, reads texts with."""
    profile = profile_of(reader, reader.labels, open_entities(settings), _llm(settings))
    with database.transaction() as connection:
        reading_profile_store.tell(connection, profile)


def _llm(settings: AnalyzeSettings) -> LlmProfile | None:
    if not settings.llm_model:
        return None
    price = price_of(settings.llm_model, settings.llm_usd_per_million_in, settings.llm_usd_per_million_out)
    return LlmProfile(
        model=settings.llm_model,
        asked_for=settings.llm_for,
        usd_per_million_in=price.usd_per_million_in,
        usd_per_million_out=price.usd_per_million_out,
        usd_per_day=settings.llm_usd_per_day,
    )
