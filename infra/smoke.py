"""``make smoke STAGE=prod``: saves a page at a deployed stage, waits until it is READY, finds it and deletes it.

It does so as a user of its own, who is gone afterwards, whatever happens.
"""

import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx

from infra.local.answer import run
from infra.stage import Stage
from siftline.operate.command_line import Parser
from siftline.operate.set_up_error import SetUpError

PAGE = "https://example.org/"
PATIENCE_S = 180.0
"""A page takes some seconds; of a stage that was just made, the first one takes a minute or two."""
_LOOK_EVERY_S = 1.0


def smoke(
    stage: Stage, url: str, page: str | None = None, *, host: str | None = None, patience_s: float = PATIENCE_S
) -> None:
    """Try a stage whose API is at ``url``, and print each step with its seconds. Raises ``SetUpError``.

    ``host`` is the name that the API is asked by, where that is not the address's.
    """
    with _user(stage) as token:
        headers = {"Authorization": f"Bearer {token}", **({"Host": host} if host else {})}
        with httpx.Client(base_url=url, headers=headers, timeout=patience_s) as api:
            started = time.monotonic()

            def told(what: str) -> None:
                print(f"{time.monotonic() - started:>6.1f} s  {what}", flush=True)

            saved = _answer(api.post("/v1/items", json={"url": page or PAGE}), 202)
            told("saved")
            item = _ready(api, saved["id"], patience_s)
            told(f"READY: {item['title'] or item['url']}")
            found = _answer(api.get("/v1/search", params={"q": item["title"] or item["url"]}), 200)
            if item["id"] not in [one["id"] for one in found["items"]]:
                raise SetUpError("The page is READY, but its title does not find it.")
            told(f"found ({found['mode']})")
    told("deleted")


@contextmanager
def _user(stage: Stage) -> Iterator[str]:
    """Yield the token of a user of one's own, who is deleted in the end."""
    name = f"smoke {secrets.token_hex(6)}"
    made = stage.do("user", f"--name={name}")
    try:
        yield made.rpartition("token ")[2].strip()
    finally:
        stage.do("user", f"--delete={name}", "--yes")


def _ready(api: httpx.Client, item_id: str, patience_s: float) -> dict[str, Any]:
    until = time.monotonic() + patience_s
    while True:
        item = _answer(api.get(f"/v1/items/{item_id}"), 200)
        if item["status"] == "READY":
            return item
        if item["status"] == "FAILED" or time.monotonic() > until:
            steps = _answer(api.get(f"/v1/items/{item_id}/timeline"), 200)
            raise SetUpError(f"The page is {item['status']}, not READY: {item['error'] or steps}")
        time.sleep(_LOOK_EVERY_S)


def _answer(response: httpx.Response, status: int) -> dict[str, Any]:
    if response.status_code != status:
        request = response.request
        raise SetUpError(f"{request.method} {request.url.path}: {response.status_code} {response.text[:500]}")
    answer: dict[str, Any] = response.json()
    return answer


def main(arguments: list[str]) -> int:
    """Try the stage that the command line names; return the exit code."""
    parser = Parser(prog="make smoke", description=__doc__)
    parser.add_argument("--stage", required=True, help="a stage of samconfig.toml")
    parser.add_argument("--page", help=f"page to save; {PAGE} if not given")
    chosen = parser.parse_args(arguments)
    stage = Stage(chosen.stage)
    if not (url := stage.outputs().get("ApiUrl")):
        raise SetUpError(f"{stage.stack} is not deployed: make deploy STAGE={stage.name}")
    smoke(stage, url, chosen.page)
    return 0


if __name__ == "__main__":
    run(main)
