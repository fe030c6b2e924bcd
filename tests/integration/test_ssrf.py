"""No spelling of an inside address is reached, by any way.

From within a network namespace that has such addresses; and by every connect written down and refused, of all
spellings where namespaces are refused, else of some.

Cases S01, S02, S03, S04 and S05.
"""

import json
import subprocess
import sys
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

import pytest

from infra.local.aws import CREDENTIALS
from infra.local.queues import sqs_client
from siftline.kit.ids import new_id
from siftline.settings.functions import process_environment
from tests.functions import make_queues
from tests.house.reading import ROOT
from tests.walls.passage import outlets
from tests.walls.recorded import watched
from tests.walls.spellings import HANDS, SPELLINGS

_ENTER = ["unshare", "--net", "--mount", "--map-root-user"]
_SOME = 7
"""Of so many spellings one is walked by recorded connects where the namespace has walked them all."""
_NO_PACE = {
    "HOST_REQUESTS_PER_S": "100",
    "HOST_BURST": "1000",
    "HOST_PER_MINUTE": "{}",
    "HOST_AT_ONCE": "100",
    "JOB_TENANT_THREADS": "100",
}
"""Spellings are taken side by side, and many are of one host: none is put off for the others."""
_REFUSED = {"address_refused", "invalid_url", "unsupported_scheme"}
# In a Location header these mean a path of the public server that sent it (RFC 3986, section 5.2).
_RELATIVE = {"http:127.0.0.1/", "http:/127.0.0.1/", "http:///127.0.0.1/", "http:\\\\127.0.0.1\\", "ht\ntp://127.0.0.1/"}
Walked = dict[str, Any]
pytestmark = pytest.mark.slow


def _namespaces_are_refused() -> str:
    try:
        tried = subprocess.run([*_ENTER, "true"], capture_output=True, text=True, check=False)
    except FileNotFoundError:
        return "unshare is not installed"
    return tried.stderr.strip() if tried.returncode else ""


def _by_unix_socket(url: str, folder: Path) -> str:
    """Return a database's URL whose port is that of a Unix socket in a folder: thirty thousand statements go there."""
    there = urlsplit(url)
    return there._replace(netloc=there.netloc.replace("127.0.0.1", ""), query=f"host={quote(str(folder))}").geturl()


@pytest.fixture(scope="module", params=["walled", "walled, typed", "recorded", "recorded, typed"])
def walked(
    request: pytest.FixtureRequest,
    make_database: Callable[[], str],
    sqs_endpoint: str,
    reachable_folder: Path,
    tmp_path_factory: pytest.TempPathFactory,
) -> Walked:
    """What a whole walk found, and which spellings it took; one where this machine is open to who types its address."""
    refused = _namespaces_are_refused()
    around, _, typed = request.param.partition(", ")
    if around == "walled" and refused:
        pytest.skip(f"this machine refuses network namespaces ({refused}); all is walked by recorded connects instead")
    client = sqs_client(sqs_endpoint)
    queues = make_queues(client, str(new_id()))
    client.close()
    variables = {
        **CREDENTIALS,
        **queues,
        "AWS_ENDPOINT_URL": sqs_endpoint,
        "DATABASE_URL": make_database(),
        "DATABASE_POOL_SIZE": str(HANDS),
        "QDRANT_URL": "http://127.0.0.1:1",
        "HTTP_RETRIES": "0",
        "JOB_MAX_ATTEMPTS": "1",
        "SIFTLINE_ANALYSIS_ENABLED": "0",
        "FIRST_IMPORT": "all",
        **_NO_PACE,
        **({"HTTP_ALLOW_LOOPBACK": "true"} if typed else {}),
    }
    every = 1 if refused or around == "walled" else _SOME
    paths = f"{ROOT}:{ROOT / 'shared'}"
    with ExitStack() as stack:
        if around == "walled":
            folder, before = reachable_folder, _ENTER
            ports = [urlsplit(variables[name]).port or 0 for name in ("DATABASE_URL", "AWS_ENDPOINT_URL")]
            stack.enter_context(outlets(folder, ports))
            variables["DATABASE_URL"] = _by_unix_socket(variables["DATABASE_URL"], folder)
        else:
            folder, before = tmp_path_factory.mktemp("recorded"), []
            paths = f"{watched(folder)}:{paths}"
        command = [*before, sys.executable, "-m", "tests.walls.walk", around, str(every), str(folder)]
        ended = subprocess.run(
            [*command, json.dumps(variables)],
            cwd=ROOT,
            env={**process_environment(), "PYTHONPATH": paths},
            capture_output=True,
            text=True,
            check=False,
        )
    assert ended.returncode == 0, ended.stderr[-4000:]
    walk: Walked = json.loads(ended.stdout.splitlines()[-1])
    return {**walk, "spellings": SPELLINGS[::every]}


def test_the_inside_would_be_reached_by_a_client_that_checks_nothing(walked: Walked) -> None:
    control = walked["control"]
    assert len(control["addresses"]) >= 15
    assert {name: len(reached) for name, reached in control["reached"].items()} == dict.fromkeys(
        control["addresses"], 3
    )
    assert {"127.0.0.1", "169.254.169.254", "fd00:ec2::254", "fec0::1", "64:ff9b::7f00:1"} <= {*control["addresses"]}
    assert sum(map(bool, control["spellings"].values())) > 40
    assert control["child"] == ["10.0.0.1:80"]


def test_what_is_public_is_read(walked: Walked) -> None:
    assert walked["public"] == {"page": [["ok"]], "feed": [["ok", "ok", "ok"]]}


def test_nothing_inside_is_reached(walked: Walked) -> None:
    """Cases S01, S02, S04 and S05: by any way, in any spelling."""
    assert {way["way"]: way["reached"] for way in walked["walk"] if way["reached"]} == {}
    assert {url for way in walked["walk"] for url in way["ends"]} == {*walked["spellings"]}


def test_each_address_is_refused_by_name(walked: Walked) -> None:
    other = [
        (way["way"], url, codes)
        for way in walked["walk"]
        for url, codes in way["ends"].items()
        if way["kind"] == "way" and not _REFUSED.issuperset(codes) and not _is_right_too(way["way"], url, codes)
    ]
    assert other == []


def _is_right_too(way: str, url: str, codes: list[str]) -> bool:
    """Tell whether an address may also end so."""
    if way == "a subreddit":
        return codes == ["not_a_listing"]  # it is refused for not being Reddit's before it is asked for
    if "redirect" in way:
        return url in _RELATIVE and codes == ["not_found"]
    return "page" in way and url.startswith(("https://www.youtube.com/", "https://youtu.be/")) and codes == ["ok"]


def test_a_name_that_moves_inside_is_refused_when_it_is_asked_again(walked: Walked) -> None:
    """Case S03 and fault 24: public when it is first asked for, then loopback, then the metadata address.

    Who typed such a name meant the public server: it does not open this machine either.
    """
    assert walked["rebinding"] == {
        "codes": {
            "a page": ["ok", "address_refused"],
            "a feed": ["ok", "address_refused"],
            "a redirect to itself": ["address_refused"],
            "the metadata address": ["ok", "address_refused", "address_refused"],
        },
        "reached": [],
        "broken": [],
    }
