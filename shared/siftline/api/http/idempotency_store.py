"""Idempotency keys: a repeated request is told what the first one made (IETF draft idempotency-key-header)."""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from psycopg.rows import class_row

from siftline.kit.db import Connection


@dataclass(frozen=True, slots=True)
class Known:
    """What an earlier request with this key asked and made."""

    request_sha256: bytes
    item_id: UUID
    item_ids: Sequence[UUID] | None
    """What a batch made, in its order."""


_FIND = "select request_sha256, item_id, item_ids from idempotency_keys where user_id = %(user_id)s and key = %(key)s"
_KEEP = """
insert into idempotency_keys (user_id, key, request_sha256, item_id, item_ids)
values (%(user_id)s, %(key)s, %(sha256)b, %(item_id)s, %(item_ids)b::uuid[])
on conflict (user_id, key) do update set item_id = excluded.item_id, item_ids = excluded.item_ids
where idempotency_keys.request_sha256 = excluded.request_sha256
returning item_id
"""


def find(connection: Connection, user_id: UUID, key: str) -> Known | None:
    """Return what this user's key stands for."""
    with connection.cursor(row_factory=class_row(Known)) as cursor:
        return cursor.execute(_FIND, {"user_id": user_id, "key": key}).fetchone()


def keep(
    connection: Connection, user_id: UUID, key: str, sha256: bytes, items: Sequence[UUID], *, batch: bool = False
) -> bool:
    """Remember what a key stands for, one item or a batch's; false if it stands for another request by now."""
    values = {
        "user_id": user_id,
        "key": key,
        "sha256": sha256,
        "item_id": items[0],
        "item_ids": list(items) if batch else None,
    }
    return connection.execute(_KEEP, values).fetchone() is not None
