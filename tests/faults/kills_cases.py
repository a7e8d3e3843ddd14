"""Aggregation nodes are killed, stopped and cut off under jobs with SUMAC_RECOVERY=1 (tests/mpi/goes_on.c): each goes on with exact results, and
soon."""

import json
import math
import os
import pathlib
import random
import signal
import statistics
import struct
import subprocess
import threading
import time
import typing

from goes_on import ENDS_WITHIN, SOURCE, case, job_of
from harness.rows import cases

SECONDS = 4
MISSED_NS, SOON_NS = 100_000_000, 2_000_000_000
DEMO, APART = SOURCE / "lab" / "fabrics" / "demo-16h-500us.yaml", SOURCE / "tests" / "faults" / "apart-8h.yaml"
SWITCHES = {"x0": "root", "x1": "leaf1", "x2": "leaf2"}  # The nodes of APART are on these hosts.


def change(lab, *words):
    done = lab(*words)
    assert done.code == 0, done.text


def await_tree(lab, is_whole):
    """A job that begins before the manager knows what broke, or that it is whole again, gets another tree than the one that breaks."""
    until = time.monotonic() + ENDS_WITHIN
    while ("in no tree" not in (trees := lab("exec", "h1", "--", case.BUILD / "bin" / "sharp_cmd", "trees", "--manager", "manager:6126").text)) != is_whole:
        assert time.monotonic() < until, trees
        time.sleep(0.1)


def nodes_of(lab):
    found = json.loads(lab("status", "--json").out)["daemons"]
    return {daemon["place"]: daemon["pid"] for daemon in found if daemon["name"].startswith("sharp_an ")}


class Fault(typing.NamedTuple):
    name: str
    strike: typing.Callable  # (lab, node, its pid)
    undo: typing.Callable  # (lab, node)
    fabric: pathlib.Path
    ranks: int
    jobs: int
    median_ms: int
    most_ms: int


FAULTS = [
    Fault("kill", lambda _lab, _node, pid: os.kill(pid, signal.SIGKILL), lambda lab, node: change(lab, "daemon", node, "start"), DEMO, 16, 60, 100, 1000),
    Fault("stop", lambda _lab, _node, pid: os.kill(pid, signal.SIGSTOP), lambda lab, node: change(lab, "daemon", node, "cont"), DEMO, 16, 15, 1500, 2500),
    Fault("cut", lambda lab, node, _pid: change(lab, "link", node, SWITCHES[node], "down"), lambda lab, node: change(lab, "link", node, SWITCHES[node], "up"), APART, 8, 15, 1500,
          2500),
]


class Watch(threading.Thread):
    """Notes when this machine gave a thread that wanted to run no processor for 100 ms: what happened then is not judged."""

    def __init__(self):
        super().__init__(daemon=True)
        self.gaps = []
        self.start()

    def run(self):
        last = time.monotonic_ns()
        while True:
            time.sleep(0.01)
            now = time.monotonic_ns()
            if now - last > MISSED_NS:
                self.gaps.append((last, now))
            last = now

    def missed(self, begin, end):
        return any(a < end and b > begin for a, b in self.gaps)


def resumed_ns(path, fault):
    """When the operation returned that the fault held up: of those that were open at the fault or began soon after, the first that took at least
    half as long as the longest."""
    spans = list(struct.iter_unpack("=qq", path.read_bytes()))
    later = [(end - begin, end) for begin, end in spans if end > fault and begin < fault + SOON_NS]
    return next((end for took, end in later if 2 * took >= max(later)[0]), None)


def one_job(lab, ranks, victims, apart, fault):
    """The fault comes over the victims one after another. Returns (what is wrong, or "", operations, ns of the first fault, ns of the return from what it held up)."""
    await_tree(lab, is_whole=True)
    with job_of(lab, ranks, SECONDS) as job:
        if not job.begins():
            return f"it did not begin: {job.text()}", 0, 0, 0
        pids = nodes_of(lab)
        time.sleep(random.uniform(0, 1))  # So the fault comes at any moment of the loop.
        began = time.monotonic_ns()
        for at, victim in enumerate(victims):
            if at > 0:
                time.sleep(apart)
            fault.strike(lab, victim, pids[victim])
        try:
            code = job.process.wait(timeout=ENDS_WITHIN)
        except subprocess.TimeoutExpired:
            return f"it hangs: {job.text()}", 0, began, 0
        operations = job.operations()
        if code != 0 or operations == 0:
            return f"status {code}: {job.text()}", 0, began, 0
        if "has lost its tree" not in job.text():
            return f"it had no tree that was lost: {job.text()}", operations, began, 0
        back = [resumed_ns(job.folder / str(rank), began) for rank in range(ranks)]
        if None in back:
            return f"a rank ended nothing after the fault: {job.text()}", operations, began, 0
        return "", operations * ranks, began, max(back)


def trials(rows, lab, watch, fault, jobs, is_short):
    """Does so to nodes in turns; in a third of the jobs another one follows while the members begin to be the tree."""
    nodes = sorted(nodes_of(lab))
    ranks = 4 if is_short else fault.ranks
    violations, operations, void, count, took = 0, 0, 0, 0, []
    for job in range(jobs):
        victims = [nodes[job % len(nodes)]] + ([nodes[(job + 1) % len(nodes)]] if job % 3 == 2 else [])
        wrong, ended, began, back = one_job(lab, ranks, victims, random.uniform(0, 0.1), fault)
        count += len(victims)
        operations += ended
        if wrong:
            violations += 1
            print(f"{fault.name} {' and '.join(victims)}: {wrong}", flush=True)
        elif watch.missed(began, back):
            void += 1
        else:
            took.append((back - began) / 1e6)
            print(f"{fault.name} {' and '.join(victims)}: on after {took[-1]:.0f} ms", flush=True)
        await_tree(lab, is_whole=False)
        for victim in victims:
            fault.undo(lab, victim)
    rows.add(f"node-{fault.name}s", "jobs that did not end right", violations, 0, trials=count, operations=operations, void=void)
    if is_short:
        return
    rows.add(f"resume-{fault.name}-void", "jobs beside a pause of the machine", void, jobs * 0.05)
    took = sorted(took) or [math.nan]  # A number that is none is violated.
    rows.add(f"resume-{fault.name}-median-ms", "ms", statistics.median(took), fault.median_ms, trials=len(took))
    rows.add(f"resume-{fault.name}-p99-ms", "ms", took[math.ceil(0.99 * len(took)) - 1], fault.most_ms, trials=len(took))


def kills(rows, is_short):
    watch = Watch()
    random.seed(7)
    for fault in FAULTS[:1] if is_short else FAULTS:
        lab = case.Lab("kills", case.Lab.FABRIC if is_short else fault.fabric)
        lab.up()
        try:
            trials(rows, lab, watch, fault, 2 if is_short else fault.jobs, is_short)
        finally:
            lab.down()


cases(__doc__, kills, "two jobs on 4 hosts, for ctest: times are printed, and not judged")
