"""A function and the children that read for it fit the memory that the function has, whatever a stranger sends."""

import json
import re
import subprocess
import sys

import pytest

from infra.local.machine import ROOT
from siftline.fetch.kinds import readers, rss_fetcher
from siftline.ingest import reading
from siftline.settings.functions import FetchSettings, IngestSettings, process_environment
from tests.house.reading import FUNCTION_NAMES, function_resources

MB = 1024 * 1024
BODIES = 8
"""What a body takes in the function itself, in its own size: as it came, as it is answered, as objects, as rows."""
# The bytes of a body, what reading it may add to a child, and the children's functions, by function.
READERS = {
    "fetch": (
        rss_fetcher.FEED_MAX_BYTES,
        max(FetchSettings.model_fields["feed_parse_memory_bytes"].default, readers.MEMORY_BYTES),
        (["siftline.fetch.feed.feed_parser:parse_identified"], ["siftline.fetch.kinds.web_page:article_links"]),
    ),
    "ingest": (
        reading.PAGE_MAX_BYTES,
        IngestSettings.model_fields["page_read_memory_bytes"].default,
        (["siftline.ingest.page.page:read_page", "siftline.ingest.media.captions:read_captions"],),
    ),
}
SHOW = """
import importlib, json, pathlib, re, sys
for name in json.loads(sys.argv[1]):
    importlib.import_module(name)
print(re.search(r"VmHWM:\\s+(\\d+) kB", pathlib.Path("/proc/self/status").read_text("ascii"))[1])
"""


def resident_bytes(*modules: str) -> int:
    """Return the memory of a process that has imported these modules."""
    path = {"PYTHONPATH": f"{ROOT / 'shared'}:{ROOT}"}
    command = [sys.executable, "-W", "ignore", "-c", SHOW, json.dumps(modules)]
    done = subprocess.run(command, env={**process_environment(), **path}, capture_output=True, text=True, check=True)
    return int(done.stdout) * 1024


@pytest.mark.parametrize("name", READERS)
def test_a_function_and_its_children_fit_its_memory(name: str) -> None:
    body_bytes, share_bytes, children = READERS[name]
    has_bytes = function_resources()[name][1]["MemorySize"] * MB
    itself = resident_bytes(f"functions.{name}.app") + BODIES * body_bytes
    idle = sum(resident_bytes(*(function.partition(":")[0] for function in child)) for child in children)
    assert itself + idle + share_bytes <= has_bytes


def test_every_function_that_reads_in_children_is_looked_at() -> None:
    reads = re.compile(r"FeedReader|LinkReader|PageReader")
    files = {name: ROOT / "functions" / name / "app.py" for name in FUNCTION_NAMES}
    rooms = {name: ROOT / "shared" / "siftline" / name / f"{name}_wiring.py" for name in FUNCTION_NAMES}
    found = {
        name
        for name in FUNCTION_NAMES
        if any(path.is_file() and reads.search(path.read_text("utf-8")) for path in (files[name], rooms[name]))
    }
    assert found == set(READERS)
