"""What a language model replied for a content, and until when it is to be left alone, in PostgreSQL."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from uuid import UUID

from psycopg.rows import class_row, scalar_row
from psycopg.types.json import Jsonb

from siftline.kit.db import Connection

_REPLY = """
select reply, reason from llm_replies
where content_id = %(content_id)s and input_sha256 = %(input_sha256)s and prompt_version = %(prompt_version)s
  and model = %(model)s
"""
_KEEP = """
insert into llm_replies (content_id, input_sha256, prompt_version, model, reply, reason)
select id, %(input_sha256)s, %(prompt_version)s, %(model)s, %(reply)s, %(reason)s
from contents where id = %(content_id)s
on conflict (content_id) do update set input_sha256 = excluded.input_sha256,
  prompt_version = excluded.prompt_version, model = excluded.model, reply = excluded.reply, reason = excluded.reason,
  made_at = now()
"""
_PAUSED = """
select extract(epoch from until - now())::float8 from provider_pauses where provider = %(provider)s and until > now()
"""
_PAUSE = """
insert into provider_pauses as known (provider, until) values (%(provider)s, now() + %(pause)s)
on conflict (provider) do update set until = greatest(known.until, excluded.until)
"""


@dataclass(frozen=True, slots=True)
class Asked:
    """What was asked of which model, in which words."""

    content_id: UUID
    input_sha256: bytes
    prompt_version: str
    model: str


@dataclass(frozen=True, slots=True)
class KeptReply:
    """What came of it: a reply as JSON, or the reason why there is none that can be used."""

    reply: dict[str, Any] | None
    reason: str | None


def kept_reply(connection: Connection, asked: Asked) -> KeptReply | None:
    """Return what the very same question brought before."""
    with connection.cursor(row_factory=class_row(KeptReply)) as cursor:
        return cursor.execute(_REPLY, _columns(asked)).fetchone()


def keep_reply(connection: Connection, asked: Asked, kept: KeptReply) -> None:
    """Keep what a question brought, in place of what the content's last one did; nothing where the content is gone."""
    reply = None if kept.reply is None else Jsonb(kept.reply)
    connection.execute(_KEEP, {**_columns(asked), "reply": reply, "reason": kept.reason})


def paused_s(connection: Connection, provider: str) -> float | None:
    """Return for how many seconds a provider is still to be left alone, or ``None``."""
    with connection.cursor(row_factory=scalar_row) as cursor:
        left: float | None = cursor.execute(_PAUSED, {"provider": provider}).fetchone()
    return left


def pause(connection: Connection, provider: str, pause_s: float) -> None:
    """Have every worker leave a provider alone for so long, if it is not for longer already."""
    connection.execute(_PAUSE, {"provider": provider, "pause": timedelta(seconds=pause_s)})


def _columns(asked: Asked) -> Mapping[str, Any]:
    return {
        "content_id": asked.content_id,
        "input_sha256": asked.input_sha256,
        "prompt_version": asked.prompt_version,
        "model": asked.model,
    }
