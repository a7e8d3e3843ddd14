"""A training with PyTorch's DistributedDataParallel loses its nodes, one after another, with SUMAC_RECOVERY=1 and SUMAC_REPRODUCIBLE=1: no rank gets an
exception, and all losses have the bits of a run without kills."""

import sys
import time

from goes_on import SOURCE, await_tree, case, nodes_of, started
from harness.rows import cases
from killer import Killer
from ways import Ways

PYTHON = SOURCE / "build" / "python" / "bin" / "python"
RANKS, STEPS, ENDS_WITHIN_S = 4, 1500, 240
HIDDEN = 15000  # Neurons: buckets of gradients of 1 MiB, which stream.
ON = {"SUMAC_RECOVERY": "1", "SUMAC_REPRODUCIBLE": "1", "HCOLL_ENABLE_SHARP": "1", "SHARP_COLL_ENABLE_SAT": "1", "PYTHONPATH": str(case.BUILD / "python"),
      "OMP_NUM_THREADS": "1", "PYTHONWARNINGS": "ignore"}
BEGUN_STEPS, BACK_WITHIN_S = 100, 30


def steps_of(job):
    """The least that a rank has done."""
    files = [job.folder / str(rank) for rank in range(RANKS)]
    return min(file.stat().st_size // 8 if file.exists() else 0 for file in files)


def await_steps(job, steps):
    until = time.monotonic() + ENDS_WITHIN_S
    while steps_of(job) < steps and job.process.poll() is None and time.monotonic() < until:
        time.sleep(0.01)
    return steps_of(job) >= steps


def kill_all(job, lab):
    """Each node in turn, when operations go through a tree. Returns the number of kills after which operations went among the members."""
    killer, ways, seen = Killer(lab), Ways(job), 0
    for name in sorted(nodes_of(lab)):
        before = ways.read()
        killer.kill(name, nodes_of(lab)[name])
        seen += ways.left(before, time.monotonic() + BACK_WITHIN_S, job) is not None
        killer.settle()
        ways.returned(time.monotonic() + BACK_WITHIN_S, job)
    ways.close()
    return seen


def train(lab, meanwhile=None):
    """Returns (what is wrong, or "", the losses of each rank, what `meanwhile` returns)."""
    await_tree(lab, is_whole=True)
    words = ["--map-by", "ppr:1:node", *case.component_flags(enable=0)]
    with started(lab, RANKS, lambda folder: [*words, PYTHON, SOURCE / "tests" / "faults" / "trains.py", folder, STEPS, HIDDEN], ON) as job:
        if not await_steps(job, BEGUN_STEPS):
            return f"it did not begin: {job.text()}", [], None
        found = meanwhile(job, lab) if meanwhile else None
        if not await_steps(job, STEPS) or job.process.wait(timeout=ENDS_WITHIN_S) != 0 or job.text().count("is done") != RANKS:
            return f"it did not end right: {job.text()}", [], found
        return "", [(job.folder / str(rank)).read_bytes() for rank in range(RANKS)], found


def ddp(rows):
    if not PYTHON.exists():
        case.skip_or_fail(f"no PyTorch in {PYTHON}: make setup-python installs it")
    lab = case.Lab("ddp")
    lab.up()
    try:
        wrong, calm, _ = train(lab)
        if wrong:
            sys.exit(wrong)
        wrong, hit, seen = train(lab, kill_all)
        other = sum(a[i:i + 8] != b[i:i + 8] for a, b in zip(calm, hit) for i in range(0, len(a), 8))
        print(wrong, flush=True)
        rows.add("ddp-node-kill", "losses that differ, or trainings that ended", other + bool(wrong), 0, trials=seen, steps=STEPS, ranks=RANKS)
        rows.add("ddp-node-kill-unseen", "nodes killed that no operation met", len(nodes_of(lab)) - (seen or 0), 0)
    finally:
        lab.down()


cases(__doc__, ddp)
