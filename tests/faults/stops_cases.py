"""Aggregation nodes are stopped and cut off under jobs with SUMAC_RECOVERY=1 (tests/mpi/goes_on.c): each goes on with exact results, and soon."""

import os
import random
import signal
import time
import typing

from goes_on import DEMO, SOURCE, Watch, await_tree, case, change, job_of, judge, nodes_of, resumed_ns
from harness.rows import cases

SECONDS = 4
APART = SOURCE / "tests" / "faults" / "apart-8h.yaml"
SWITCHES = {"x0": "root", "x1": "leaf1", "x2": "leaf2"}  # The nodes of APART are on these hosts.


class Fault(typing.NamedTuple):
    name: str
    strike: typing.Callable  # (lab, node, its pid)
    undo: typing.Callable  # (lab, node)
    fabric: typing.Any
    ranks: int
    jobs: int
    median_ms: int
    most_ms: int


FAULTS = [
    Fault("stop", lambda _lab, _node, pid: os.kill(pid, signal.SIGSTOP), lambda lab, node: change(lab, "daemon", node, "cont"), DEMO, 16, 15, 1500, 2500),
    Fault("cut", lambda lab, node, _pid: change(lab, "link", node, SWITCHES[node], "down"), lambda lab, node: change(lab, "link", node, SWITCHES[node], "up"), APART, 8, 15, 1500,
          2500),
]


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
        if wrong := job.end():
            return wrong, 0, began, 0
        operations = job.operations()
        if "has lost its tree" not in job.text():
            return f"it had no tree that was lost: {job.text()}", operations, began, 0
        back = [resumed_ns(job.spans(rank), began) for rank in range(ranks)]
        if None in back:
            return f"a rank ended nothing after the fault: {job.text()}", operations, began, 0
        return "", operations, began, max(back)


def trials(rows, lab, watch, fault):
    """Does so to nodes in turns; in a third of the jobs another one follows while the members begin to be the tree."""
    nodes = sorted(nodes_of(lab))
    violations, operations, void, count, took = 0, 0, 0, 0, []
    for job in range(fault.jobs):
        victims = [nodes[job % len(nodes)]] + ([nodes[(job + 1) % len(nodes)]] if job % 3 == 2 else [])
        wrong, ended, began, back = one_job(lab, fault.ranks, victims, random.uniform(0, 0.1), fault)
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
    rows.add(f"resume-{fault.name}-void", "jobs beside a pause of the machine", void, fault.jobs * 0.05)
    judge(rows, f"resume-{fault.name}", took, (fault.median_ms, fault.most_ms))


def stops(rows):
    watch = Watch()
    random.seed(7)
    for fault in FAULTS:
        lab = case.Lab("stops", fault.fabric)
        lab.up()
        try:
            trials(rows, lab, watch, fault)
        finally:
            lab.down()


cases(__doc__, stops)
