"""Aggregation nodes are killed and stopped under jobs with SUMAC_RECOVERY=1 (tests/mpi/goes_on.c): each goes on with exact results, and soon."""

import json
import math
import os
import pathlib
import random
import re
import signal
import statistics
import struct
import subprocess
import sys
import tempfile
import threading
import time
import typing

SOURCE = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(SOURCE / "tests"))
from harness import case  # noqa: E402  pylint: disable=wrong-import-position
from harness.rows import cases  # noqa: E402  pylint: disable=wrong-import-position

ON = {"SUMAC_RECOVERY": "1", "HCOLL_ENABLE_SHARP": "1", "SUMAC_TEAM_AFTER": "0", "OMPI_MCA_mpi_yield_when_idle": "1"}
SECONDS, ENDS_WITHIN = 4, 90
MISSED_NS, LONG_NS, SOON_NS = 100_000_000, 20_000_000, 2_000_000_000


class Fault(typing.NamedTuple):
    name: str
    signal: signal.Signals
    undo: str  # the word of `sumac lab daemon`
    jobs: int
    median_ms: int
    most_ms: int


FAULTS = [Fault("kill", signal.SIGKILL, "start", 60, 100, 1000), Fault("stop", signal.SIGSTOP, "cont", 15, 1500, 2500)]


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


def nodes_of(lab):
    found = json.loads(lab("status", "--json").out)["daemons"]
    return {daemon["place"]: daemon["pid"] for daemon in found if daemon["name"].startswith("sharp_an ")}


def resumed_ns(path, fault):
    """When the operation returned that the fault held up: the first long one that was open at the fault or began soon after; if none was long,
    the first one."""
    spans = list(struct.iter_unpack("=qq", path.read_bytes()))
    usual = statistics.median(end - begin for begin, end in spans if end <= fault)
    later = [(begin, end) for begin, end in spans if end > fault and begin < fault + SOON_NS]
    held_up = [end for begin, end in later if end - begin > max(LONG_NS, 5 * usual)]
    return held_up[0] if held_up else later[0][1] if later else None


def one_job(lab, ranks, victims, apart, fault):
    """The victims get the signal one after another. Returns (what is wrong, or "", operations, ns of the first fault, ns of the return from what it held up)."""
    exported = [word for name in ON for word in ("-x", name)]
    with tempfile.TemporaryDirectory(dir=case.PROGRAMS, prefix="kills-") as folder:  # The lab's hosts see the programs' folder.
        words = ["-n", ranks, "--map-by", "ppr:1:node", *case.TCP, *case.YIELD, *case.component_flags(), *exported, case.PROGRAMS / "goes_on", SECONDS, folder]
        out = pathlib.Path(folder) / "out"
        with out.open("w", encoding="utf-8") as file:
            job = case.processes.start(lab.command("mpirun", *words), env={**os.environ, **ON}, stdout=file, stderr=case.processes.STDOUT)
        try:
            until = time.monotonic() + ENDS_WITHIN
            while "goes_on: begun" not in out.read_text(encoding="utf-8", errors="replace"):
                if job.poll() is not None or time.monotonic() > until:
                    return f"it did not begin: {out.read_text(errors='replace')}", 0, 0, 0
                time.sleep(0.01)
            pids = nodes_of(lab)
            time.sleep(random.uniform(0, 1))  # So the kill comes at any moment of the loop.
            killed = time.monotonic_ns()
            for at, victim in enumerate(victims):
                if at > 0:
                    time.sleep(apart)
                os.kill(pids[victim], fault)
            try:
                code = job.wait(timeout=ENDS_WITHIN)
            except subprocess.TimeoutExpired:
                return f"it hangs: {out.read_text(errors='replace')}", 0, killed, 0
            text = out.read_text(encoding="utf-8", errors="replace")
            right = re.search(r"goes_on: (\d+) operations, all right", text)
            if code != 0 or not right:
                return f"status {code}: {text}", 0, killed, 0
            back = [resumed_ns(pathlib.Path(folder) / str(rank), killed) for rank in range(ranks)]
            if None in back:
                return f"a rank ended nothing after the kill: {text}", int(right[1]), killed, 0
            return "", int(right[1]) * ranks, killed, max(back)
        finally:
            case.processes.end(job, grace=30)


def trials(rows, lab, watch, fault, jobs, is_short):
    """Does so to nodes in turns; in a third of the jobs another one follows while the members begin to be the tree."""
    nodes = sorted(nodes_of(lab))
    ranks = 4 if is_short else 16
    violations, operations, void, count, took = 0, 0, 0, 0, []
    for job in range(jobs):
        victims = [nodes[job % len(nodes)]] + ([nodes[(job + 1) % len(nodes)]] if job % 3 == 2 else [])
        wrong, ended, began, back = one_job(lab, ranks, victims, random.uniform(0, 0.1), fault.signal)
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
        for victim in victims:
            assert lab("daemon", victim, fault.undo).code == 0, victim
    rows.add(f"node-{fault.name}s", "jobs that did not end right", violations, 0, trials=count, operations=operations, void=void)
    if is_short:
        return
    rows.add(f"resume-{fault.name}-void", "jobs beside a pause of the machine", void, jobs * 0.05)
    took = sorted(took) or [math.nan]  # A number that is none is violated.
    rows.add(f"resume-{fault.name}-median-ms", "ms", statistics.median(took), fault.median_ms, trials=len(took))
    rows.add(f"resume-{fault.name}-p99-ms", "ms", took[math.ceil(0.99 * len(took)) - 1], fault.most_ms, trials=len(took))


def kills(rows, is_short):
    lab = case.Lab("kills", case.Lab.FABRIC if is_short else SOURCE / "lab" / "fabrics" / "demo-16h-500us.yaml")
    lab.up()
    watch = Watch()
    random.seed(7)
    try:
        for fault in FAULTS[:1] if is_short else FAULTS:
            trials(rows, lab, watch, fault, 2 if is_short else fault.jobs, is_short)
    finally:
        lab.down()


cases(__doc__, kills, "two jobs on 4 hosts, for ctest: times are printed, and not judged")
