"""Ingest's SQL for videos and audio whose words are got in a second step."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from psycopg.rows import class_row
from psycopg.types.json import Jsonb

from siftline.ingest.ingest_store import TYPED_ORIGIN
from siftline.ingest.media.media import Media, TranscriptState, Words
from siftline.kit.db import Connection


@dataclass(frozen=True, slots=True)
class StoredMedia:
    """A content as the job that looks for its words finds it. ``text`` is what is known of it without them."""

    id: UUID
    url: str
    typed_origin: str | None
    """As that of ``siftline.ingest.ingest_store.StoredContent``."""
    kind: str
    status: str
    text: str | None
    word_count: int | None
    title: str | None
    author: str | None
    site_name: str | None
    image_url: str | None
    description: str | None
    lang: str | None
    published_at: datetime | None
    http_status: int | None
    notice_code: str | None
    media: Mapping[str, Any] | None


_LOAD = f"""
select id, url, {TYPED_ORIGIN}, kind, status, text, word_count, title, author, site_name, image_url, description, lang,
  published_at, http_status, coalesce(reading_notice_code, notice_code) as notice_code, media
from contents where id = %(id)s
"""  # noqa: S608  -- constants of ours
_LOAD_WORDS = "select state, text, word_count, language, source from transcripts where content_id = %(id)s"
_WRITE_WORDS = """
insert into transcripts (content_id, state, source, language, text, word_count)
values (%(id)s, %(state)s, %(source)s, %(language)s, %(text)s, %(word_count)s)
on conflict (content_id) do update set state = excluded.state, source = excluded.source, language = excluded.language,
  text = excluded.text, word_count = excluded.word_count, made_at = now()
"""
_WRITE = "update contents set media = %(media)s, updated_at = now() where id = %(id)s"
_WRITE_STATE = """
update contents set media = media || jsonb_build_object('transcript_state', %(state)s::text), updated_at = now()
where id = %(id)s and media is not null
"""


def load(connection: Connection, content_id: UUID, *, source_id: str | None = None) -> StoredMedia | None:
    """Return a content, or ``None`` when it was deleted; with the source whose job asks for it, if one's does."""
    with connection.cursor(row_factory=class_row(StoredMedia)) as cursor:
        return cursor.execute(_LOAD, {"id": content_id, "source_id": source_id}).fetchone()


def load_words(connection: Connection, content_id: UUID) -> Words | None:
    """Return the words that were got of a content before."""
    row = connection.execute(_LOAD_WORDS, {"id": content_id}).fetchone()
    return None if row is None else Words(TranscriptState(row[0]), *row[1:])


def write(connection: Connection, content_id: UUID, media: Media, words: Words) -> None:
    """Store what is known of a content's file, how its words were got, and the words if they were."""
    connection.execute(_WRITE, {"id": content_id, "media": Jsonb(media.told(words).row())})
    if words.text and words.state is not None:
        values = {"state": words.state.value, "source": words.source, "language": words.language}
        connection.execute(
            _WRITE_WORDS, {"id": content_id, "text": words.text, "word_count": words.word_count, **values}
        )


def write_state(connection: Connection, content_id: UUID, state: str | None) -> None:
    """Store why a content's words are not there."""
    connection.execute(_WRITE_STATE, {"id": content_id, "state": state})
