#!/usr/bin/env python3
"""frozen-node-ms: a node gets SIGSTOP with node_lost_after 1 s: every member has the verdict, with the node's name, within 1,500 ms, on tcp
and on ucx. The long form also stops the root, and requires 0 false verdicts in 10 minutes of load 8 with the defaults."""

import os
import re
import select
import signal
import sys
import time

import common

ground = common.ground
FABRIC = """name: t
switches: [s, a, b]
links: [{a: a, b: s}, {a: b, b: s}]
hosts: {h1: {leaf: a}, h2: {leaf: a}, h3: {leaf: b}, h4: {leaf: b}}
nodes: {an-root: {switch: s}, an-leaf1: {switch: a}, an-leaf2: {switch: b}}
"""
RANKS = 4  # one rank on each host
HERE = {"SUMAC_NET_DEVICE": "lo"}
LATE = 60_000


class Tree(common.House):
    """A root with two leaves below it, two hosts at each."""

    def __init__(self, name, transport, lost_after=None):
        super().__init__(name, node=False, sharpd=False, fabric=FABRIC)
        options = ["--manager", self.manager, "--listen", "127.0.0.1:0", "--device", "lo", "--transport", transport, "--log-level", "3"]
        if lost_after:
            options += ["--lost-after", lost_after]
        for node in ("an-root", "an-leaf1", "an-leaf2"):
            self.start_as(node, "sharp_an", "--name", node, *options)
        self.sockets = []
        for host in ("h1", "h2", "h3", "h4"):
            self.sockets.append(self.folder / f"{host}.sock")
            self.start_as(host, "sharpd", "--host", host, "--manager", self.manager, "--socket", self.sockets[-1])
        ground.until(lambda: self.log("sharp_an").count("connected to the parent") >= 2, "both leaves are connected")

    def start_as(self, label, program, *words):
        self.start(program, *words)
        self.processes[label] = self.processes.pop(program)

    def close(self):
        for label in list(self.processes):
            self.processes[label].send_signal(signal.SIGCONT)
            self.kill(label, signal.SIGTERM)


def lines_until(process, count, seconds):
    """Returns (time, line) of ranks that ended, until `count` have."""
    found, rest, end = [], b"", time.monotonic() + seconds
    fd = process.stdout.fileno()
    while len(found) < count and select.select([fd], [], [], max(0, end - time.monotonic()))[0]:
        got = os.read(fd, 1 << 16)
        if not got:
            break
        *lines, rest = (rest + got).split(b"\n")
        found += [(time.monotonic(), line.decode()) for line in lines if b"failed after" in line or b"WRONG" in line]
    return found


def frozen(transport, node):
    """Returns the ms until the last member knew, by name; LATE: some member did not."""
    house = Tree(f"frozen-{transport}-{node}", transport, "1s")
    steady = ground.Steady(RANKS, {**HERE, "SUMAC_COLL_NODE_LOST_AFTER": "1s"}, house.sockets)
    start = time.monotonic()
    house.processes[node].send_signal(signal.SIGSTOP)
    ended = lines_until(steady.process, RANKS, 20)
    worst = max((1e3 * (when - start) for when, _ in ended), default=LATE)
    for when, line in ended:
        print(f"{1e3 * (when - start):7.0f} ms: {line}", flush=True)
    # A neighbour says it first, or the manager, once it has heard of that.
    named = [line for _, line in ended if re.search(rf"node {node} (\([^)]+\) stopped answering; .+ noticed after [0-9.]+ s|stays silent)", line)]
    steady.process.kill()
    steady.process.communicate()
    house.close()
    return worst if len(named) == RANKS else LATE


def false_verdicts(transport, seconds):
    house = Tree(f"load-{transport}", transport)
    steady = ground.Steady(RANKS, HERE, house.sockets)
    load = [common.ground.processes.start([sys.executable, "-c", "while True: pass"]) for _ in range(8)]
    ended = lines_until(steady.process, 1, seconds)
    for one in load:
        one.kill()
        one.wait()
    for _, line in ended:
        print(line, flush=True)
    steady.process.kill()
    steady.process.communicate()
    house.close()
    return len(ended)


def ucx_is_there():
    return (common.case.BUILD / "src" / "net").exists() and any(common.case.BUILD.rglob("libsumac_net_ucx*"))


def attack(rows, args):
    for transport in ("tcp", "ucx"):
        if transport == "ucx" and not ucx_is_there():
            print("frozen-node: no ucx in this build", flush=True)
            continue
        for node in ("an-leaf1", "an-root") if args.long else ("an-leaf1",):
            rows.add(f"frozen-node-ms {transport} {node}", "ms until the last member knows it by name", round(frozen(transport, node)), 1500)
        if args.long:
            rows.add(f"frozen-node {transport} false verdicts", "in 10 minutes of load 8", false_verdicts(transport, 600), 0)


if __name__ == "__main__":
    common.main(attack, __doc__)
