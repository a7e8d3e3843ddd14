"""metrics-cost: what the metrics take from a node. The rows are those of tests/metrics/cost.py, which runs by itself too."""

import json
import os
import subprocess
import sys

import work as shared


def check(rows, work):
    out = work.folder / "metrics-cost.json"
    done = subprocess.run([sys.executable, shared.TOP / "tests" / "metrics" / "cost.py", "--build", work.build, "--out", out],
                          env={**os.environ, "SUMAC_BUILD": str(work.build)}, check=False)
    if done.returncode not in (0, 1) or not out.exists():
        rows.failures("metrics-cost", "failures", [f"tests/metrics/cost.py ended with status {done.returncode}"])
        return
    for row in json.loads(out.read_text(encoding="utf-8")):
        rows.add(row["case"], row["unit"], row["sumac"], row["limit"])
