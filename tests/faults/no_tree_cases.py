"""Every node is killed under a job with SUMAC_RECOVERY=1: it goes on, and a job that begins then runs without a tree and says so. While the members
are the tree an allreduce takes about as long as by src/p2p, which a job without a tree uses."""

import os
import signal
import statistics
import sys
import time

from goes_on import DEMO, ENDS_WITHIN, KILL_SEEN_NS, ON, SOURCE, Watch, await_tree, case, change, job_of, nodes_of, resumed_ns
from harness.rows import cases
from ways import Ways

sys.path.append(str(SOURCE / "bench"))
from core.pairs import Pairs, take_turns  # noqa: E402  pylint: disable=wrong-import-position

RANKS, JOBS, SECONDS, SOON_MS = 16, 10, 4, 2000
TURNS, COST_MAX = 9, 1.2
BY_MESSAGES = {**ON, "SUMAC_RECOVERY": "0", "HCOLL_ENABLE_SHARP": "0", "SUMAC_ACROSS": "p2p"}


def kill_all(lab):
    """Returns when."""
    pids = nodes_of(lab)
    began = time.monotonic_ns()
    for pid in pids.values():
        os.kill(pid, signal.SIGKILL)
    return began, list(pids)


def start_all(lab, names):
    for name in names:
        change(lab, "daemon", name, "start")
    await_tree(lab, is_whole=True)


def no_tree_left(lab, watch):
    """Returns (what is wrong, or "", the ms until the last member went on, or None)."""
    with job_of(lab, RANKS, SECONDS) as job:
        if not job.begins():
            return f"it did not begin: {job.text()}", None
        began, names = kill_all(lab)
        try:
            if wrong := job.end():
                return wrong, None
            back = [resumed_ns(job.spans(rank), began, KILL_SEEN_NS) for rank in range(RANKS)]
            if None in back or "has lost its tree" not in job.text():
                return f"it did not lose its tree: {job.text()}", None
            with job_of(lab, RANKS, 1) as late:
                if wrong := late.end():
                    return f"the job that began without nodes: {wrong}", None
                if "continuing without sharp" not in late.text() or "sumac: without a tree: " not in late.text():
                    return f"the job that began without nodes does not say so: {late.text()}", None
            return "", None if watch.missed(began, max(back)) else (max(back) - began) / 1e6
        finally:
            start_all(lab, names)


def call_ms(job, since):
    """The median over calls that began later of a call's mean over the ranks."""
    spans = [job.spans(rank) for rank in range(job.ranks)]
    calls = zip(*[[end - begin for begin, end, _ in each] for each in spans])
    means = [statistics.mean(call) for call, (begin, *_) in zip(calls, spans[0]) if begin > since]
    return statistics.median(means) / 1e6


def among_members(lab):
    with job_of(lab, RANKS, SECONDS, "small") as job:
        assert job.begins(), job.text()
        ways = Ways(job)
        before = ways.read()
        _, names = kill_all(lab)
        try:
            since = ways.left(before, time.monotonic() + ENDS_WITHIN, job)
            assert since is not None, job.text()
            time.sleep(SECONDS / 2)
            on_tree = ways.read()
            assert not (wrong := job.end()), wrong
            assert all(now[0] == then[0] for now, then in zip(on_tree, ways.read())), "it was on a tree again"
            ways.close()
            return call_ms(job, since)
        finally:
            start_all(lab, names)


def by_messages(lab):
    with job_of(lab, RANKS, SECONDS, "small", on=BY_MESSAGES) as job:
        assert job.begins(), job.text()
        since = time.monotonic_ns()
        assert not (wrong := job.end()), wrong
        return call_ms(job, since)


def no_tree(rows):
    watch, violations, took = Watch(), 0, []
    lab = case.Lab("no-tree", DEMO)
    lab.up()
    try:
        await_tree(lab, is_whole=True)
        for _ in range(JOBS):
            wrong, ms = no_tree_left(lab, watch)
            violations += bool(wrong)
            took += [ms] if ms is not None else []
            print(wrong or f"every node killed: on after {ms} ms", flush=True)
        rows.add("no-tree-left", "jobs wrong", violations, 0, trials=JOBS)
        rows.add("no-tree-left-ms", "ms, the longest", max(took, default=float("nan")), SOON_MS, trials=len(took))
        pairs = Pairs()
        for turn, (members, messages) in enumerate(take_turns(TURNS, lambda: among_members(lab), lambda: by_messages(lab))):
            pairs.add(turn, members / messages)
            print(f"allreduce 8 B: among the members {members:.3f} ms, by messages {messages:.3f} ms", flush=True)
        low, high = pairs.interval
        rows.add("members-cost", "x of src/p2p, low end of the interval", low, COST_MAX, trials=TURNS, ratio=pairs.ratio, high=high)
    finally:
        lab.down()


cases(__doc__, no_tree)
