#!/usr/bin/env python3
"""How soon after a node stops answering do jobs of its hosts begin again? Two cases count the time from the fault to the end of the first
begin that succeeds, where a job on two of the node's hosts is begun each half second: `stop`, a leaf on loopback gets SIGSTOP; `cut`, a
leaf of an emulated fabric loses its link (the job is an MPI program that must have the tree, and its start counts too). Median and most
have limits. A node that is left out though nothing happened to it is a false alarm: on loopback there must be none, nor in the third case,
`load`, some minutes of eight processes that compute."""

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
parser.add_argument("--minutes", type=float, default=10, help="of load (10)")
parser.add_argument("--case", default="", help="only cases whose name contains this: stop, cut, load")
parser.add_argument("--out", type=pathlib.Path)
ARGS = parser.parse_args()
os.environ["SUMAC_BUILD"] = str(ARGS.build.resolve())
sys.path.append(str(ROOT / "tests"))
from harness import case, ground  # noqa: E402  pylint: disable=wrong-import-position

MEDIAN_MAX, MOST_MAX = 4.0, 6.0
BUSY = 8
SILENT = r"node an[0-9] is silent"


def first_begin(begin, has_begun, logs):
    """Returns the seconds until the first of the jobs that are begun each half second from now on is granted. `has_begun` looks at what a
    job has printed."""
    begun, running, due = time.monotonic(), [], 0.0
    try:
        while True:
            now = time.monotonic() - begun
            if now >= due:
                due += 0.5
                running.append(begin(len(running)))
            if any(has_begun(os.pread(out.fileno(), 4096, 0)) for out, _ in running):
                return time.monotonic() - begun
            if now > 60:
                raise SystemExit("no job began within a minute:\n" + logs())
            time.sleep(0.01)
    finally:
        for out, job in running:
            job.stdin.close()
            job.wait(60)
            out.close()


def start(command, path):
    out = path.open("wb+")
    return out, ground.processes.start(command, env=ground.environment(), stdin=subprocess.PIPE, stdout=out, stderr=out)


def stop(number):
    """Returns the seconds, and how many nodes were left out that were not stopped."""
    house = ground.Tree(f"try{number}")
    sockets = [str(house.socket_of(host)) for host in ("h2", "h3")]
    try:
        house.steady_on("h2", "h3").end()  # everything is connected
        house.processes["an2"].send_signal(signal.SIGSTOP)
        took = first_begin(lambda job: start([ground.STEADY, "2", *sockets], house.folder / f"job-{job}"), lambda printed: b"ready" in printed,
                           lambda: house.log("sharp_am"))
        house.processes["an2"].send_signal(signal.SIGCONT)
        house.says("sharp_am", "node an2 is heard again|node an2 registered.*node an2 registered")
        return took, len(re.findall(SILENT.replace("[0-9]", "[01]"), house.log("sharp_am")))
    finally:
        house.close()


def cut(number):
    """The same with a link that is cut. A lab's manager writes no log that tells whom it leaves out, so no alarms are counted (None)."""
    folder = ground.SCRATCH / f"cut{number}"
    folder.mkdir()
    (folder / "fabric.yaml").write_text(ground.Tree.FABRIC + "manager: {switch: root}\ndefaults: {delay: 50us, rate: 1Gbit/s}\n")
    lab = case.Lab(f"cut{number}", folder / "fabric.yaml")
    lab.up()
    words = [*case.component_flags(), *case.TCP, *case.YIELD, "-x", "HCOLL_ENABLE_SHARP=3", "-np", 2, "-H", "h2,h3", ARGS.build.resolve() / "bin/mpi-start"]

    def seconds_to_begin():
        return first_begin(lambda job: start(lab.command("mpirun", *words), folder / f"job-{job}"), lambda printed: b'"median"' in printed,
                           lambda: lab("status").text)

    try:
        seconds_to_begin()  # everything is connected
        done = lab("exec", "an2", "--", "ip", "link", "set", "dev", "lab0", "down")
        assert done.code == 0, done.text
        return seconds_to_begin(), None
    finally:
        lab.down()


def load():
    """Returns how many nodes are left out while eight processes compute and nothing fails."""
    house = ground.Tree("load")
    busy = [ground.processes.start([sys.executable, "-c", "while True: pass"]) for _ in range(BUSY)]
    try:
        end = time.monotonic() + 60 * ARGS.minutes
        while time.monotonic() < end:
            code, out, err = house.steady_on("h1", "h2", "h3").end()
            assert code == 0, out + err
        return len(re.findall(SILENT, house.log("sharp_am")))
    finally:
        for each in busy:
            each.kill()
            each.wait()
        house.close()


def row_of(name, fault):
    times, alarms = zip(*(fault(number) for number in range(ARGS.tries)))
    return {"case": f"down-to-begin-{name}", "unit": "s", "tries": ARGS.tries, "median": round(statistics.median(times), 2), "least": round(min(times), 2),
            "most": round(max(times), 2), "false_alarms": None if None in alarms else sum(alarms), "load": os.getloadavg()[0]}


def main():
    rows = [row_of(fault.__name__, fault) for fault in (stop, cut) if ARGS.case in fault.__name__]
    if ARGS.case in "load":
        rows.append({"case": "down-to-begin-load", "unit": "s", "minutes": ARGS.minutes, "false_alarms": load(), "load": os.getloadavg()[0]})
    for row in rows:
        print(json.dumps(row))
    if ARGS.out:
        ARGS.out.write_text(json.dumps(rows) + "\n")
    return int(any(row.get("median", 0) > MEDIAN_MAX or row.get("most", 0) > MOST_MAX or row["false_alarms"] for row in rows))


try:
    STATUS = main()
finally:
    ground.sweep()
sys.exit(STATUS)
