"""What is measured without a fabric or beside it: the node alone on this machine, and memory."""

import json
import re
import subprocess
from pathlib import Path

from demolib.ways import NotBuilt, WayFailed, lib_flags, run_mpi
from node import run as node_bench


class Node:
    """The node's data path and the bare loop in turns, with 8 children on the loopback device: operations per second of its own
    thread's processor time. See bench/node."""

    column, SECONDS = "sumac", 1.5

    def __init__(self, case):
        self.cases = [case]
        self.case = next(one for one in node_bench.CASES if one.name == case.name)
        self.pairs = case.pairs
        self.guess_s = 2 * case.pairs * (self.SECONDS + 0.5)

    def run(self, _, tools, seconds):
        if not (tools.bin / "node-load").exists():
            raise NotBuilt("not built yet")
        try:
            found = list(node_bench.take_pairs(tools.bin, self.case, self.pairs, self.SECONDS, []))
        except (RuntimeError, subprocess.TimeoutExpired) as error:
            raise WayFailed(str(error)) from error
        self.ratios = {(self.case.name, "bare"): [sumac / bare for bare, sumac in found]}
        return {(self.case.name, "bare epoll"): [bare for bare, _ in found], (self.case.name, "sumac"): [sumac for _, sumac in found]}


def anonymous_bytes(pid):
    found = re.search(r"^RssAnon:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text(), re.MULTILINE)
    return int(found.group(1)) * 1024


# A node says the most that it will ever hold: at its start, and again when it enters more trees.
NODE_BOUND = re.compile(r"memory: at most (\d+) bytes")


def node_bound(log):
    found = NODE_BOUND.findall(Path(log).read_text(errors="replace"))
    if not found:
        raise WayFailed(f"{log}: the node does not say its memory bound")
    return float(found[-1])


class Memory:
    """Growth of a client for each group, and what the largest node holds, both beside streams of 1 MiB in 4 groups at once."""

    column, guess_s = "sumac", 15.0
    GROUPS, BYTES = 4, 1 << 20

    def __init__(self, cases):
        self.cases = cases

    def run(self, lab, tools, seconds):
        nodes = [daemon for daemon in lab.status()["daemons"] if daemon["name"].startswith("sharp_an ")]
        out, _ = run_mpi(lab, self.cases[0].fabric.hosts, lib_flags(tools),
                         [tools.program("sharp-memory"), "--groups", self.GROUPS, "--bytes", self.BYTES], seconds)
        entry = next((line for line in out.splitlines() if line.startswith('{"program":"sharp-memory"')), None)
        if entry is None:
            raise WayFailed("no result")
        # A node gives nothing back to the system: what it holds afterwards is what it held.
        held = {daemon["name"]: anonymous_bytes(daemon["pid"]) for daemon in nodes}
        largest = max(held, key=held.get)
        bound = node_bound(next(daemon["log"] for daemon in nodes if daemon["name"] == largest))
        values = {"memory-client": float(json.loads(entry)["per_group"]), "memory-node": float(held[largest])}
        numbers = {(case.name, "sumac"): values[case.name] for case in self.cases}
        return {**numbers, **{(case.name, "limit"): bound for case in self.cases if case.limit is None}}
