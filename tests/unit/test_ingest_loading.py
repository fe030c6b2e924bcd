"""What the ingest function loads when it starts: nothing that few contents need or that reads strangers' bytes."""

import subprocess
import sys

from tests.house.reading import ROOT

LATER = ("openai", "httpx2", "requests", "youtube_transcript_api", "pysubs2", "lxml", "trafilatura", "pypdfium2")


def test_libraries_for_few_contents_are_loaded_with_the_first_of_them() -> None:
    program = f"""
import sys
sys.path[:0] = [{str(ROOT)!r}, {str(ROOT / "shared")!r}]
import functions.ingest.app
print([name for name in {LATER!r} if name in sys.modules])
"""
    done = subprocess.run([sys.executable, "-I", "-c", program], env={}, capture_output=True, text=True, check=False)

    assert (done.stdout, done.stderr) == ("[]\n", "")
