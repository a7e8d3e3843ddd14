"""Chaos under one long job with SUMAC_RECOVERY=1 (tests/mpi/goes_on.c), which goes on with exact results while memory of each daemon and rank is sampled.
FAULT_MINUTES: for so long instead of 60.

A process has a slope only while it lives: nodes, sharpds and the manager are killed (the manager in the first quarter alone), but one of each kind and all
ranks live on and meet the others' deaths; these are stopped and their links lose frames. Their RSS grows over the last three quarters by at most 64 KiB an hour;
where the interval of a slope (slopes.py) has that limit in it the row is void, and no pass. Descriptors of these processes, and groups and OSTs of all
nodes, are in the end as they were."""

import math
import os
import pathlib
import random
import re
import signal
import socket
import threading
import time

from goes_on import await_tree, case, change, daemons_of, job_of, ranks_of
from harness.rows import cases
from slopes import judged, slope
from ways import Ways

FABRIC = case.Lab.FABRIC
RANKS, MINUTES, SETTLES_S, SAMPLE_S = 4, 60, 40, 5
GROWS_MAX = 64  # KiB an hour.
KILLED = (("sharp_an", ["an-root", "an-leaf1"]), ("sharpd", ["h1", "h2"]))
LIVING = ("manager", "an-leaf2", "h3", "h4")
LINKS = (("leaf1", "root"), ("leaf2", "root"), ("h1", "leaf1"), ("h4", "leaf2"))
METRICS = {"SUMAC_NODE_METRICS_LISTEN": "unix:/run/metrics", "SUMAC_AM_METRICS_LISTEN": "unix:/run/metrics"}
HELD = re.compile(r"^(sumac_node_(?:groups|osts_in_use|osts_granted|jobs|connections)|sumac_manager_(?:jobs|leaving_jobs|osts_granted|groups_granted))(?:{[^}]*})? (\d+)",
                  re.MULTILINE)


def all_daemons(lab):
    return {name: pid for program in ("sharp_am", "sharp_an", "sharpd") for name, pid in daemons_of(lab, program).items()}


