"""Aggregation nodes are killed under jobs with SUMAC_RECOVERY=1 (tests/mpi/goes_on.c), and started again a second later. Each job meets many
kills, leaves and root in turns, and one operation of 20 of every other job is a stream of 1 MiB: the next one when its operations go through a tree again, and in a third of the cases another one while the
members begin to be the tree. FAULT_KILLS: so many in all instead of 500."""

import itertools
import math
import os
import random
import time

from goes_on import DEMO, ON, KILL_SEEN_NS, Watch, await_tree, case, job_of, judge, nodes_of, resumed_ns
from harness.rows import cases
from killer import Killer
from ways import Ways

SECONDS, SECONDS_SHORT, KILLS, KILLS_SHORT = 60, 12, 500, 3
# Large operations go by the tree too, as streams.
STREAMS = {**ON, "SHARP_COLL_ENABLE_SAT": "1", "HCOLL_BCOL_P2P_ALLREDUCE_SHARP_MAX": "inf"}
VIOLATIONS_MAX = 20  # Then it is clear enough.
LEFT_WITHIN_S, BACK_WITHIN_S = 5, 30
# Limits of median and 99th percentile. Of a stream all 16 parts of 1 MiB go over the links of one host, of 1 Gbit/s: 0.3 s.
RESUME_MS, RESUME_STREAM_MS, BACK_MS = (100, 1000), (600, 1500), (3000, 8000)


class Nodes(Killer):
    """Kills nodes of a lab in turns."""

    def __init__(self, lab):
        super().__init__(lab)
        self.names, self.next = sorted(nodes_of(lab)), 0

    def victims(self, count):
        """The next nodes, each with its pid."""
        pids = nodes_of(self.lab)
        names = [self.names[(self.next + i) % len(self.names)] for i in range(count)]
        self.next += 1
        return [(name, pids[name]) for name in names]


class Found:
    """What all jobs have met."""

    def __init__(self):
        self.kills = self.missed = self.violations = self.operations = self.void = 0
        self.resumed, self.resumed_streams, self.back = [], [], []


def strike(job, ways, killer, is_double, found):
    """One recovery. Returns when its first kill was, or None: the job has ended, or its tree has none of these nodes since they came back too late
    after an earlier kill."""
    victims, kills, before = killer.victims(1 + is_double), [], ways.read()
    for victim in victims:
        if kills:
            time.sleep(random.uniform(0, 0.1))
        kills.append(killer.kill(*victim))
    left = ways.left(before, time.monotonic() + LEFT_WITHIN_S, job)
    back = left and ways.returned(time.monotonic() + BACK_WITHIN_S, job)
    killer.settle()
    if job.process.poll() is not None:
        return None
    names = " and ".join(name for name, _ in victims)
    if left is None and ways.grow(job):
        found.missed += 1
        print(f"{names} killed, which the job does not use", flush=True)
        return None
    found.kills += len(kills)
    found.back.append((back - kills[-1]) / 1e6 if back else math.inf)
    print(f"{names} killed: on a tree again after {found.back[-1]:.0f} ms", flush=True)
    return kills[0]


def one_job(lab, killer, watch, found, seconds, kills, ranks, streams):
    """Returns what is wrong, or ""."""
    await_tree(lab, is_whole=True)
    with job_of(lab, ranks, seconds, *streams * ["large"], on=STREAMS) as job:
        if not job.begins():
            return f"it did not begin: {job.text()}"
        until, ways, first = time.monotonic() + seconds - 4, Ways(job), []
        while time.monotonic() < until and found.kills < kills and job.process.poll() is None:
            time.sleep(random.uniform(0, 0.5))  # So the kill comes at any moment of the loop.
            if (when := strike(job, ways, killer, len(found.back) % 2 == 1, found)) is not None:
                first.append(when)
        killer.settle()
        ways.close()
        if wrong := job.end():
            return wrong
        found.operations += job.operations()
        spans = [job.spans(rank) for rank in range(ranks)]
        for when in first:
            back = [resumed_ns(each, when, KILL_SEEN_NS) for each in spans]
            if None in back:
                return f"a rank ended nothing after a kill: {job.text()}"
            if watch.missed(when, max(back)):
                found.void += 1
            else:
                (found.resumed_streams if streams else found.resumed).append((max(back) - when) / 1e6)
    return ""


def node_kills(rows, is_short):
    watch, found = Watch(), Found()
    random.seed(7)
    kills = KILLS_SHORT if is_short else int(os.environ.get("FAULT_KILLS", KILLS))
    lab = case.Lab("node-kills", case.Lab.FABRIC if is_short else DEMO)
    lab.up()
    try:
        killer = Nodes(lab)
        for number in itertools.count(1):
            if found.kills >= kills or found.violations >= VIOLATIONS_MAX:
                break
            if wrong := one_job(lab, killer, watch, found, SECONDS_SHORT if is_short else SECONDS, kills, 4 if is_short else 16, number % 2):
                found.violations += 1
                print(wrong, flush=True)
    finally:
        lab.down()
    rows.add("node-kills", "jobs that did not end right", found.violations, 0, trials=found.kills, operations=found.operations, void=found.void, missed=found.missed)
    if is_short:
        return
    rows.add("resume-kill-void", "recoveries beside a pause of the machine", found.void, 0.05 * len(found.back))
    judge(rows, "resume-kill", found.resumed, RESUME_MS)
    judge(rows, "resume-kill-stream", found.resumed_streams, RESUME_STREAM_MS)
    judge(rows, "back-on-tree", found.back, BACK_MS)


cases(__doc__, node_kills, "one job on 4 hosts, for ctest: times are printed, and not judged")
