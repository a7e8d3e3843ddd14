"""The manager's page in headless Chromium: how soon all of it is drawn, what it costs the manager's jobs, and what strangers get (0)."""

import json
import os
import subprocess

import work as shared

LIMITS = {"page-full": 1000, "page-10k": 3000, "page-job-begin": 1.2}
# Debian's selenium belongs to Debian's own Python.
PYTHON = "/usr/bin/python3"
PAGE = shared.TOP / "tests" / "page"


def check(rows, work):
    environment = {**os.environ, "SUMAC_BUILD": str(work.build)}
    done = subprocess.run([PYTHON, PAGE / "browser_test.py"], env=environment, capture_output=True, text=True, check=False)
    rows.failures("page-browser", "failures", [] if done.returncode == 0 else [line for line in done.stderr.splitlines() if line.startswith(("FAIL:", "ERROR:"))] or [done.stderr[-500:]])
    done = subprocess.run([PYTHON, PAGE / "rows.py"], env=environment, stdout=subprocess.PIPE, text=True, check=False)
    seen = set()
    for line in done.stdout.splitlines():
        one = json.loads(line)
        seen.add(one["case"])
        if "found" in one:
            rows.failures(one["case"], "leaks", one["found"])
        else:
            rows.add(one["case"], one["unit"], one["value"], LIMITS[one["case"]])
    rows.failures("page-rows", "missing", sorted({*LIMITS, "page-stranger"} - seen) + ([] if done.returncode == 0 else [f"rows.py ended with {done.returncode}"]))
