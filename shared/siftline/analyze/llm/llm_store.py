"""What a language model replied for a content, in PostgreSQL."""

from dataclasses import asdict, dataclass
from typing import Any
from uuid import UUID

from psycopg.rows import class_row
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
        return cursor.execute(_REPLY, asdict(asked)).fetchone()


def keep_reply(connection: Connection, asked: Asked, kept: KeptReply) -> None:
    """Keep what a question brought, in place of what the content's last one did; nothing where the content is gone."""
    reply = None if kept.reply is None else Jsonb(kept.reply)
    connection.execute(_KEEP, {**asdict(asked), "reply": reply, "reason": kept.reason})
