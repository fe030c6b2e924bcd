"""The peer: lemon24/reader, with its defaults but for the workers. Runs in its own environment; prints its seconds.

Follows every feed, updates them all for the first time, then once more.
"""

import importlib
import json
import sys
import time


def main() -> None:
    # Its own copy of feedparser asks for a module that today's feedparser brings under another name.
    sys.modules["sgmllib"] = importlib.import_module("feedparser_sgmllib")
    make_reader = importlib.import_module("reader").make_reader
    wanted = json.load(sys.stdin)
    reader = make_reader(wanted["file"])
    began = time.perf_counter()
    for url in wanted["urls"]:
        reader.add_feed(url)
    reader.update_feeds(workers=wanted["workers"], scheduled=False)
    first_s = time.perf_counter() - began
    assert reader.get_entry_counts().total == wanted["entries"], reader.get_entry_counts()
    began = time.perf_counter()
    reader.update_feeds(workers=wanted["workers"], scheduled=False)
    print(json.dumps({"first_s": first_s, "again_s": time.perf_counter() - began}))
    reader.close()


if __name__ == "__main__":
    main()
