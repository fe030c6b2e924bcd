"""P4: feeds that are built to hurt, each in a child of its own. ``python -m benchmarks hostile``

The processor time of the parsing (what it needs loaded before) and the peak of the child's memory, our parser beside
feedparser with its own sanitiser; either is ended after 20 seconds of processor time.
"""

import json
import os
import subprocess
import sys
from typing import Any

from benchmarks.parsing.child import CAP_S
from benchmarks.parsing.documents import HOSTILE
from benchmarks.report import Report
from infra.local.machine import ROOT
from siftline.settings.functions import process_environment

REACH_CPU_S, REACH_PEAK_MB = 1, 300


def main() -> None:
    report = Report("hostile")
    report.open(f"{len(HOSTILE)} hostile feeds, one child each; feedparser's are ended after {CAP_S} s")
    rows = []
    for name, make in HOSTILE.items():
        body = make()
        ours, peer = _child("ours", body), _child("feedparser", body)
        rows.append(
            {
                "feed": name,
                "MB": round(len(body) / 1_000_000, 1),
                **{f"ours {key}": value for key, value in ours.items()},
                **{f"feedparser {key}": value for key, value in peer.items()},
            }
        )
    report.table(f"reach: each <= {REACH_CPU_S} s and <= {REACH_PEAK_MB} MB", rows)
    report.tell(
        {
            "ours, most s": max(row["ours s"] for row in rows),
            "ours, most MB": max(row["ours peak MB"] for row in rows),
        }
    )
    report.keep()


def _child(reader: str, body: bytes) -> dict[str, Any]:
    path = os.pathsep.join((str(ROOT), str(ROOT / "shared")))
    command = [sys.executable, "-W", "ignore", "-m", "benchmarks.parsing.child", reader]
    environment = {**process_environment(), "PYTHONPATH": path}
    done = subprocess.run(command, input=body, cwd=ROOT, env=environment, capture_output=True, check=False)
    if done.returncode:
        return {"outcome": "ended", "s": float(CAP_S), "peak MB": 0}
    told = json.loads(done.stdout)
    return {"outcome": told["outcome"], "s": round(told["cpu_s"], 2), "peak MB": round(told["peak_mb"])}
