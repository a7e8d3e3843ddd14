"""Jobs that hang for reasons of their own, on hosts with a tree: `sumac explain` on any host of the job names rank, host and operation within
1 s, also when the manager is dead."""

import json
import math
import os
import pathlib
import re
import sys
import time

SOURCE = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(SOURCE / "tests"))
from harness import case  # noqa: E402  pylint: disable=wrong-import-position
from harness.rows import cases  # noqa: E402  pylint: disable=wrong-import-position

SECONDS_MAX = 1.0
HANGS_WITHIN = 60  # Until then a job of many ranks on two processors has come to where it hangs.
ON = {"HCOLL_ENABLE_SHARP": "1", "SUMAC_TEAM_AFTER": "0", "OMPI_MCA_mpi_yield_when_idle": "1"}
STATE = r"\(pid \d+, [\w ]+\)"


def expected(how, ranks):
    """Returns what names the operation, and what names the rank and its host behind that."""
    last, host = ranks - 1, f"h{ranks}"
    late = rf"  rank {last} on {host} {STATE} has not begun it"
    world = rf"MPI_COMM_WORLD, {ranks} ranks: "
    others = rf": ranks 0-{last - 1} in it for [\d.]+ \w+"
    return {
        "root": (world + rf"bcast 8 KiB \(number \d+\): ranks 1-{last} in it for", rf"  rank 0 on h1 {STATE} has not begun it"),
        "nonblocking": (world + r"allreduce 8 B, nonblocking \(number \d+\)" + others, late),
        "order": (rf"first, {ranks} ranks: allreduce 16 B \(number 2\)" + others, late + r".*; it waits itself, in allreduce 16 B of second"),
        "split": (rf"part, {ranks - 1} ranks: barrier \(number 2\): ranks? [\d-]+ in it for", rf"  rank 0 \(rank {last} of the job\) on {host} {STATE} has not begun it"),
        "stop": (world + r"allreduce 8 KiB \(number \d+\)" + others, rf"  rank {last} on {host} \(pid \d+, stopped\) has not begun it"),
        "dies": (rf"rank {last} on {host} died .*\n(?:.*\n)*rest, {last} ranks: allreduce 8 KiB \(number 2\): ranks 1-{last - 1} in it for",
                 rf"  rank 0 on h1 {STATE} has not begun it"),
    }.get(how, (world + r"allreduce 8 KiB \(number \d+\)" + others, late))


class Hanging:
    """A job with one rank on each host, which hangs."""

    def __init__(self, lab, how, ranks):
        exported = [word for name in ON for word in ("-x", name)]
        recovers = ["--enable-recovery"] if how == "dies" else []
        words = ["-n", ranks, "--map-by", "ppr:1:node", *case.TCP, *case.YIELD, *recovers, *case.component_flags(), *exported, case.PROGRAMS / "hang", how]
        self.process = case.processes.start(lab.command("mpirun", *words), env={**os.environ, **ON}, stdout=case.processes.PIPE, stderr=case.processes.DEVNULL,
                                            text=True)  # Its end is an error of every rank.
        came, heard = case.processes.wait_for_line(self.process, "hang: rank 0 is")
        if not came:
            raise AssertionError(f"the job {how} did not begin: {heard}")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        case.processes.end(self.process, grace=30)


def explain(lab, host):
    began = time.monotonic()
    done = lab("exec", host, case.SUMAC, "explain")
    return done, time.monotonic() - began


def names(text, how, ranks):
    operation, rank = expected(how, ranks)
    found = re.search(operation, text)
    return bool(found and re.search(rank, text[found.end() :]))


def trial(lab, how, ranks, host, seconds_max):
    """Returns (what is wrong, or "", the seconds of one answer)."""
    with Hanging(lab, how, ranks):
        until = time.monotonic() + HANGS_WITHIN
        while True:
            done, _ = explain(lab, host)
            if names(done.out, how, ranks) or time.monotonic() > until:
                break
        done, seconds = explain(lab, host)
        if not names(done.out, how, ranks):
            return f"not named:\n{done.text}", seconds
        return (f"after {seconds:.2f} s:\n{done.text}" if seconds > seconds_max else ""), seconds


def daemons(lab):
    return json.loads(lab("status", "--json").out)["daemons"]


def prefer_daemons(lab):
    """Gives the daemons the switch's priority: the processors of 16 hosts, which spin in MPI, are two here."""
    if os.geteuid() != 0:
        return
    for daemon in daemons(lab):
        for thread in os.listdir(f"/proc/{daemon['pid']}/task"):
            os.sched_setscheduler(int(thread), os.SCHED_FIFO, os.sched_param(os.sched_get_priority_min(os.SCHED_FIFO)))


def look(rows, is_short):
    ranks = 4 if is_short else 16
    lab = case.Lab("faults", case.Lab.FABRIC if is_short else SOURCE / "lab" / "fabrics" / "demo-16h-500us.yaml")
    kinds = ["recv", "sleeps", "stop", "loop", "root", "nonblocking", "order", "split", "other"]
    first, last, middle = "h1", f"h{ranks}", f"h{ranks // 2}"
    trials = [("stop", last), ("recv", middle)] if is_short else [(how, host) for host in (first, middle) for how in kinds] + [("dies", middle)]
    lab.up()
    if not is_short:
        prefer_daemons(lab)
    seconds_max = math.inf if is_short else SECONDS_MAX
    violations, longest = 0, 0.0
    try:
        # The last job hangs while the manager is dead: it begins before, and the others need a manager.
        for at, (how, host) in enumerate([*trials, ("sleeps", last)]):
            one = trial if at < len(trials) else without_manager
            wrong, seconds = one(lab, how, ranks, host, seconds_max)
            print(f"{how:<12} asked on {host}: {seconds:.2f} s{'' if not wrong else ': ' + wrong}", flush=True)
            violations += bool(wrong)
            longest = max(longest, seconds)
    finally:
        lab.down()
    rows.add("look-inside", "violations", violations, 0, trials=len(trials) + 1)
    if not is_short:
        rows.add("look-inside-longest", "s", longest, SECONDS_MAX, trials=len(trials) + 1)


def without_manager(lab, how, ranks, host, seconds_max):
    with Hanging(lab, how, ranks):
        killed = lab("daemon", "manager", "kill")
        assert killed.code == 0, killed.text
        until = time.monotonic() + HANGS_WITHIN
        done, seconds = explain(lab, host)
        while not names(done.out, how, ranks) and time.monotonic() < until:
            done, seconds = explain(lab, host)
        if not names(done.out, how, ranks):
            return f"not named:\n{done.text}", seconds
        missing = re.search(rf"node [\w-]+ waits for rank {ranks - 1} on host {'h' + str(ranks)}", done.out)
        return ("" if missing and seconds <= seconds_max else f"after {seconds:.2f} s:\n{done.text}"), seconds


cases(__doc__, look, "a few trials, for ctest: their times are printed, and not judged")
