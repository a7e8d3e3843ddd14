#!/usr/bin/python3
"""The numbers of the page that `make toolkit` limits, as JSON lines {"case", "unit", "value"} and, for failures, {"case", "found"}.
usage: SUMAC_BUILD=build/dev tests/page/rows.py"""

import contextlib
import json
import os
import pathlib
import pwd
import statistics
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import browser  # noqa: E402
import cluster  # noqa: E402
import stranger  # noqa: E402

BENCH = cluster.ground.BIN / "control-bench"
AM = cluster.ground.BIN / "sharp_am"
TIMES = 5


def row(**fields):
    print(json.dumps(fields), flush=True)


@contextlib.contextmanager
def played(hosts, leaves, jobs, spines=4, trees=2):
    """A cluster without processes of its own but the manager; returns the manager's endpoint."""
    words = {"hosts": hosts, "leaves": leaves, "jobs": jobs, "spines": spines, "trees": trees}
    process = cluster.ground.processes.start([BENCH, "--play", "--am", AM, *(str(word) for name, value in words.items() for word in (f"--{name}",
                                             value))], text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        said = json.loads(process.stdout.readline() or "{}")
        if said.get("running") != jobs:
            raise AssertionError(f"{jobs} jobs were to run: {said}")
        yield said["manager"]
    finally:
        process.stdin.close()
        process.wait(60)


def drawn(manager, expected):
    """The median of new browsers: ms from asking for the page until all is drawn."""
    times = []
    for _ in range(TIMES):
        with browser.chromium() as driver:
            driver.get(cluster.address(cluster.ticket(manager)))
            seen = browser.drawn(driver, 60)
            if {name: int(seen[name]) for name in expected} != expected:
                raise AssertionError(f"drawn are {seen}, not {expected}")
            times.append(int(seen["first"]))
    print(f"drawn after {sorted(times)} ms", file=sys.stderr)
    return statistics.median(times)


def strangers(house):
    job = json.loads(cluster.ask(house.ticket()["site"], "/api/v1/jobs", house.ticket()["token"])[2])["jobs"][0]
    old = house.ticket()
    for _ in range(8):
        given = house.ticket()
    secrets = {"all": ["leaf1", "an-root", job["id"], job["holder"]], "job": [job["id"], job["holder"]]}
    found, asked = stranger.leaks(given, house.ticket(pwd.getpwnam("nobody").pw_uid), secrets, job["id"])
    for path in stranger.addresses(job["id"]):
        asked += 1
        status, _, text = cluster.ask(given["site"], path, old["token"])
        if status != 401:
            found.append(f"a token that is not valid any more: GET {path}: {status} {text[:80]}")
    print(f"{asked} questions of strangers", file=sys.stderr)
    return found


def main():
    cluster.ground.SCRATCH.chmod(0o711)
    house = cluster.Cluster("full", cluster.ROOT / "lab" / "fabrics" / "demo-16h-500us.yaml")
    try:
        house.job("h1", "h2", "h5", "h9")
        house.job("h3", "h4", "h13")
        row(case="page-full", unit="ms", value=drawn(house.manager, {"hosts": 16, "links": 20, "trees": 1, "nodes": 5, "switches": 5}))
        row(case="page-stranger", found=strangers(house))
    finally:
        house.close()
    with played(10_000, 400, 500) as manager:
        row(case="page-10k", unit="ms", value=drawn(manager, {"hosts": 10_000, "links": 11_600, "trees": 2, "nodes": 404, "switches": 404}))
    out = cluster.ground.SCRATCH / "page.json"
    subprocess.run([BENCH, "--am", AM, "--only", "page", "--out", out], check=True, stdout=sys.stderr)
    [found] = json.loads(out.read_text(encoding="utf-8"))
    row(case=found["case"], unit=found["unit"], value=found["sumac"])


if __name__ == "__main__":
    os.environ.pop("DISPLAY", None)
    main()
