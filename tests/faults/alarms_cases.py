"""Nothing breaks, but eight loops take the processors for ten minutes: a node that is late must not be taken for lost (tests/mpi/goes_on.c)."""

import re
import subprocess
import sys

from goes_on import ENDS_WITHIN, SOURCE, case, job_of
from harness.rows import cases

MINUTES, LOOPS, RANKS = 10, 8, 16


def alarms(rows):
    lab = case.Lab("alarms", SOURCE / "lab" / "fabrics" / "demo-16h-500us.yaml")
    lab.up()
    loops = []
    try:
        with job_of(lab, RANKS, MINUTES * 60) as job:
            assert job.begins(), job.text()
            loops += [case.processes.start([sys.executable, "-c", "while True: pass"]) for _ in range(LOOPS)]
            try:
                code = job.process.wait(timeout=MINUTES * 60 + ENDS_WITHIN)
            except subprocess.TimeoutExpired:
                code = None
            text, operations = job.text(), job.operations()
        print(text, flush=True)
        rows.add("false-alarms", f"groups that left their tree in {MINUTES} minutes of load {LOOPS}", text.count("has lost its tree"), 1, operations=operations)
        on_tree = re.search(r"sumac: job \d+: tree (\d+)", text)
        rows.add("false-alarms-jobs", "jobs that did not end right, on a tree", int(code != 0 or operations == 0 or not on_tree), 0)
    finally:
        for loop in loops:
            case.processes.end(loop)
        lab.down()


cases(__doc__, alarms)
