"""Whether the API answers as fast as ever while a large poll is saved by another process over the same database."""

import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from statistics import median, quantiles
from typing import Any
from uuid import UUID

from psycopg.conninfo import make_conninfo

from benchmarks.report import timed
from siftline.kit.db import Database, open_database
from tests.api_client import ApiClient, World

TURNS = 3
IDLE_CALLS = 300
_PAUSE_S = 0.01

Save = Callable[[Database, str], object]
"""Saves a poll under a name of its own."""


def while_saving(database: Database, user_id: UUID, save: Save, entries: int) -> dict[str, Any]:
    """Ask for a user's feed again and again, first with nothing else going on, then while polls are saved; in turns."""
    client = ApiClient(World(database).api, user_id)
    with database.transaction() as connection:
        url = make_conninfo(**connection.info.get_parameters(), password=connection.info.password)
    idle: list[float] = []
    busy: list[float] = []
    saved_s = []
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        pool.submit(_save, url, save, "warm").result()
        for turn in range(TURNS):
            idle += [_ask(client) for _ in range(IDLE_CALLS)]
            saving = pool.submit(_save, url, save, f"turn-{turn}")
            while not saving.done():
                busy.append(_ask(client))
            saved_s.append(saving.result())
    return {
        "entries": entries,
        "saved in s": round(median(saved_s), 1),
        "calls idle": len(idle),
        "calls meanwhile": len(busy),
        "idle p50 ms": round(median(idle) * 1000, 1),
        "p50 ms": round(median(busy) * 1000, 1),
        "idle p99 ms": round(_p99(idle) * 1000, 1),
        "p99 ms": round(_p99(busy) * 1000, 1),
        "p99 / idle": round(_p99(busy) / _p99(idle), 2),
    }


def _save(url: str, save: Save, name: str) -> float:
    seconds, _ = timed(lambda: save(open_database(url, 1), name))
    return seconds


def _ask(client: ApiClient) -> float:
    time.sleep(_PAUSE_S)
    seconds, answered = timed(lambda: client.get("/v1/items", limit=50))
    assert answered.status == 200, answered.text
    return seconds


def _p99(seconds: list[float]) -> float:
    return quantiles(seconds, n=100)[98]
