#!/usr/bin/env python3
"""How soon after a node stops answering do jobs of its hosts begin again? Real daemons on loopback: a leaf is stopped (SIGSTOP), and a job on two
of its hosts is begun each half second. Counted is the time from the stop to the end of the first begin that succeeds. Median and most
have limits; a try in which a node that was not stopped is left out is a false alarm, and there must be none."""

import argparse
import json
import os
import pathlib
import re
import signal
import statistics
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build" / "dev")
parser.add_argument("--tries", type=int, default=20)
parser.add_argument("--out", type=pathlib.Path)
ARGS = parser.parse_args()
os.environ["SUMAC_BUILD"] = str(ARGS.build.resolve())
sys.path.append(str(ROOT / "tests"))
from harness import ground  # noqa: E402  pylint: disable=wrong-import-position

MEDIAN_MAX, MOST_MAX = 4.0, 6.0


def first_begin(house):
    """Returns the seconds until the first of the jobs that are begun each half second from now on is granted."""
    begun, running, due = time.monotonic(), [], 0.0
    sockets = [str(house.socket_of(host)) for host in ("h2", "h3")]
    try:
        while True:
            now = time.monotonic() - begun
            if now >= due:
                due += 0.5
                out = (house.folder / f"job-{len(running)}").open("wb+")
                running.append((out, ground.processes.start([ground.STEADY, "2", *sockets], env=ground.environment(), stdin=subprocess.PIPE,
                                                            stdout=out, stderr=out)))
            if any(b"ready" in os.pread(out.fileno(), 4096, 0) for out, _ in running):
                return time.monotonic() - begun
            if now > 60:
                raise SystemExit("no job began within a minute:\n" + house.log("sharp_am"))
            time.sleep(0.01)
    finally:
        for out, job in running:
            job.stdin.close()
            job.wait(60)
            out.close()


def main():
    times, alarms = [], 0
    for number in range(ARGS.tries):
        house = ground.Tree(f"try{number}")
        try:
            house.steady_on("h2", "h3").end()  # everything is connected
            house.processes["an2"].send_signal(signal.SIGSTOP)
            times.append(first_begin(house))
            house.processes["an2"].send_signal(signal.SIGCONT)
            house.says("sharp_am", "node an2 is heard again|node an2 registered.*node an2 registered")
            alarms += len(re.findall(r"node an[01] is silent", house.log("sharp_am")))
        finally:
            house.close()
    row = {"case": "down-to-begin", "unit": "s", "tries": ARGS.tries, "median": round(statistics.median(times), 2), "least": round(min(times), 2),
           "most": round(max(times), 2), "false_alarms": alarms, "load": os.getloadavg()[0]}
    print(json.dumps(row))
    if ARGS.out:
        ARGS.out.write_text(json.dumps(row) + "\n")
    return int(row["median"] > MEDIAN_MAX or row["most"] > MOST_MAX or alarms > 0)


try:
    STATUS = main()
finally:
    ground.sweep()
sys.exit(STATUS)