def rss_kib(pid):
    """Exact, unlike that of /proc/PID/statm, which lags by some pages for each processor."""
    return int(re.search(r"^Rss: +(\d+)", pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii"), re.MULTILINE)[1])


def descriptors(pid):
    return len(list(pathlib.Path(f"/proc/{pid}/fd").iterdir()))


def held(pid):
    """{what a node or the manager holds: how many}"""
    with socket.socket(socket.AF_UNIX) as page:
        page.settimeout(5)
        page.connect(f"/proc/{pid}/root/run/metrics")
        page.sendall(b"GET /metrics HTTP/1.0\r\n\r\n")
        text = b"".join(iter(lambda: page.recv(1 << 16), b"")).decode()
    found = {}
    for name, number in HELD.findall(text):
        found[name] = found.get(name, 0) + int(number)
    assert found, text
    return found


def held_by_all(lab):
    return {name: held(pid) for program in ("sharp_am", "sharp_an") for name, pid in daemons_of(lab, program).items()}


def settled(read, want, seconds):
    """Reads until it is as wanted, or the time is over. Returns the last."""
    until = time.monotonic() + seconds
    while (now := read()) != want and time.monotonic() < until:
        time.sleep(0.5)
    return now


class Sampler(threading.Thread):
    """[(hours, KiB)] of each process."""

    def __init__(self, processes):
        super().__init__(daemon=True)
        self.processes, self.samples, self.ends = processes, {name: [] for name in processes}, threading.Event()
        self.start()

    def run(self):
        while not self.ends.wait(SAMPLE_S):
            for name, pid in self.processes.items():
                self.samples[name].append((time.monotonic() / 3600, rss_kib(pid)))

    def slopes(self, since):
        """{process: slope, or None}, of the samples later than `since`, in hours."""
        later = {name: [each for each in samples if each[0] >= since] for name, samples in self.samples.items()}
        return {name: slope(samples) if samples else None for name, samples in later.items()}


def kill(lab, name):
    os.kill(all_daemons(lab)[name], signal.SIGKILL)
    time.sleep(1)
    change(lab, "daemon", name, "start")


def stop(lab, name):
    change(lab, "daemon", name, "stop")
    time.sleep(random.uniform(0.5, 2))
    change(lab, "daemon", name, "cont")


def lose(lab, link):
    change(lab, "link", *link, "loss", "0.01")
    time.sleep(random.uniform(0.5, 2))
    change(lab, "link", *link, "up")


def fault(lab, manager_dies):
    """One fault, which is over when this returns. Returns its words."""
    what = random.choice(["node killed", "node killed", "sharpd killed", "manager", "stopped", "link loses"])
    if what == "node killed" or what == "sharpd killed":
        name = random.choice(dict(KILLED)["sharp_an" if what[0] == "n" else "sharpd"])
        kill(lab, name)
    elif what == "manager":
        name, what = "manager", "manager killed" if manager_dies else "manager stopped"
        (kill if manager_dies else stop)(lab, name)
    elif what == "stopped":
        name = random.choice(["an-root", "an-leaf1", "an-leaf2", "h1", "h3"])
        stop(lab, name)
    else:
        name = random.choice(LINKS)
        lose(lab, name)
    return what


def under_chaos(lab, job, seconds):
    """Returns (the sampler, when the last three quarters began, {descriptors before}, {descriptors after}, {fault: number})."""
    began, faults = time.monotonic(), {}
    while time.monotonic() < began + seconds / 4 and job.process.poll() is None:
        what = fault(lab, True)
        faults[what] = faults.get(what, 0) + 1
    processes = {**{name: pid for name, pid in all_daemons(lab).items() if name in LIVING}, **{f"rank {rank}": pid for rank, pid in ranks_of(job).items()}}
    assert len(processes) == len(LIVING) + RANKS, processes
    ways = Ways(job)
    ways.returned(time.monotonic() + SETTLES_S, job)
    before, sampler, since = {name: descriptors(pid) for name, pid in processes.items()}, Sampler(processes), time.monotonic() / 3600
    while time.monotonic() < began + seconds and job.process.poll() is None:
        what = fault(lab, False)
        faults[what] = faults.get(what, 0) + 1
    sampler.ends.set()
    await_tree(lab, is_whole=True)
    ways.returned(time.monotonic() + SETTLES_S, job)
    ways.close()
    after = settled(lambda: {name: descriptors(pid) for name, pid in processes.items()}, before, 10) if job.process.poll() is None else {}
    return sampler, since, before, after, faults


def soak(rows):
    random.seed(7)
    seconds = 60 * float(os.environ.get("FAULT_MINUTES", MINUTES))
    lab = case.Lab("soak", FABRIC)
    lab.up(env=METRICS)
    try:
        await_tree(lab, is_whole=True)
        nobody = held_by_all(lab)
        with job_of(lab, RANKS, seconds + 2 * SETTLES_S) as job:
            assert job.begins(), job.text()
            sampler, since, before, after, faults = under_chaos(lab, job, seconds)
            wrong, operations = job.end(), job.operations()
        left = settled(lambda: held_by_all(lab), nobody, SETTLES_S)
    finally:
        lab.down()
    print(faults, wrong, flush=True)
    found = sampler.slopes(since)
    kinds = {name: judged(one, GROWS_MAX) for name, one in found.items()}
    for name, one in found.items():
        numbers = f"{one[0]:.0f} ({one[1]:.0f} to {one[2]:.0f}) KiB an hour" if one else "too few samples"
        print(f"{name}: RSS {sampler.samples[name][-1][1]} KiB, grows by {numbers} {kinds[name]}", flush=True)
    void = sum(kind == "void" for kind in kinds.values())
    rows.add("soak", "jobs that did not end right", int(bool(wrong)), 0, operations=operations, faults=faults, minutes=seconds / 60)
    # A number that is none is violated: where the time was too short to tell, the row is no pass.
    grow = [name for name, kind in kinds.items() if kind == "violated"]
    rows.add("soak-memory", "processes that grow by more than 64 KiB an hour" + (f"; void for {void}" if void else ""), len(grow) if grow or not void else math.nan,
             0, trials=len(kinds), slopes=found)
    # Fewer are right: a recovery may have left connections among the members when they were first counted.
    rows.add("soak-descriptors", "processes with more than before", sum(after.get(name, math.inf) > count for name, count in before.items()), 0, before=before, after=after)
    rows.add("soak-held", "nodes and managers that hold groups, OSTs or jobs otherwise than before", sum(left[name] != nobody[name] for name in nobody), 0,
             before=nobody, after=left)


cases(__doc__, soak)
