"""What is measured without a fabric or beside it: the node alone on this machine, and memory."""

import contextlib
import json
import os
import re
import subprocess
from pathlib import Path

from demolib import cases as C
from demolib.lab import Deadline, end, last_words
from demolib.ways import WayFailed, lib_flags, parse_results, run_mpi, sumac_environment, wait_for_ready

from .cases import CHUNK

CHILDREN = 8


def results_per_call(case):
    """Messages that each child gets back in one call."""
    return max(1, -(-case.size // CHUNK)) if case.size > CHUNK else 1


class BareNode:
    """A loop that receives from 8 and sends 8 results, on the loopback device: results per second of its processor time."""

    def __init__(self, wait, case, form):
        self.column, self.wait, self.cases, self.form, self.guess_s = f"bare {wait}", wait, [case], form, 8.0

    def run(self, _, tools, seconds):
        case, program = self.cases[0], tools.program("baretree")
        common = ["--wait", self.wait, "--limit", str(int(seconds)), "--case", C.program_case(case, self.form)]
        deadline = Deadline(seconds)
        with contextlib.ExitStack() as stack:
            def start(*words):
                process = subprocess.Popen([str(word) for word in (program, *words, *common)], text=True, stdin=subprocess.DEVNULL,
                                           stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True)
                stack.callback(end, process)
                return process

            node = start("node", "--listen", 0, "--children", CHILDREN)
            port = wait_for_ready(node, "this machine", deadline)
            for _ in range(CHILDREN):
                start("host", "--parent", f"127.0.0.1:{port}")
            try:
                out, err = node.communicate(timeout=deadline.left())
            except subprocess.TimeoutExpired as late:
                raise WayFailed(f"not done after {seconds:.0f} s") from late
            if node.returncode != 0:
                raise WayFailed(last_words(err))
        entry = parse_results(out, f"bare-{self.wait}").get((case.collective, case.size))
        if entry is None:
            raise WayFailed("no result")
        return {(case.name, self.column): results_per_call(case) / (entry["server_cpu_ms"] / 1e3)}


def descendants(pid):
    parents = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            parents[int(folder.name)] = int((folder / "stat").read_text().rsplit(")", 1)[1].split()[1])
        except OSError:
            pass  # it ended while we looked
    found, todo = set(), {pid}
    while todo:
        found |= todo
        todo = {child for child, parent in parents.items() if parent in todo} - found
    return found


def thread_times(pid):
    """Processor time of each thread so far, in s."""
    times = {}
    for task in Path(f"/proc/{pid}/task").glob("*"):
        with contextlib.suppress(OSError):
            times[task.name] = int((task / "schedstat").read_text().split()[0]) / 1e9
    return times


class Node:
    """sharp_an on the loopback device with 8 ranks as its children, the rest as in BareNode. Its data thread is the busiest one."""

    def __init__(self, case, form):
        self.column, self.cases, self.form, self.guess_s = "sumac", [case], form, 15.0

    def run(self, _, tools, seconds):
        case = self.cases[0]
        argv = [tools.program("sumac"), "run", "--tree", "mpirun", "-n", CHILDREN, "--oversubscribe", "--bind-to", "none", "--mca",
                "mpi_yield_when_idle", "1", *(["--allow-run-as-root"] if os.geteuid() == 0 else []), tools.program("sharp-client"),
                "--case", "barrier::1:0", "--case", C.program_case(case, self.form)]
        with contextlib.ExitStack() as stack:
            process = subprocess.Popen(["timeout", "-k", "5", str(int(seconds)), *[str(word) for word in argv]], text=True,
                                       stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                       start_new_session=True, env={**os.environ, **sumac_environment()})
            stack.callback(end, process)
            before, entry, node = None, None, None
            for line in process.stdout:
                if not line.startswith('{"program":"sharp-client"'):
                    continue
                if before is None:  # the barrier: job and group stand, the node has done nothing yet
                    node = next((pid for pid in descendants(process.pid) if command_of(pid) == "sharp_an"), None)
                    if node is None:
                        raise WayFailed("no sharp_an among what `sumac run` started")
                    before = thread_times(node)
                else:
                    after = thread_times(node)
                    entry = parse_results(line, "sharp-client").get((case.collective, case.size))
            err = process.stderr.read()
            if process.wait() != 0 or entry is None or entry["errors"]:
                raise WayFailed(last_words(err))
        spent = max(after[thread] - before.get(thread, 0.0) for thread in after)
        calls = sum(case.iterations_of(self.form))
        return {(case.name, self.column): results_per_call(case) * calls / spent}


def command_of(pid):
    try:
        return Path(f"/proc/{pid}/comm").read_text().strip()
    except OSError:
        return ""


def anonymous_bytes(pid):
    found = re.search(r"^RssAnon:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text(), re.MULTILINE)
    return int(found.group(1)) * 1024


# What a node says at its start of the most that it will ever hold.
NODE_BOUND = re.compile(r"memory: at most (\d+) bytes")


def node_bound(log):
    found = NODE_BOUND.search(Path(log).read_text(errors="replace"))
    if found is None:
        raise WayFailed(f"{log}: the node does not say its memory bound")
    return float(found.group(1))


class Memory:
    """Growth of a client for each group, and what the largest node holds, both beside a stream of 1 MiB in each of 4 groups."""

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
