"""Jobs of tests/mpi/goes_on.c in a lab with SUMAC_RECOVERY=1, and what happens to their nodes."""

import contextlib
import json
import math
import os
import pathlib
import re
import statistics
import struct
import sys
import tempfile
import threading
import time

SOURCE = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(SOURCE / "tests"))
from harness import case  # noqa: E402  pylint: disable=wrong-import-position

ON = {"SUMAC_RECOVERY": "1", "HCOLL_ENABLE_SHARP": "1", "SUMAC_TEAM_AFTER": "0", "OMPI_MCA_mpi_yield_when_idle": "1"}
ENDS_WITHIN = 90
DEMO = SOURCE / "lab" / "fabrics" / "demo-16h-500us.yaml"
MISSED_NS, SOON_NS = 100_000_000, 2_000_000_000
KILL_SEEN_NS = 300_000_000  # A connection ends at once. Later operations wait for a processor, or for the way back.


class Job:
    """A running job, and what it has printed so far."""

    def __init__(self, process, folder, ranks):
        self.process, self.folder, self.ranks = process, folder, ranks

    def text(self):
        return (self.folder / "out").read_text(encoding="utf-8", errors="replace")

    def begins(self):
        """Returns whether the loop begins in time."""
        until = time.monotonic() + ENDS_WITHIN
        while "goes_on: begun" not in self.text():
            if self.process.poll() is not None or time.monotonic() > until:
                return False
            time.sleep(0.01)
        return True

    def operations(self):
        """The number of operations of a rank, all right; 0 if the job does not say so."""
        found = re.search(r"goes_on: (\d+) operations, all right", self.text())
        return int(found[1]) if found else 0

    def end(self):
        """Returns what is wrong with the end of the job, or ""."""
        try:
            code = self.process.wait(timeout=ENDS_WITHIN)
        except case.processes.subprocess.TimeoutExpired:
            return f"it hangs: {self.text()}"
        return "" if code == 0 and self.operations() > 0 else f"status {code}: {self.text()}"

    def spans(self, rank):
        """[(begin, end, 1 for a stream of 1 MiB)] of the operations of a rank, in nanoseconds of CLOCK_MONOTONIC."""
        return list(struct.iter_unpack("=qqq", (self.folder / str(rank)).read_bytes()))


@contextlib.contextmanager
def started(lab, ranks, words, on):
    """Yields a job of mpirun. `words`: a function of the job's folder, which all ranks see. `on`: the ranks' settings."""
    exported = [word for name in on for word in ("-x", name)]
    with tempfile.TemporaryDirectory(dir=case.PROGRAMS, prefix="faults-") as name:  # The lab's hosts see the programs' folder.
        folder = pathlib.Path(name)
        with (folder / "out").open("w", encoding="utf-8") as file:
            process = case.processes.start(lab.command("mpirun", "-n", ranks, *case.TCP, *case.YIELD, *exported, *words(folder)), env={**os.environ, **on},
                                           stdout=file, stderr=case.processes.STDOUT)
        try:
            yield Job(process, folder, ranks)
        finally:
            case.processes.end(process, grace=30)


def job_of(lab, ranks, seconds, *more, on=None):
    """`more`: further words for goes_on. `on`: other settings than ON."""
    return started(lab, ranks, lambda folder: ["--map-by", "ppr:1:node", *case.component_flags(), case.PROGRAMS / "goes_on", seconds, folder, *more],
                   ON if on is None else on)


def ranks_of(job):
    """{rank: pid here}, of processes whose command line has the job's folder: their hosts have numbers of their own for them."""
    found = {}
    for process in pathlib.Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            words, variables = [(process / file).read_bytes().split(b"\0") for file in ("cmdline", "environ")]
            rank = next((word for word in variables if word.startswith(b"OMPI_COMM_WORLD_RANK=")), None)
            if rank and str(job.folder).encode() in words:
                found[int(rank.decode().split("=")[1])] = int(process.name)
    return found


def change(lab, *words):
    done = lab(*words)
    assert done.code == 0, done.text


def await_tree(lab, is_whole):
    """A job that begins before the manager knows what broke, or that it is whole again, gets another tree than the one that breaks."""
    until = time.monotonic() + ENDS_WITHIN
    while ("in no tree" not in (trees := lab("exec", "h1", "--", case.BUILD / "bin" / "sharp_cmd", "trees", "--manager", "manager:6126").text)) != is_whole:
        assert time.monotonic() < until, trees
        time.sleep(0.1)


def daemons_of(lab, program):
    """{what `sumac lab daemon` calls a daemon of the program: its pid}"""
    found = json.loads(lab("status", "--json").out)["daemons"]
    return {daemon["place"]: daemon["pid"] for daemon in found if daemon["name"].split()[0] == program}


def nodes_of(lab):
    return daemons_of(lab, "sharp_an")


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


def resumed_ns(spans, fault, soon=SOON_NS):
    """When the operation returned that the fault held up: of those that were open at the fault or began soon after, the first that took at least
    half as long as the longest. A stream that began later takes long by itself."""
    later = [(end - begin, end) for begin, end, is_large in spans if end > fault and begin < (fault if is_large else fault + soon)]
    return next((end for took, end in later if 2 * took >= max(later)[0]), None)


def judge(rows, name, values, limits):
    """Adds the median and the 99th percentile of times in ms."""
    values = sorted(values) or [math.nan]  # A number that is none is violated.
    rows.add(f"{name}-median-ms", "ms", statistics.median(values), limits[0], trials=len(values))
    rows.add(f"{name}-p99-ms", "ms", values[math.ceil(0.99 * len(values)) - 1], limits[1], trials=len(values))
